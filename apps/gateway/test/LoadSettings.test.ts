import * as Setting from "@model-gateway/settings/Setting"
import { Effect, Redacted } from "effect"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, describe, expect, it } from "vitest"
import * as Settings from "../src/Settings.ts"
import { run } from "./Commands.ts"
import { folder } from "./Executable.ts"
import { fileOf, load, offered, refusal } from "./Loaded.ts"

const declared = Setting.entries(Settings.all)

describe("the value of a secret", () => {
  const secret = "s3cret with spaces"
  const inFile = fileOf(secret, afterAll)

  it("is not in an error, whether given by variable, file or flag", async () => {
    for (const { path, setting } of declared.filter(({ setting }) => setting.isSecret)) {
      const json = path.reduceRight<unknown>((value, key) => ({ [key]: value }), secret)
      const file = fileOf(JSON.stringify(json))
      const messages = [
        [await refusal(undefined, { [setting.variable]: secret }), `${setting.variable} in the environment`],
        [await refusal(file), `"${path.join(".")}" on line 1 of ${file}`],
        [
          await refusal(undefined, { [Setting.fileVariableOf(setting)]: inFile }),
          `${Setting.fileVariableOf(setting)} in the environment (the file ${inFile})`
        ],
        ...(setting.hasFlag ? [[await refusal(undefined, {}, { [setting.name]: secret }), `--${setting.name}`]] : [])
      ]
      for (const [message = "", source] of messages) {
        // In a settings file, an API key may also be the name of a variable or of a file.
        expect(message.replace(', { "env": "NAME" } or { "file": "/run/secrets/name" }', "")).toBe(
          `${source} is not ${setting.allowed}.`
        )
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
    expect(code).toBe(2)
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

describe("the file of a secret", () => {
  const token = "0123456789abcdef"

  /** A file with this secret, as an orchestrator writes it. */
  const secretFile = (contents: string | Uint8Array = `${token}\n`) => {
    const file = join(folder(), "secret")
    writeFileSync(file, contents)
    return file
  }

  const tokenOf = async (...given: Parameters<typeof load>) => {
    const { metricsToken } = await Effect.runPromise(load(...given))
    return metricsToken === undefined ? undefined : Redacted.value(metricsToken)
  }

  it("is named by a variable, a flag or the settings file, and may end with line breaks", async () => {
    const file = secretFile()
    expect(await tokenOf(undefined, { MODEL_GATEWAY_METRICS_TOKEN_FILE: file })).toBe(token)
    expect(await tokenOf(undefined, {}, { "metrics-token-file": secretFile(`${token}\r\n\n`) })).toBe(token)
    expect(await tokenOf(fileOf(JSON.stringify({ metricsToken: { file } })))).toBe(token)
    // A flag overrides a variable, and a variable the settings file, whichever form they have.
    const other = fileOf(JSON.stringify({ metricsToken: "of-the-settings-file" }))
    expect(await tokenOf(other, { MODEL_GATEWAY_METRICS_TOKEN_FILE: file })).toBe(token)
    const direct = { MODEL_GATEWAY_METRICS_TOKEN: "of-the-environment" }
    expect(await tokenOf(undefined, direct, { "metrics-token-file": file })).toBe(token)
  })

  it("has the API key of an upstream, also of one that the settings file adds", async () => {
    const file = secretFile("not-a-real-key\n")
    const upstreams = {
      cohere: { apiKey: { file } },
      mine: { adapter: "cohere", apiKey: { file }, baseUrl: "http://127.0.0.1:9001" }
    }
    const offers = await Effect.runPromise(offered(fileOf(JSON.stringify({ upstreams }))))
    expect(
      offers.upstreams
        .filter(({ name }) => name in upstreams)
        .map(({ credential, credentialSource, name }) => [
          name,
          credential?.secret === undefined ? undefined : Redacted.value(credential.secret),
          credentialSource?.endsWith(` (the file ${file})`)
        ])
    ).toEqual([
      ["cohere", "not-a-real-key", true],
      ["mine", "not-a-real-key", true]
    ])
  })

  it("that cannot be used is rejected in one sentence that names the setting and the file", async () => {
    const dir = folder()
    mkdirSync(join(dir, "folder"))
    const variable = "MODEL_GATEWAY_METRICS_TOKEN_FILE"
    const of = (file: string) => refusal(undefined, { [variable]: file })
    const named = (file: string, problem: string) =>
      `${variable} in the environment names the file ${file}, which ${problem}.`
    const missing = join(dir, "missing")
    expect(await of(missing)).toBe(named(missing, "does not exist"))
    const withoutFolder = join(dir, "no", "folder", "missing")
    expect(await of(withoutFolder)).toBe(named(withoutFolder, "does not exist"))
    expect(await of(join(dir, "folder"))).toBe(named(join(dir, "folder"), "is not a regular file"))
    const [empty, long, binary] = [
      secretFile("\n"),
      secretFile("x".repeat(65_537)),
      secretFile(Uint8Array.of(0xff, 0xfe))
    ]
    expect(await of(empty)).toBe(named(empty, "is empty"))
    expect(await of(long)).toBe(named(long, "is larger than 64 KiB"))
    expect(await of(binary)).toBe(named(binary, "is not text in UTF-8"))
    const settings = fileOf(JSON.stringify({ upstreams: { cohere: { apiKey: { file: missing } } } }))
    expect(await refusal(settings)).toBe(
      `"upstreams.cohere.apiKey" on line 1 of ${settings} names the file ${missing}, which does not exist.`
    )
  })

  it("is not shown if it may be the secret itself, given by mistake", async () => {
    const variable = "COHERE_API_KEY_FILE"
    for (const secret of ["co-not-a-real-key", "/not+a/real/key=", "/not-a-real-key"]) {
      expect(await refusal(undefined, { [variable]: secret })).toBe(
        `${variable} in the environment names a file that does not exist.`
      )
    }
    expect(await refusal(undefined, { [variable]: `/${"x".repeat(300)}` })).toBe(
      `${variable} in the environment names a file that cannot be read.`
    )
    const settings = fileOf(JSON.stringify({ metricsToken: { fil: token } }))
    expect(await refusal(settings)).toBe(
      `"metricsToken" on line 1 of ${settings} is not a token of 16 to 512 letters, digits and - . _ ~ + /, or { "file": "/run/secrets/name" }.`
    )
  })

  it("and the secret are not both given", async () => {
    expect(await refusal(undefined, { COHERE_API_KEY: "a-key", COHERE_API_KEY_FILE: secretFile() })).toBe(
      "Both COHERE_API_KEY in the environment and COHERE_API_KEY_FILE in the environment are set. Keep one of them."
    )
  })

  it("is for secrets only", async () => {
    expect(await refusal(undefined, { MODEL_GATEWAY_PORT_FILE: secretFile() })).toBe(
      "MODEL_GATEWAY_PORT_FILE in the environment is not a setting. Did you mean MODEL_GATEWAY_PORT?"
    )
  })
})
