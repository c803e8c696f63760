/**
 * Processes that run until the tests that use them have ended: the gateway's executable, any
 * other program.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { childEnvironment } from "./ChildEnvironment.ts"

export interface Running {
  /** Waits until its output matches; fails with all of it when the process ends before. */
  readonly prints: (pattern: RegExp) => Promise<RegExpExecArray>
  readonly pid: number
  readonly signal: (name: NodeJS.Signals) => void
  /** Its exit status, when it has ended. */
  readonly ended: Promise<number | null>
  readonly stop: () => Promise<void>
}

/** Where a process runs. */
export interface Options {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
}

/**
 * Starts a program without the settings of this process. What it writes to file descriptor 3 counts
 * as output.
 */
export const start = (command: string, args: ReadonlyArray<string>, { cwd, env }: Options): Running => {
  const child: ChildProcess = spawn(command, args, {
    cwd,
    env: { ...childEnvironment(), ...env },
    stdio: ["ignore", "pipe", "pipe", "pipe"]
  })
  let output = ""
  let failed: Error | undefined
  const waiting = new Set<() => void>()
  const wake = () => {
    for (const look of waiting) look()
  }
  for (const stream of child.stdio.slice(1)) {
    stream?.on("data", (chunk: Buffer) => {
      output += chunk.toString()
      wake()
    })
  }
  child.once("error", (error) => (failed = error))
  // Only then is all of its output there.
  let closed = false
  child.once("close", () => {
    closed = true
    wake()
  })

  return {
    pid: child.pid ?? 0,
    signal: (name) => void child.kill(name),
    ended: new Promise((resolve) => child.once("close", resolve)),
    prints: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const match = pattern.exec(output)
          if (match === null && !closed) return
          waiting.delete(look)
          if (match === null)
            reject(new Error(`${command} ended without printing ${pattern}:\n${output}`, { cause: failed }))
          else resolve(match)
        }
        waiting.add(look)
        look()
      }),
    stop: async () => {
      if (closed) return
      const end = once(child, "close")
      child.kill("SIGKILL")
      await end
    }
  }
}

export interface Gateway extends Running {
  readonly origin: string
  /** An ordinary key of its first workspace. */
  readonly key: string
  /** A management key of it. */
  readonly managementKey: string
}

/** Where the executable is, and the Node that runs it. */
export interface Executable {
  readonly main: string
  readonly node: string
}

/**
 * What the build of the gateway makes, and a release publishes. A package whose tests start it has
 * `@model-gateway/gateway` as a devDependency, so that it is built first.
 */
export const executable = fileURLToPath(new URL("../../../apps/gateway/bundle/dist/main.js", import.meta.url))

/** Serves on a free port. `settings` are environment variables. */
export const startGateway = async (
  dataDir: string,
  settings: Readonly<Record<string, string>> = {},
  { main, node }: Executable = { main: executable, node: process.execPath }
): Promise<Gateway> => {
  const running = start(node, [main, "serve", "--port", "0", "--data-dir", dataDir], { cwd: dataDir, env: settings })
  const [, origin = ""] = await running.prints(/Model gateway at (http:\/\/127\.0\.0\.1:\d+)\/api\/v1/)
  const [, managementKey = ""] = await running.prints(/management key +(mg_mk_\w+)\s/)
  const [, key = ""] = await running.prints(/ordinary key +(mg_sk_\w+)\s/)
  return { ...running, origin, key, managementKey }
}
