import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, FileSystem, Layer, Option, Redacted } from "effect"
import * as Settings from "../src/Settings.ts"

const none: Settings.FlagValues = {
  baseUrl: Option.none(),
  apiKey: Option.none(),
  managementKey: Option.none(),
  workspaceId: Option.none(),
  dataDir: Option.none(),
  out: "./sample.mp4",
  audio: Option.none(),
  rerankModel: "sandbox/bm25",
  transcriptionModel: "sandbox/tones",
  videoModel: "sandbox/title-card"
}

/** A data folder after the gateway's first run. */
const firstRun = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* fs.makeTempDirectoryScoped()
  yield* fs.writeFileString(
    `${folder}/${Settings.firstRunFile}`,
    [
      "MODEL_GATEWAY_BASE_URL=http://127.0.0.1:9000/api/v1",
      "MODEL_GATEWAY_API_KEY=local-ordinary",
      "MODEL_GATEWAY_MANAGEMENT_KEY=local-management"
    ].join("\n")
  )
  return folder
})

const resolve = (given: Partial<Settings.FlagValues>, environment: Record<string, string> = {}) =>
  Settings.resolve({ ...none, ...given }).pipe(
    Effect.map(({ apiKey, baseUrl, managementKey }) => ({
      baseUrl,
      apiKey: Option.getOrUndefined(Option.map(apiKey, Redacted.value)),
      managementKey: Option.getOrUndefined(Option.map(managementKey, Redacted.value))
    })),
    Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(environment)))
  )

const secret = (key: string) => Option.some(Redacted.make(key))

describe("settings", () => {
  it.effect("include the keys of the gateway on this machine", () =>
    Effect.gen(function* () {
      const dataDir = Option.some(yield* firstRun)
      assert.deepStrictEqual(yield* resolve({ dataDir }), {
        baseUrl: "http://127.0.0.1:9000/api/v1",
        apiKey: "local-ordinary",
        managementKey: "local-management"
      })
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("a flag overrides the environment, which overrides the file of the first run", () =>
    Effect.gen(function* () {
      const dataDir = yield* firstRun
      const settings = yield* resolve(
        { apiKey: secret("from-flag"), baseUrl: Option.some("http://localhost:9000/api/v1/") },
        {
          MODEL_GATEWAY_DATA_DIR: dataDir,
          MODEL_GATEWAY_API_KEY: "from-environment",
          MODEL_GATEWAY_BASE_URL: "http://elsewhere.test/api/v1"
        }
      )
      assert.deepStrictEqual(settings, {
        baseUrl: "http://localhost:9000/api/v1",
        apiKey: "from-flag",
        managementKey: "local-management"
      })
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("the keys of the gateway on this machine are not used for another gateway", () =>
    Effect.gen(function* () {
      const dataDir = Option.some(yield* firstRun)
      for (const baseUrl of ["http://127.0.0.1:9001/api/v1", "https://gateway.test/api/v1"]) {
        const settings = yield* resolve({ dataDir, baseUrl: Option.some(baseUrl), apiKey: secret("mine") })
        assert.deepStrictEqual(settings, { baseUrl, apiKey: "mine", managementKey: undefined })
      }
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("without any key the error says how to get one", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const dataDir = Option.some(yield* fs.makeTempDirectoryScoped())
      const here = yield* Effect.flip(resolve({ dataDir }))
      assert.include(here.message, "npm start")
      const elsewhere = yield* Effect.flip(resolve({ dataDir, baseUrl: Option.some("https://gateway.test/api/v1") }))
      assert.include(elsewhere.message, "https://gateway.test/api/v1")
      assert.include(elsewhere.message, "--api-key")
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("an invalid URL is named, with its source", () =>
    Effect.gen(function* () {
      const flag = yield* Effect.flip(resolve({ baseUrl: Option.some("gateway"), apiKey: secret("key") }))
      assert.strictEqual(flag.message, '--base-url is "gateway", which is not an http or https URL.')
      const variable = yield* Effect.flip(resolve({}, { MODEL_GATEWAY_BASE_URL: "ftp://gateway.test" }))
      assert.include(variable.message, "MODEL_GATEWAY_BASE_URL")
    }).pipe(Effect.provide(Layer.mergeAll(NodeServices.layer)))
  )
})
