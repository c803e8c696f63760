import * as GatewayServerConfig from "@model-gateway/server/GatewayServerConfig"
import * as Setting from "@model-gateway/server/Setting"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { ConfigProvider, Duration, Effect, Option, Redacted } from "effect"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import * as DataFolder from "../src/DataFolder.ts"
import * as LoadSettings from "../src/LoadSettings.ts"
import * as Settings from "../src/Settings.ts"
import { folder, run, serve } from "./Executable.ts"

const docs = fileURLToPath(new URL("../../../docs", import.meta.url))

describe("the documentation of the settings", () => {
  it("has the table of the declarations; vitest run -u writes it", async () => {
    const page = join(docs, "guide", "settings.md")
    const written = readFileSync(page, "utf8").replace(/(?:^\|.*\n)+/m, () => Settings.markdown())
    await expect(written).toMatchFileSnapshot(page)
  })

  it("has the JSON Schema of the declarations; vitest run -u writes it", async () => {
    const { stdout } = await run(["settings", "schema"])
    await expect(stdout).toMatchFileSnapshot(join(docs, "settings.schema.json"))
  })
})

const declared = Setting.entries(Settings.all)

/** Reads every setting from a provider. */
const readAll = (provider: ConfigProvider.ConfigProvider) =>
  Effect.runPromise(Effect.all([Settings.config.parse(provider), GatewayServerConfig.config.parse(provider)]))

/** A settings file with this text. */
const fileOf = (text: string): string => {
  const file = join(folder(), "gateway.json")
  writeFileSync(file, text)
  return file
}

/** The settings that flags, a file and an environment give. */
const load = (file: string | undefined, environment: Record<string, string> = {}, flags: Record<string, string> = {}) =>
  Effect.gen(function* () {
    const given = Object.entries(flags).map(([name, text]) => [name, Option.some(text)] as const)
    const loaded = yield* LoadSettings.load(Object.fromEntries(given), Option.fromNullishOr(file), environment)
    return { ...(yield* LoadSettings.read(loaded)), ...(yield* loaded.read(GatewayServerConfig.config)) }
  }).pipe(Effect.provide(NodeServices.layer))

/** The sentence with which they are refused. */
const refusal = async (...given: Parameters<typeof load>) =>
  (await Effect.runPromise(Effect.flip(load(...given)))).message

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

  it("have the defaults that the table shows", async () => {
    const shown = ConfigProvider.fromUnknown(
      Object.fromEntries(
        declared.flatMap(({ setting: { defaultText, variable } }) =>
          defaultText === undefined ? [] : [[variable, defaultText]]
        )
      )
    )
    expect(await readAll(shown)).toEqual(await readAll(ConfigProvider.fromUnknown({})))
  })

  it("are all in the help of serve, except secrets without a flag", async () => {
    const { code, stdout } = await run(["serve", "--help"])
    expect(code).toBe(0)
    for (const { setting } of declared) {
      if (setting.hasFlag) expect(stdout).toContain(`--${setting.name} `)
      expect([setting.name, stdout.includes(setting.variable)]).toEqual([setting.name, setting.hasFlag])
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

  it("come from a flag before the environment, from there before a file", async () => {
    const parent = folder()
    const file = join(parent, "gateway.json")
    const [flag, environment, inFile] = ["flag", "environment", "file"].map((name) => join(parent, name))
    writeFileSync(file, JSON.stringify({ dataDir: inFile, port: 1 }))
    const names = ["flag", "environment", "file"]

    await run(["keys", "create", "--config", file])
    expect(await used(names, parent)).toEqual(["file"])
    await run(["keys", "create"], { MODEL_GATEWAY_CONFIG: file, MODEL_GATEWAY_DATA_DIR: `${environment}` })
    expect(await used(names, parent)).toEqual(["environment", "file"])
    await run(["keys", "create", "--config", file, "--data-dir", `${flag}`], {
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
      '--cors-origins is "https://app.example, *", which is not a list of origins such as https://app.example: * would let every page of the web in: list the origins of your own pages.'
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
      '--cohere-base-url is "api.cohere.com", which is not a URL such as https://api.cohere.com.'
    ],
    [[], { COHERE_API_KEY: "two words" }, "COHERE_API_KEY in the environment is not an API key without spaces."],
    [
      [],
      { MODEL_GATEWAY_BODY_LIMIT_RERANK: "big" },
      'MODEL_GATEWAY_BODY_LIMIT_RERANK in the environment is "big", which is not a size of at least 1 byte, such as 8 MiB.'
    ],
    [
      ["--web-dir", "/nowhere/page"],
      {},
      '--web-dir is "/nowhere/page", which is not an existing folder, sample or none.'
    ],
    [
      [],
      { MODEL_GATEWAY_RATE_LIMIT_REQUEST: "5" },
      "MODEL_GATEWAY_RATE_LIMIT_REQUEST in the environment is not a setting. Did you mean MODEL_GATEWAY_RATE_LIMIT_REQUESTS?"
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
  ])("malformed in %j %j end it with one sentence", async (args, environment, sentence) => {
    const dataDir = folder()
    const { code, stderr, stdout } = await run(["serve", "--data-dir", join(dataDir, "new"), ...args], environment)
    expect({ code, stderr, stdout }).toEqual({ code: 1, stderr: `${sentence}\n`, stdout: "" })
    expect(existsSync(join(dataDir, "new"))).toBe(false)
  })

  it("leave the variables of the clients alone", async () => {
    const { code } = await run(["keys", "create", "--data-dir", folder()], {
      MODEL_GATEWAY_API_KEY: "x",
      MODEL_GATEWAY_BASE_URL: "x",
      MODEL_GATEWAY_MANAGEMENT_KEY: "x",
      MODEL_GATEWAY_WORKSPACE_ID: "x"
    })
    expect(code).toBe(0)
  })

  it("may be empty in the environment, which is as if they were not there", async () => {
    const empty = { MODEL_GATEWAY_INITIAL_CREDITS: "", MODEL_GATEWAY_UNKNOWN: "" }
    const { code } = await run(["keys", "create", "--data-dir", folder()], empty)
    expect(code).toBe(0)
  })
})

describe("a settings file", () => {
  it("holds settings in nested groups, and may name its schema", async () => {
    const file = fileOf(`{
      "$schema": "./settings.schema.json",
      "port": 9000,
      "logLevel": "Debug",
      "rateLimit": { "requests": 100, "window": "1 minute" },
      "videos": { "concurrency": 2, "retention": "30 days" },
      "bodyLimits": { "rerank": "2 MiB", "other": 4096 },
      "corsOrigins": ["https://app.example", "http://localhost:5173"],
      "trustedProxies": "10.0.0.0/8, 192.0.2.1",
      "upstreams": { "cohere": { "apiKey": "not-a-real-key", "baseUrl": "http://127.0.0.1:9001" } }
    }`)
    const settings = await Effect.runPromise(load(file))
    expect(settings).toMatchObject({
      port: 9000,
      logLevel: "Debug",
      rateLimit: { requests: 100, window: Duration.minutes(1) },
      videos: { concurrency: 2, lifetime: Duration.hours(24), retention: Duration.days(30) },
      bodyLimits: { rerank: 2 * 1024 * 1024, other: 4096, videos: 24 * 1024 * 1024 },
      corsOrigins: ["https://app.example", "http://localhost:5173"],
      upstreams: { cohere: { baseUrl: "http://127.0.0.1:9001" } }
    })
    expect(settings.trustedProxies.map(String)).toEqual(["10.0.0.0/8", "192.0.2.1/32"])
    expect(Option.fromNullishOr(settings.upstreams.cohere.apiKey).pipe(Option.map(Redacted.value))).toEqual(
      Option.some("not-a-real-key")
    )
  })

  it("sets the gateway that is served", async () => {
    const file = fileOf('{ "rateLimit": { "requests": 1, "window": "1 day" } }')
    const gateway = await serve(folder(), ["--config", file])
    const [, key = ""] = await gateway.prints(/API key +(mg_sk_\w{38})/)
    const statuses = [1, 2].map(async () => {
      const { status } = await fetch(`${gateway.origin}/api/v1/rerank`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json", connection: "close" },
        body: JSON.stringify({ model: "sandbox/bm25", query: "tea", documents: ["tea"] })
      })
      return status
    })
    expect(new Set(await Promise.all(statuses))).toEqual(new Set([200, 429]))
  })

  it.each([
    ["{\n  port: 1\n}", "The settings file FILE is not valid JSON: check line 2."],
    ['{\n  "port": 1,\n}', "The settings file FILE is not valid JSON: check line 3."],
    ['{ "port": 1', "The settings file FILE is not valid JSON: check line 1."],
    ['{\n  // a comment\n  "port": 1\n}', "The settings file FILE is not valid JSON: check line 2."],
    ["", "The settings file FILE is not valid JSON: check line 1."],
    ["[]", "The settings file FILE must hold one JSON object."],
    ['{ "prot": 1 }', '"prot" on line 1 of FILE is not a setting. Did you mean "port"?'],
    [
      '{\n  "videos": {\n    "concurency": 2\n  }\n}',
      '"videos.concurency" on line 3 of FILE is not a setting. Did you mean "videos.concurrency"?'
    ],
    [
      '{ "rateLimits": { "requests": 1 } }',
      '"rateLimits" on line 1 of FILE is not a setting. Did you mean "rateLimit"?'
    ],
    ['{ "data-dir": "x" }', '"data-dir" on line 1 of FILE is not a setting. Did you mean "dataDir"?'],
    [
      '{ "rate-limit-requests": 5 }',
      '"rate-limit-requests" on line 1 of FILE is not a setting. Did you mean "rateLimit.requests"?'
    ],
    ['{ "toString": 1 }', /^"toString" on line 1 of \S+ is not a setting\. Did you mean "\S+"\?$/],
    ['{\n  "port": "x"\n}', '"port" on line 2 of FILE is "x", which is not a port from 0 to 65535.'],
    ['{ "port": [1] }', '"port" on line 1 of FILE is [1], which is not a port from 0 to 65535.'],
    ['{ "port": null }', '"port" on line 1 of FILE is null, which is not a port from 0 to 65535.'],
    ['{ "port": {} }', '"port" on line 1 of FILE is {}, which is not a port from 0 to 65535.'],
    ['{ "host": true }', '"host" on line 1 of FILE is true, which is not a host name or address.'],
    [
      '{\n\n  "videos": { "concurrency": 0 } }',
      '"videos.concurrency" on line 3 of FILE is 0, which is not a whole number of at least 1.'
    ],
    [
      '{ "videos": 5 }',
      '"videos" on line 1 of FILE is not an object of settings: "concurrency", "lifetime", "retention".'
    ],
    [
      '{ "corsOrigins": ["https://app.example/"] }',
      '"corsOrigins" on line 1 of FILE is ["https://app.example/"], which is not a list of origins such as https://app.example: https://app.example/ is not an origin as browsers send it: write https://app.example.'
    ],
    ['{ "port": 1,\n  "port": 2 }', '"port" on line 2 of FILE is there for the second time.']
  ])("that says %j is refused in a sentence with the line", async (text, sentence) => {
    const file = fileOf(text)
    const message = await refusal(file)
    if (typeof sentence === "string") expect(message).toBe(sentence.replace("FILE", file))
    else expect(message).toMatch(sentence)
  })

  it("that does not exist is refused in a sentence", async () => {
    const file = join(folder(), "gateway.json")
    const { code, stderr } = await run(["serve", "--config", file])
    expect({ code, stderr }).toEqual({ code: 1, stderr: `The settings file ${file} cannot be read.\n` })
  })

  it("has every setting in its schema, and allows no other", () => {
    const at = (schema: unknown, path: ReadonlyArray<string>): unknown =>
      path.reduce<unknown>((node, key) => {
        expect(node).toMatchObject({ type: "object", additionalProperties: false })
        return propertiesOf(node)[key]
      }, schema)
    const schema = Settings.jsonSchema()
    for (const { path, setting } of declared) {
      expect(at(schema, path)).toHaveProperty("description", `${setting.description}. Allowed: ${setting.allowed}.`)
    }
    expect(at(schema, ["port"])).toMatchObject({ type: "integer", minimum: 0, maximum: 65_535, default: 8787 })
    expect(at(schema, ["videos", "concurrency"])).toMatchObject({ type: "integer", minimum: 1, default: 32 })
    expect(at(schema, ["logFormat"])).toMatchObject({ enum: ["pretty", "json"], default: "pretty" })
    expect(at(schema, ["corsOrigins"])).toMatchObject({ type: "array", items: { type: "string" } })
  })
})

const propertiesOf = (schema: unknown): Readonly<Record<string, unknown>> => {
  if (typeof schema !== "object" || schema === null || !("properties" in schema)) return {}
  return { ...(typeof schema.properties === "object" ? schema.properties : {}) }
}

describe("the value of a secret", () => {
  const secret = "s3cret with spaces"

  it("is not in an error, wherever it was given", async () => {
    for (const { path, setting } of declared.filter(({ setting }) => setting.isSecret)) {
      const json = path.reduceRight<unknown>((value, key) => ({ [key]: value }), secret)
      const file = fileOf(JSON.stringify(json))
      const messages = [
        [await refusal(undefined, { [setting.variable]: secret }), `${setting.variable} in the environment`],
        [await refusal(file), `"${path.join(".")}" on line 1 of ${file}`],
        ...(setting.hasFlag ? [[await refusal(undefined, {}, { [setting.name]: secret }), `--${setting.name}`]] : [])
      ]
      for (const [message, source] of messages) expect(message).toBe(`${source} is not ${setting.allowed}.`)
    }
  })

  it("is not in an error if it is no text", async () => {
    const file = fileOf('{ "metricsToken": 1234567890.5, "upstreams": { "cohere": { "apiKey": ["not-a-real-key"] } } }')
    expect(await refusal(file)).not.toContain("not-a-real-key")
  })

  it("is not taken as a flag, and not repeated by the refusal", async () => {
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

describe("the data folder", () => {
  it("is refused in a sentence where a file is in its place, or nothing can be made", async () => {
    const parent = folder()
    writeFileSync(join(parent, "file"), "")
    for (const place of [join(parent, "file"), join(parent, "file", "below"), "/proc/gateway"]) {
      const { code, stderr, stdout } = await run(["serve", "--port", "0", "--data-dir", place])
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
      expect(stderr).toMatch(/^The data folder \S+ cannot be used: [^\n]+\.\n$/)
    }
  })

  it("is refused in a sentence where this user may not write", async () => {
    const parent = folder()
    const closed = join(parent, "closed")
    mkdirSync(closed, { mode: 0o500 })
    for (const place of [closed, join(closed, "below")]) {
      const failure = await asNobody(() => Effect.runPromise(Effect.flip(DataFolder.prepare(place))))
      expect(failure.message).toBe(
        `The data folder ${place} cannot be used: this user has no permission to write there. Choose another with --data-dir.`
      )
    }
  })
})

/** Root may write anywhere: where the tests run as root, this one does as somebody who may not. */
const asNobody = async <A>(work: () => Promise<A>): Promise<A> => {
  if (process.geteuid?.() !== 0) return work()
  process.seteuid?.(65_534)
  try {
    return await work()
  } finally {
    process.seteuid?.(0)
  }
}
