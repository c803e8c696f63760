/**
 * The gateway under test: the real executable in its own process, with its own data folder, on
 * loopback, with a small heap. It is monitored during the attack.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { childEnvironment } from "@model-gateway/test-services/ChildEnvironment"
import { executable } from "@model-gateway/test-services/GatewayProcess"
import { trust } from "./doubles.ts"
import * as Watch from "./watch.ts"

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
  /** The `main.js` to run. Default: that of this checkout. */
  readonly main?: string | undefined
  readonly settings?: Settings | undefined
  /** The content of the settings file: upstreams, models, URLs of databases. Default: no file. */
  readonly file?: object | undefined
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
  /**
   * The memory in MiB that objects and buffers use after the garbage was collected. NaN if the
   * process has ended.
   */
  readonly memory: () => Promise<number>
  /** Ends the process with SIGKILL. Its data folder stays. */
  readonly kill: () => Promise<void>
  /** Ends the process and deletes its data folder, if it was a new one. */
  readonly stop: () => Promise<void>
}

/** The time that a start may take on a busy machine, in milliseconds. */
const startLimit = 60_000

/** Waits until the output matches. Ends the process if it does not. */
const printed = async (child: ChildProcess, output: () => string, pattern: RegExp): Promise<RegExpExecArray> => {
  const signal = AbortSignal.timeout(startLimit)
  for (;;) {
    const match = pattern.exec(output())
    if (match !== null) return match
    if (signal.aborted || child.exitCode !== null || child.stdout === null) {
      child.kill("SIGKILL")
      throw new Error(`The gateway did not print ${pattern} at its start:\n${output()}`)
    }
    await Promise.race([once(child.stdout, "data", { signal }), once(child, "close")]).catch(() => {})
  }
}

/** Starts a gateway. It inherits no settings of this process. */
export const start = async (options: Options = {}): Promise<Gateway> => {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), "model-gateway-hostile-"))
  const settings: Record<string, string> = { ...trust }
  for (const [name, value] of Object.entries(options.settings ?? {})) settings[`MODEL_GATEWAY_${name}`] = value
  const fileDir = options.file === undefined ? undefined : mkdtempSync(join(tmpdir(), "model-gateway-settings-"))
  const file = fileDir === undefined ? [] : [`--config=${join(fileDir, "settings.json")}`]
  if (fileDir !== undefined) writeFileSync(join(fileDir, "settings.json"), JSON.stringify(options.file))
  const child = spawn(
    process.execPath,
    [
      "--expose-gc",
      `--max-old-space-size=${heapMebibytes}`,
      `--import=${new URL("./preload.ts", import.meta.url).href}`,
      options.main ?? executable,
      "serve",
      `--data-dir=${dataDir}`,
      "--port=0",
      "--log-level=Error",
      "--log-format=json",
      ...file
    ],
    {
      env: { ...childEnvironment(), ...settings },
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
  const workspace = await key(/workspace {2,}([\w-]+)/)
  const managementKey = await key(/management key +(mg_mk_\w+)/)
  const apiKey = await key(/ordinary key +(mg_sk_\w+)/)
  const watch = await Watch.start(Number(port), child.pid ?? 0)

  // The answers do not say what they answer, so one question waits for the other.
  let asked: Promise<number> = Promise.resolve(0)
  const askChild = (question: "stall" | "memory"): Promise<number> => {
    asked = asked.then(() => {
      if (!child.connected) return Number.NaN
      const answer = once(child, "message").then(([value]) => Number(value))
      // The channel may close at any time, with the process.
      child.send(question, () => {})
      return Promise.race([answer, exited.then(() => Number.NaN)])
    })
    return asked
  }
  const kill = async (): Promise<void> => {
    await watch.stop()
    child.kill("SIGKILL")
    await exited
    if (fileDir !== undefined) rmSync(fileDir, { recursive: true, force: true })
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
    stall: () => askChild("stall"),
    memory: () => askChild("memory"),
    kill,
    stop: async () => {
      await kill()
      if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true })
    }
  }
}
