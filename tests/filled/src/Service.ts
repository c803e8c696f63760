/** The gateway's executable: on the machine's clock, or on one that this process moves. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { childEnvironment } from "@model-gateway/test-services/ChildEnvironment"
import { executable } from "@model-gateway/test-services/GatewayProcess"
import type { Move } from "./clock.ts"
import { environment as receiving } from "./Receivers.ts"

export interface Options {
  readonly dataDir: string
  /** The settings file. */
  readonly settings: object
  /** Further variables. */
  readonly environment?: Readonly<Record<string, string>>
  /** Where the clock starts. Default: the machine's clock. */
  readonly clock?: Move
}

export interface Service {
  readonly origin: string
  /** All that it has printed. */
  readonly output: () => string
  /** The first text that it prints and that matches. */
  readonly prints: (pattern: RegExp) => Promise<string>
  /** Moves the clock. Only with `clock`. */
  readonly move: (to: Move) => Promise<void>
  /** Ends it as a restart does. */
  readonly stop: () => Promise<void>
  /** Ends it as a crash does. */
  readonly kill: () => Promise<void>
}

const clockModule = new URL("./clock.js", import.meta.url)

const printing = (child: ChildProcess, ended: Promise<unknown>) => {
  let output = ""
  let isOver = false
  const waiting = new Set<() => void>()
  const wake = () => {
    for (const look of waiting) look()
  }
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => {
      output += chunk.toString()
      wake()
    })
  }
  void ended.then(() => {
    isOver = true
    wake()
  })
  return {
    output: () => output,
    prints: (pattern: RegExp) =>
      new Promise<string>((resolve, reject) => {
        const look = () => {
          const [, found] = pattern.exec(output) ?? []
          if (found === undefined && !isOver) return
          waiting.delete(look)
          if (found === undefined) reject(new Error(`The gateway ended:\n${output}`))
          else resolve(found)
        }
        waiting.add(look)
        look()
      })
  }
}

/** Serves on a free port, and returns when it does. */
export const serve = async ({ clock, dataDir, environment = {}, settings }: Options): Promise<Service> => {
  const file = join(dataDir, "gateway.json")
  await writeFile(file, JSON.stringify(settings, undefined, 2))
  const preload = clock === undefined ? [] : ["--max-semi-space-size=64", "--import", fileURLToPath(clockModule)]
  const child = spawn(
    process.execPath,
    [...preload, executable, "serve", "--port", "0", "--data-dir", dataDir, "--config", file],
    {
      cwd: dataDir,
      env: {
        ...childEnvironment(),
        ...receiving,
        ...environment,
        ...(clock === undefined ? {} : { FILLED_CLOCK: JSON.stringify(clock) })
      },
      stdio: ["ignore", "pipe", "pipe", ...(clock === undefined ? [] : ["ipc" as const])]
    }
  )
  const ended = once(child, "close")
  const { output, prints } = printing(child, ended)
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal)
    await ended
  }
  try {
    const origin = await prints(/Model gateway at (http:\/\/127\.0\.0\.1:\d+)\/api\/v1/)
    return {
      origin,
      output,
      prints,
      move: async (to) => {
        const moved = once(child, "message")
        child.send(to)
        await moved
      },
      stop: () => end("SIGTERM"),
      kill: () => end("SIGKILL")
    }
  } catch (error) {
    await end("SIGKILL")
    throw error
  }
}
