import { adapters } from "@model-gateway/providers/Adapters"
import { builtIn } from "@model-gateway/providers/Catalog"
import * as GatewayServerConfig from "@model-gateway/server/GatewayServerConfig"
import * as Setting from "@model-gateway/settings/Setting"
import { ConfigProvider, Effect } from "effect"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import * as Catalog from "../src/Catalog.ts"
import * as ModelSettings from "../src/ModelSettings.ts"
import * as Settings from "../src/Settings.ts"
import { database, run } from "./Commands.ts"
import { folder } from "./Executable.ts"

const docs = fileURLToPath(new URL("../../../docs", import.meta.url))

describe("the documentation of the settings", () => {
  it("has the table of the declarations (written by vitest run --update)", async () => {
    const page = join(docs, "reference", "settings.md")
    const written = readFileSync(page, "utf8").replace(/(?:^\|.*\n)+/m, () => Settings.markdown())
    await expect(written).toMatchFileSnapshot(page)
  })

  it("has the tables of the upstreams and of their part of the file (written by vitest run --update)", async () => {
    const page = join(docs, "reference", "providers.md")
    const tables = [ModelSettings.upstreamsTable(), ModelSettings.keysTable()]
    const written = readFileSync(page, "utf8").replaceAll(
      /(?:^\| (?:Name|Key) \|.*\n)(?:^\|.*\n)+/gm,
      () => tables.shift() ?? ""
    )
    expect(tables).toEqual([])
    await expect(written).toMatchFileSnapshot(page)
  })

  it("has the table of the built-in models and their prices (written by vitest run --update)", async () => {
    const page = join(docs, "reference", "models.md")
    const written = readFileSync(page, "utf8").replace(/(?:^\|.*\n)+/m, () => Catalog.builtInTable())
    await expect(written).toMatchFileSnapshot(page)
  })

  it("has the JSON Schema of a catalog of models (written by vitest run --update)", async () => {
    const { stdout } = await run(["models", "schema"])
    await expect(stdout).toMatchFileSnapshot(join(docs, "reference", "catalog.schema.json"))
  })

  it("has a page for each adapter", () => {
    const missing = adapters.filter(({ name }) => !existsSync(join(docs, "reference", "upstreams", `${name}.md`)))
    expect(missing.map(({ name }) => name)).toEqual([])
  })

  it.each(builtIn.models)(
    "says on the page of the upstream where the price of $publicId is from",
    ({ adapter, source }) => {
      const { page, read_from = page, read_on } = source
      const text = readFileSync(join(docs, "reference", "upstreams", `${adapter}.md`), "utf8").replaceAll(/\s+/g, " ")
      for (const stated of [page, ...(read_from.match(/https:\S+/g) ?? [read_from]), read_on])
        expect(text).toContain(stated)
    }
  )

  it.each(Object.entries(builtIn.dataPolicies))(
    "says on the page of %s where its data policy is from",
    (adapter, { source }) => {
      const { page, read_from = page, read_on } = source
      const text = readFileSync(join(docs, "reference", "upstreams", `${adapter}.md`), "utf8").replaceAll(/\s+/g, " ")
      for (const stated of [page, read_from, read_on]) expect(text).toContain(stated)
    }
  )

  it("has the JSON Schema of the declarations (written by vitest run --update)", async () => {
    const { stdout } = await run(["settings", "schema"])
    await expect(stdout).toMatchFileSnapshot(join(docs, "reference", "settings.schema.json"))
  })
})

const declared = Setting.entries(Settings.all)

/** Reads every setting from a provider. */
const readAll = (provider: ConfigProvider.ConfigProvider) =>
  Effect.runPromise(Effect.all([Settings.config.parse(provider), GatewayServerConfig.config.parse(provider)]))

const formerNames = [
  "host",
  "port",
  "data-dir",
  "web-dir",
  "initial-credits",
  "shutdown-timeout",
  "log-format",
  "log-level",
  "body-limit-rerank",
  "body-limit-transcription",
  "body-limit-transcription-file",
  "body-limit-videos",
  "body-limit-files",
  "body-limit-other",
  "body-rate",
  "body-rate-grace",
  "body-memory",
  "deadline-rerank-attempt",
  "deadline-rerank",
  "deadline-transcription-attempt",
  "deadline-transcription",
  "circuit-failures",
  "circuit-open-for",
  "video-concurrency",
  "video-lifetime",
  "video-retention",
  "kept-answers-per-key",
  "kept-answers-total",
  "rate-limit-requests",
  "rate-limit-window",
  "failed-authentications-requests",
  "failed-authentications-window",
  "free-daily-requests",
  "cors-origins",
  "trusted-proxies",
  "metrics-token"
]

/** Which folder `keys create` used tells which source won. */
const used = async (names: ReadonlyArray<string>, parent: string) =>
  names.filter((name) => existsSync(join(parent, name, "gateway.db")))

describe("settings", () => {
  it("each have a name, a variable and a key of their own", () => {
    for (const names of [
      declared.map(({ setting }) => setting.name),
      declared.map(({ setting }) => setting.variable),
      declared.map(({ path }) => path.join("."))
    ]) {
      expect(new Set(names).size).toBe(names.length)
    }
    // Keys that both the executable and the service declare would hide each other.
    expect(Object.keys(Settings.all)).toHaveLength(
      Object.keys(Settings.declarations).length + Object.keys(GatewayServerConfig.declarations).length
    )
  })

  it("have the defaults that the documentation shows", async () => {
    const shown = ConfigProvider.fromUnknown(
      Object.fromEntries(
        declared.flatMap(({ setting: { defaultText, variable } }) =>
          defaultText === undefined ? [] : [[variable, defaultText]]
        )
      )
    )
    expect(await readAll(shown)).toEqual(await readAll(ConfigProvider.fromUnknown({})))
  })

  it("of an upstream are those that its adapter reads without the executable", async () => {
    for (const { name, variables } of adapters) {
      const { apiKey, baseUrl } = Settings.declarations.upstreams[name] ?? {}
      expect({ apiKey: apiKey?.variable, baseUrl: baseUrl?.variable }).toEqual(variables ?? {})
    }
  })

  it("are all in the help of serve, secrets without a flag by the flag of their file", async () => {
    const { code, stdout } = await run(["serve", "--help"])
    expect(code).toBe(0)
    for (const { setting } of declared) {
      expect([setting.name, stdout.includes(`--${setting.name} `)]).toEqual([setting.name, setting.hasFlag])
      expect(stdout).toContain(setting.variable)
      if (setting.isSecret) expect(stdout).toMatch(new RegExp(`--${setting.name}-file .*${setting.variable}_FILE`))
    }
  })

  it("keep the flags and variables that they had before they were declared in one place", () => {
    const names = declared.map(({ setting }) => setting.name)
    expect(names).toEqual(expect.arrayContaining(formerNames))
    for (const { setting } of declared.filter(({ setting }) => formerNames.includes(setting.name))) {
      expect(setting.variable).toBe(`MODEL_GATEWAY_${setting.name.toUpperCase().replaceAll("-", "_")}`)
      expect(setting.hasFlag).toBe(true)
    }
  })

  it("are taken from a flag before the environment, and from the environment before a file", async () => {
    const parent = folder()
    const file = join(parent, "gateway.json")
    const [flag, environment, inFile] = ["flag", "environment", "file"].map((name) => join(parent, name))
    writeFileSync(file, JSON.stringify({ dataDir: inFile, port: 1 }))
    const names = ["flag", "environment", "file"]

    await run(["migrate", "--config", file])
    expect(await used(names, parent)).toEqual(["file"])
    await run(["migrate"], { MODEL_GATEWAY_CONFIG: file, MODEL_GATEWAY_DATA_DIR: `${environment}` })
    expect(await used(names, parent)).toEqual(["environment", "file"])
    await run(["migrate", "--config", file, "--data-dir", `${flag}`], {
      MODEL_GATEWAY_DATA_DIR: `${environment}`
    })
    expect(await used(names, parent)).toEqual(names)
  })

  it.each([
    [["--port", "http"], {}, '--port is "http", which is not a port from 0 to 65535.'],
    [["--port", "65536"], {}, '--port is "65536", which is not a port from 0 to 65535.'],
    [["--host", ""], {}, '--host is "", which is not a host name or address.'],
    [
      ["--shutdown-timeout", "soon"],
      {},
      '--shutdown-timeout is "soon", which is not a duration from 0 seconds to 1 day, such as 20 seconds.'
    ],
    [
      ["--shutdown-timeout=-5 seconds"],
      {},
      '--shutdown-timeout is "-5 seconds", which is not a duration from 0 seconds to 1 day, such as 20 seconds.'
    ],
    [
      ["--deadline-rerank", "0 seconds"],
      {},
      '--deadline-rerank is "0 seconds", which is not a duration above 0 seconds, such as 20 seconds.'
    ],
    [
      ["--video-lifetime", "Infinity"],
      {},
      '--video-lifetime is "Infinity", which is not a duration above 0 seconds and up to 365 days, such as 20 seconds.'
    ],
    [
      ["--cors-origins", "https://app.example, *"],
      {},
      '--cors-origins is "https://app.example, *", which is not a list of origins such as https://app.example: * would allow every page of the web: list the origins of your own pages.'
    ],
    [
      ["--trusted-proxies", "10.0.0.0/8, proxy.example"],
      {},
      '--trusted-proxies is "10.0.0.0/8, proxy.example", which is not a list of addresses and blocks such as 10.0.0.0/8: proxy.example is not an address or block of addresses such as 10.0.0.0/8.'
    ],
    [
      ["--metrics-token", "hunter2"],
      {},
      "--metrics-token is not a token of 16 to 512 letters, digits and - . _ ~ + /."
    ],
    [
      ["--shutdown-timeout", "Infinity"],
      {},
      '--shutdown-timeout is "Infinity", which is not a duration from 0 seconds to 1 day, such as 20 seconds.'
    ],
    [
      ["--cohere-base-url", "api.cohere.com"],
      {},
      '--cohere-base-url is "api.cohere.com", which is not an http:// or https:// URL without user name, query or fragment.'
    ],
    [
      [],
      { COHERE_API_KEY: "two words" },
      "COHERE_API_KEY in the environment is not an API key of printable ASCII characters without spaces."
    ],
    [
      [],
      { MODEL_GATEWAY_BODY_LIMIT_RERANK: "big" },
      'MODEL_GATEWAY_BODY_LIMIT_RERANK in the environment is "big", which is not a size of at least 1 byte, such as 8 MiB.'
    ],
    [
      [],
      { REDIS_URL: "redis://:hunter2@cache:6379/first" },
      "REDIS_URL in the environment is not a URL such as redis://user:password@host:6379/0, or rediss:// for TLS."
    ],
    [
      ["--console-oidc-issuer", "http://login.example"],
      {},
      '--console-oidc-issuer is "http://login.example", which is not an https URL, or an http URL of this machine, such as https://login.example/realms/staff.'
    ],
    [
      ["--web-dir", "/nowhere/page"],
      {},
      '--web-dir is "/nowhere/page", which is not an existing folder, playground, sample or none.'
    ],
    [
      [],
      { MODEL_GATEWAY_RATE_LIMIT_REQUEST: "5" },
      "MODEL_GATEWAY_RATE_LIMIT_REQUEST in the environment is not a setting. Did you mean MODEL_GATEWAY_RATE_LIMIT_REQUESTS?"
    ],
    [
      [],
      { MODEL_GATEWAY_COHERE_API_KEY: "not-a-real-key" },
      "MODEL_GATEWAY_COHERE_API_KEY in the environment is not a setting. Did you mean COHERE_API_KEY?"
    ],
    [
      [],
      { MODEL_GATEWAY_METRIC_TOKEN: "0123456789abcdef" },
      "MODEL_GATEWAY_METRIC_TOKEN in the environment is not a setting. Did you mean MODEL_GATEWAY_METRICS_TOKEN?"
    ],
    [
      [],
      { MODEL_GATEWAY_LOG_FORMAT: "xml" },
      'MODEL_GATEWAY_LOG_FORMAT in the environment is "xml", which is not one of pretty, json.'
    ]
  ])("that are malformed in %j %j are rejected in one sentence", async (args, environment, sentence) => {
    const dataDir = folder()
    const { code, stderr, stdout } = await run(["serve", "--data-dir", join(dataDir, "new"), ...args], environment)
    expect({ code, stderr, stdout }).toEqual({ code: 1, stderr: `${sentence}\n`, stdout: "" })
    expect(existsSync(join(dataDir, "new"))).toBe(false)
  })

  it("ignore the variables of the clients", async () => {
    const { code } = await run(["keys", "create", "--data-dir", await database()], {
      MODEL_GATEWAY_API_KEY: "x",
      MODEL_GATEWAY_BASE_URL: "x",
      MODEL_GATEWAY_MANAGEMENT_KEY: "x",
      MODEL_GATEWAY_WORKSPACE_ID: "x"
    })
    expect(code).toBe(0)
  })

  it("that are empty in the environment are not set", async () => {
    const empty = { MODEL_GATEWAY_INITIAL_CREDITS: "", MODEL_GATEWAY_UNKNOWN: "" }
    const { code } = await run(["keys", "create", "--data-dir", await database()], empty)
    expect(code).toBe(0)
  })
})

describe("the JSON Schema of the settings file", () => {
  it("describes every setting, and allows no other", () => {
    const at = (schema: unknown, path: ReadonlyArray<string>): unknown =>
      path.reduce<unknown>((node, key) => {
        expect(node).toMatchObject({ type: "object", additionalProperties: false })
        return propertiesOf(node)[key]
      }, schema)
    const schema = Settings.jsonSchema()
    // Users choose the names of upstreams, so the schema has no property for each adapter's own.
    for (const { path, setting } of declared.filter(({ path: [part] }) => part !== "upstreams")) {
      const allowed = `${setting.allowed}${setting.isSecret ? ', or { "file": "/run/secrets/name" }' : ""}`
      expect(at(schema, path)).toHaveProperty("description", `${setting.description}. Allowed: ${allowed}.`)
    }
    expect(at(schema, ["port"])).toMatchObject({ type: "integer", minimum: 0, maximum: 65_535, default: 8787 })
    expect(at(schema, ["videos", "concurrency"])).toMatchObject({ type: "integer", minimum: 1, default: 32 })
    expect(at(schema, ["logFormat"])).toMatchObject({ enum: ["pretty", "json"], default: "pretty" })
    expect(at(schema, ["corsOrigins"])).toMatchObject({ type: "array", items: { type: "string" } })
    expect(at(schema, ["upstreams"])).toMatchObject({
      type: "object",
      additionalProperties: {
        additionalProperties: false,
        properties: { adapter: {}, apiKey: {}, baseUrl: { type: "string" }, timeLimit: { type: "string" } }
      }
    })
    expect(at(schema, ["models"])).toMatchObject({
      type: "object",
      additionalProperties: {
        additionalProperties: false,
        required: ["offers"],
        properties: {
          kind: { enum: ["rerank", "transcription", "video"] },
          offers: { items: { required: ["upstream", "model"], additionalProperties: false } }
        }
      }
    })
  })
})

const propertiesOf = (schema: unknown): Readonly<Record<string, unknown>> => {
  if (typeof schema !== "object" || schema === null || !("properties" in schema)) return {}
  return { ...(typeof schema.properties === "object" ? schema.properties : {}) }
}
