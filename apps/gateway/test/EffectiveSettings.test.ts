import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Setting from "@model-gateway/settings/Setting"
import { Effect, Option } from "effect"
import { expect, it } from "vitest"
import * as EffectiveSettings from "../src/EffectiveSettings.ts"
import * as LoadSettings from "../src/LoadSettings.ts"
import * as Settings from "../src/Settings.ts"
import { fileOf } from "./Loaded.ts"

const load = (file: string, environment: Record<string, string>, flags: Record<string, string> = {}) =>
  Effect.runPromise(
    LoadSettings.load(
      Object.fromEntries(Object.entries(flags).map(([name, text]) => [name, Option.some(text)])),
      Option.some(file)
    ).pipe(Effect.provideService(LoadSettings.Environment, environment), Effect.provide(NodeServices.layer))
  )

it("has every setting with its value and where it comes from, and after a reload those that it applies", async () => {
  const file = fileOf('{\n  "dataDir": "/data",\n  "upstreams": { "cohere": { "apiKey": "file-secret" } }\n}')
  const started = await load(
    file,
    { MODEL_GATEWAY_HOST: "0.0.0.0", MODEL_GATEWAY_DATA_DIR: "/other" },
    { port: "9000", "object-store-url": "s3://user:password@bucket" }
  )
  const again = await load(file, { COHERE_BASE_URL: "https://u:p@cohere.example", MODEL_GATEWAY_HOST: "::1" })
  const settings = EffectiveSettings.of(started, again)
  expect(settings.map(({ name }) => name)).toEqual(Setting.entries(Settings.all).map(({ setting }) => setting.name))
  const shown = (name: string) => {
    const { place, source, value } = settings.find((setting) => setting.name === name) ?? expect.fail(name)
    return { place, source, value }
  }
  expect(shown("port")).toEqual({ value: "9000", source: "flag", place: "--port" })
  const host = { value: "0.0.0.0", source: "environment", place: "MODEL_GATEWAY_HOST in the environment" }
  expect(shown("host")).toEqual(host)
  expect(shown("data-dir")).toMatchObject({ value: "/other", source: "environment" })
  expect(shown("shutdown-timeout")).toMatchObject({ source: "default", place: null })
  expect(shown("object-store-url")).toMatchObject({ value: "s3://…@bucket", source: "flag" })
  expect(shown("redis-url")).toEqual({ value: null, source: "default", place: null })
  expect(shown("cohere-base-url")).toMatchObject({ value: "https://…@cohere.example", source: "environment" })
  const place = `"upstreams.cohere.apiKey" on line 3 of ${file}`
  expect(shown("cohere-api-key")).toEqual({ value: null, source: "file", place })
})

it("shows no secret, wherever it is given", async () => {
  const secrets = Setting.entries(Settings.all).flatMap(({ setting }) => (setting.isSecret ? [setting] : []))
  expect(secrets.length).toBeGreaterThan(10)
  const environment = Object.fromEntries(secrets.map(({ variable }, index) => [variable, `leaked-${index}`]))
  const loaded = await load(fileOf("{}"), environment)
  const settings = EffectiveSettings.of(loaded, loaded)
  expect(
    settings.filter(({ is_secret, source, value }) => is_secret && source === "environment" && value === null)
  ).toHaveLength(secrets.length)
  expect(JSON.stringify(settings)).not.toContain("leaked")
})
