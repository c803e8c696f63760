import * as Setting from "@model-gateway/settings/Setting"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import * as Settings from "../src/Settings.ts"
import { run } from "./Commands.ts"
import { fileOf, load, refusal } from "./Loaded.ts"

const declared = Setting.entries(Settings.all)

describe("the value of a secret", () => {
  const secret = "s3cret with spaces"

  it("is not in an error, whether given by variable, file or flag", async () => {
    for (const { path, setting } of declared.filter(({ setting }) => setting.isSecret)) {
      const json = path.reduceRight<unknown>((value, key) => ({ [key]: value }), secret)
      const file = fileOf(JSON.stringify(json))
      const messages = [
        [await refusal(undefined, { [setting.variable]: secret }), `${setting.variable} in the environment`],
        [await refusal(file), `"${path.join(".")}" on line 1 of ${file}`],
        ...(setting.hasFlag ? [[await refusal(undefined, {}, { [setting.name]: secret }), `--${setting.name}`]] : [])
      ]
      for (const [message = "", source] of messages) {
        // In a file, an API key may also be the name of a variable.
        expect(message.replace(', or { "env": "NAME" }', "")).toBe(`${source} is not ${setting.allowed}.`)
      }
    }
  })

  it("is not in an error if it is the password of a URL", async () => {
    const url = "https://user:not-a-real-password@cohere.example"
    expect(await refusal(undefined, { COHERE_BASE_URL: url })).toMatch(
      /^COHERE_BASE_URL in the environment is "https:\/\/…@cohere\.example", which is not an http:\/\/ or/
    )
  })

  it("is not in an error if it is not a text", async () => {
    const file = fileOf('{ "metricsToken": 1234567890.5, "upstreams": { "cohere": { "apiKey": ["not-a-real-key"] } } }')
    expect(await refusal(file)).not.toContain("not-a-real-key")
  })

  it("cannot be given as a flag, and is not in the error", async () => {
    const { code, stderr, stdout } = await run(["serve", "--cohere-api-key", "not-a-real-key"])
    expect(code).toBe(1)
    expect(stderr).toContain("--cohere-api-key")
    expect(stdout + stderr).not.toContain("not-a-real-key")
  })

  it("is redacted where settings are printed", async () => {
    const settings = await Effect.runPromise(load(undefined, { COHERE_API_KEY: "not-a-real-key" }))
    expect(JSON.stringify(settings)).toContain('"apiKey":"<redacted>"')
    expect(JSON.stringify(settings)).not.toContain("not-a-real-key")
  })
})

describe("a certificate and its key", () => {
  it("are needed together", async () => {
    expect(await refusal(undefined, {}, { "tls-cert": "a.pem" })).toBe(
      "--tls-cert needs --tls-key: a certificate and its key go together."
    )
    expect(await refusal(undefined, { MODEL_GATEWAY_TLS_KEY: "a.key" })).toBe(
      "MODEL_GATEWAY_TLS_KEY in the environment needs --tls-cert: a certificate and its key go together."
    )
  })
})

describe("a base path", () => {
  it.each(["gateway", "/gateway/", "/", "/a//b", "/a/../b", "/%61", "/a b", "/a?b"])("is not %j", async (basePath) => {
    expect(await refusal(undefined, {}, { "base-path": basePath })).toBe(
      `--base-path is "${basePath}", which is not a path such as /gateway, without a slash at its end.`
    )
  })
})
