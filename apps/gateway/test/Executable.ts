/** Runs the built executable as a process, with arguments, environment, output and signals. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { childEnvironment } from "@model-gateway/test-services/ChildEnvironment"
import { executable } from "@model-gateway/test-services/GatewayProcess"
import { afterAll, beforeAll, expect, onTestFinished } from "vitest"

/** How a process ended. */
export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A running process. */
export interface Running {
  readonly pid: number
  readonly ended: Promise<Ended>
  readonly signal: (name: "SIGINT" | "SIGTERM" | "SIGKILL" | "SIGUSR2") => void
  /** All of stdout so far. */
  readonly printed: () => string
  /** All of stderr so far. */
  readonly logged: () => string
  /** Waits for a match in stdout. Fails with all output if the process ends first. */
  readonly prints: (pattern: RegExp) => Promise<RegExpExecArray>
}

/** Registers what ends something. Default: vitest's, at the end of the test. */
export type AtEnd = (end: () => void | PromiseLike<void>) => void

/**
 * What all tests of a file share, such as a gateway, because to start one takes a second. It is
 * made before the first test, and ends after the last one in the reverse order.
 */
export const shared = <A>(make: (atEnd: AtEnd) => Promise<A>): (() => A) => {
  const ends: Array<() => void | PromiseLike<void>> = []
  let made: { readonly value: A } | undefined
  beforeAll(async () => {
    made = { value: await make((end) => void ends.unshift(end)) }
  }, 60_000)
  afterAll(async () => {
    for (const end of ends) await end()
  })
  return () => (made ?? expect.fail("it is made before the first test")).value
}

/** An empty folder. */
export const folder = (atEnd: AtEnd = onTestFinished): string => {
  const path = mkdtempSync(join(tmpdir(), "model-gateway-"))
  atEnd(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** Starts the executable without the settings of this process. */
export const start = (
  args: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>> = {},
  nodeOptions: ReadonlyArray<string> = [],
  atEnd: AtEnd = onTestFinished
): Running => {
  const child = spawn(process.execPath, [...nodeOptions, executable, ...args], {
    env: { ...childEnvironment(), ...environment },
    stdio: ["ignore", "pipe", "pipe"]
  })
  atEnd(() => void child.kill("SIGKILL"))
  let stdout = ""
  let stderr = ""
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (stdout += chunk))
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk))
  const ended = once(child, "close").then((): Ended => ({ code: child.exitCode, stdout, stderr }))

  return {
    pid: child.pid ?? 0,
    ended,
    signal: (name) => void child.kill(name),
    printed: () => stdout,
    logged: () => stderr,
    prints: async (pattern) => {
      for (;;) {
        const match = pattern.exec(stdout)
        if (match !== null) return match
        const more = await Promise.race([once(child.stdout, "data"), ended.then(() => undefined)])
        if (more === undefined && !pattern.test(stdout)) {
          throw new Error(`It ended without printing ${String(pattern)}:\n${stdout}\n${stderr}`)
        }
      }
    }
  }
}

/** Runs it to its end. */
export const run = (args: ReadonlyArray<string>, environment?: Readonly<Record<string, string>>): Promise<Ended> =>
  start(args, environment).ended

/** A served gateway. */
export interface Served extends Running {
  readonly origin: string
  readonly port: number
}

/** How to serve. */
export interface ServeOptions {
  readonly port?: number
  readonly nodeOptions?: ReadonlyArray<string>
  readonly atEnd?: AtEnd
}

/** Serves on a free port, unless `port` is set, and answers when it listens. */
export const serve = async (
  dataDir: string,
  args: ReadonlyArray<string> = [],
  environment?: Readonly<Record<string, string>>,
  { atEnd, nodeOptions, port: chosen = 0 }: ServeOptions = {}
): Promise<Served> => {
  const all = ["serve", "--port", `${chosen}`, "--data-dir", dataDir, ...args]
  const running = start(all, environment, nodeOptions, atEnd)
  const [, origin = "", port = ""] = await running.prints(/Model gateway at (http:\/\/127\.0\.0\.1:(\d+))\/api\/v1/)
  return { ...running, origin, port: Number(port) }
}

/** The ordinary key that the first run prints. */
export const firstKey = async (gateway: Running): Promise<string> =>
  (await gateway.prints(/ordinary key +(mg_sk_\w{38})/))[1] ?? ""

/** Asks GET `/key` with a key. */
export const currentKey = (origin: string, key: string): Promise<Response> =>
  fetch(`${origin}/api/v1/key`, { headers: { authorization: `Bearer ${key}`, connection: "close" } })
