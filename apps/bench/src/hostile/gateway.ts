/**
 * The gateway under test: the real executable in its own process, with its own data folder, on
 * loopback, with a small heap. It is monitored during the attack.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { sibling } from "./sibling.ts"
import * as Watch from "./watch.ts"

/** The executable of this checkout. */
export const builtGateway = fileURLToPath(new URL("../../../gateway/dist/main.js", import.meta.url))

/** The heap limit of the process. */
export const heapMebibytes = 512

/** Settings, as environment variables without their common prefix. */
export type Settings = Readonly<Record<string, string>>

/** Raises the rate limits, for tests of other limits. Older gateways ignore unknown variables. */
export const unlimited: Settings = {
  RATE_LIMIT_REQUESTS: "1000000000",
  RATE_LIMIT_WINDOW: "1 second",
  FAILED_AUTHENTICATIONS_REQUESTS: "1000000000",
  FREE_DAILY_REQUESTS: "1000000000"
}

export interface Options {
  /** The `main.js` to run. Default: {@link builtGateway}. */
  readonly main?: string | undefined
  readonly settings?: Settings | undefined
  /** The data folder. Default: a new one, deleted at the end. */
  readonly dataDir?: string | undefined
}

export interface Gateway {
  /** `http://127.0.0.1:port` */
  readonly origin: string
  readonly port: number
  readonly dataDir: string
  /** An ordinary key, a management key and their workspace. Empty if the data folder is not new. */
  readonly apiKey: string
  readonly managementKey: string
  readonly workspace: string
  /** How the process ended, or undefined while it runs. */
  readonly ended: () => string | undefined
  /** The end of its stderr. */
  readonly errors: () => string
  readonly signal: (name: "SIGTERM" | "SIGKILL") => void
  /** Resolves when the process has ended. */
  readonly exited: Promise<void>
  /** Latency of `/healthz`, and memory, since the last `reset`. */
  readonly watch: Watch.Watch
  /**
   * The longest time that the event loop was blocked since the last call, in milliseconds. NaN if
   * the process has ended.
   */
  readonly stall: () => Promise<number>
  readonly stop: () => Promise<void>
}

const printed = async (child: ChildProcess, output: () => string, pattern: RegExp): Promise<RegExpExecArray> => {
  for (;;) {
    const match = pattern.exec(output())
    if (match !== null) return match
    if (child.exitCode !== null || child.stdout === null) throw new Error(`The gateway did not start:\n${output()}`)
    await Promise.race([once(child.stdout, "data"), once(child, "close")])
  }
}

/** Starts a gateway. It inherits no settings of this process. */
export const start = async (options: Options = {}): Promise<Gateway> => {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), "model-gateway-hostile-"))
  const settings: Record<string, string> = { NO_COLOR: "1" }
  for (const [name, value] of Object.entries(options.settings ?? {})) settings[`MODEL_GATEWAY_${name}`] = value
  const child = spawn(
    process.execPath,
    [
      `--max-old-space-size=${heapMebibytes}`,
      `--import=${sibling("./preload").href}`,
      options.main ?? builtGateway,
      "serve",
      `--data-dir=${dataDir}`,
      "--port=0",
      "--log-level=Error",
      "--log-format=json"
    ],
    {
      env: { ...settings, PATH: process.env["PATH"] },
      stdio: ["ignore", "pipe", "pipe", "ipc"]
    }
  )
  const killWithParent = () => void child.kill("SIGKILL")
  process.once("exit", killWithParent)
  let output = ""
  let errors = ""
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => (output += chunk))
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => (errors = (errors + chunk).slice(-20_000)))
  // When the process ends, its channel closes. That is not an error here.
  child.on("error", () => {})
  let ended: string | undefined
  const exited = once(child, "exit").then(() => {
    ended = child.signalCode ?? `exit code ${child.exitCode}`
    process.off("exit", killWithParent)
  })

  const all = () => output + errors
  const [, origin = "", port = ""] = await printed(
    child,
    all,
    /Model gateway at (http:\/\/127\.0\.0\.1:(\d+))\/api\/v1/
  )
  const key = async (pattern: RegExp): Promise<string> =>
    options.dataDir === undefined ? ((await printed(child, all, pattern))[1] ?? "") : ""
  const workspace = await key(/\n +workspace +(\S+)/)
  const managementKey = await key(/management key +(mg_mk_\w+)/)
  const apiKey = await key(/ordinary key +(mg_sk_\w+)/)
  const watch = await Watch.start(Number(port), child.pid ?? 0)

  const stall = async (): Promise<number> => {
    if (!child.connected) return Number.NaN
    const answer = once(child, "message").then(([milliseconds]) => Number(milliseconds))
    // The channel may close at any time, with the process.
    child.send("stall", () => {})
    return Promise.race([answer, exited.then(() => Number.NaN)])
  }
  return {
    origin,
    port: Number(port),
    dataDir,
    apiKey,
    managementKey,
    workspace,
    ended: () => ended,
    errors: () => errors,
    signal: (name) => void child.kill(name),
    exited,
    watch,
    stall,
    stop: async () => {
      await watch.stop()
      child.kill("SIGKILL")
      await exited
      if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true })
    }
  }
}
