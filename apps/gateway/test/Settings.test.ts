import * as GatewayServerConfig from "@model-gateway/server/GatewayServerConfig"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { ConfigProvider, Effect, Option } from "effect"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import * as DataFolder from "../src/DataFolder.ts"
import * as LoadSettings from "../src/LoadSettings.ts"
import * as Settings from "../src/Settings.ts"
import { folder, run } from "./Executable.ts"

it("are documented as they are: docs/guide/settings.md holds the table", () => {
  const page = readFileSync(new URL("../../../docs/guide/settings.md", import.meta.url), "utf8")
  expect(page).toContain(Settings.markdown())
})

/** The names that reading everything asks for. */
const asked = async (): Promise<ReadonlyArray<string>> => {
  const names = new Set<string>()
  const recorder = ConfigProvider.make((path) =>
    Effect.sync(() => {
      if (path.length > 0) names.add(path.join("."))
      return undefined
    })
  )
  await Effect.runPromise(Effect.all([Settings.config.parse(recorder), GatewayServerConfig.config.parse(recorder)]))
  return [...names].toSorted()
}

/** Which folder `keys create` used tells which source won. */
const used = async (names: ReadonlyArray<string>, parent: string) =>
  names.filter((name) => existsSync(join(parent, name, "gateway.db")))

describe("settings", () => {
  it("are one table: each row is read, and all that is read has its row", async () => {
    expect(Settings.settings.map((row) => row.variable).toSorted()).toEqual(await asked())
  })

  it("have the defaults that the table shows", async () => {
    const shown = ConfigProvider.fromUnknown(
      Object.fromEntries(Settings.settings.map(({ fallback, variable }) => [variable, fallback]))
    )
    const none = ConfigProvider.fromUnknown({})
    const parse = (provider: ConfigProvider.ConfigProvider) =>
      Effect.runPromise(Effect.all([Settings.config.parse(provider), GatewayServerConfig.config.parse(provider)]))
    expect(await parse(shown)).toEqual(await parse(none))
  })

  it("are all in the help of serve", async () => {
    const { code, stdout } = await run(["serve", "--help"])
    expect(code).toBe(0)
    for (const { name, variable } of Settings.settings) {
      expect(stdout).toContain(`--${name} `)
      expect(stdout).toContain(variable)
    }
  })

  it("come from a flag before the environment, from there before a file", async () => {
    const parent = folder()
    const file = join(parent, "gateway.json")
    const [flag, environment, inFile] = ["flag", "environment", "file"].map((name) => join(parent, name))
    writeFileSync(file, JSON.stringify({ "data-dir": inFile, port: 1 }))
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
    [["--shutdown-timeout", "soon"], {}, '--shutdown-timeout is "soon", which is not a duration such as 20 seconds.'],
    [
      ["--shutdown-timeout=-5 seconds"],
      {},
      '--shutdown-timeout is "-5 seconds", which is not a duration such as 20 seconds.'
    ],
    [
      ["--deadline-rerank", "0 seconds"],
      {},
      '--deadline-rerank is "0 seconds", which is not a duration such as 20 seconds.'
    ],
    [
      ["--video-lifetime", "Infinity"],
      {},
      '--video-lifetime is "Infinity", which is not a duration of at most 365 days.'
    ],
    [
      ["--cors-origins", "https://app.example, *"],
      {},
      '--cors-origins is "https://app.example, *", which is not a list of origins such as https://app.example, separated by commas.'
    ],
    [
      ["--trusted-proxies", "10.0.0.0/8, proxy.example"],
      {},
      '--trusted-proxies is "10.0.0.0/8, proxy.example", which is not a list of addresses and blocks such as 10.0.0.0/8, separated by commas.'
    ],
    [
      ["--metrics-token", "hunter2"],
      {},
      "--metrics-token is not a token of 16 to 512 letters, digits and - . _ ~ + /."
    ],
    [
      [],
      { MODEL_GATEWAY_BODY_LIMIT_RERANK: "big" },
      'MODEL_GATEWAY_BODY_LIMIT_RERANK in the environment is "big", which is not a size such as 8 MiB.'
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

  it("malformed in a file end it with one sentence", async () => {
    const file = join(folder(), "gateway.json")
    writeFileSync(file, '{ "port": "x" }')
    const { code, stderr } = await run(["serve", "--config", file])
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `"port" in ${file} is "x", which is not a port from 0 to 65535.\n`
    })
  })

  it.each([
    ["{ port: 1 }", /^The settings file \S+ is not JSON\.$/],
    ["[]", /^The settings file \S+ must hold one JSON object\.$/],
    ['{ "prot": 1 }', /^The settings file \S+ has an unknown setting "prot"\. Did you mean "port"\?$/],
    ['{ "port": [1] }', /^"port" in \S+ is not a port from 0 to 65535\.$/],
    [undefined, /^The settings file \S+ cannot be read\.$/]
  ])("in a file that says %s are refused in a sentence", async (text, sentence) => {
    const file = join(folder(), "gateway.json")
    if (text !== undefined) writeFileSync(file, text)
    const failure = LoadSettings.load({}, Option.some(file), {}).pipe(Effect.flip, Effect.provide(NodeFileSystem.layer))
    expect((await Effect.runPromise(failure)).message).toMatch(sentence)
  })

  it("may be empty in the environment, which is as if they were not there", async () => {
    const empty = { MODEL_GATEWAY_INITIAL_CREDITS: "", MODEL_GATEWAY_UNKNOWN: "" }
    const { code } = await run(["keys", "create", "--data-dir", folder()], empty)
    expect(code).toBe(0)
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
