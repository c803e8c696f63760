// The gateway's executable on a free port, with a data folder of its own and the built page.
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { childEnvironment } from "@model-gateway/test-services/ChildEnvironment"
import { executable } from "@model-gateway/test-services/GatewayProcess"

export interface Gateway {
  readonly origin: string
  readonly dataDir: string
  readonly apiKey: string
  readonly managementKey: string
  /** Stops the process as a restart does: it releases its jobs. */
  readonly shutDown: () => Promise<void>
  /** Starts it again with the same folder and port. */
  readonly restart: () => Promise<void>
  /** Stops the process and removes its folder. */
  readonly stop: () => Promise<void>
}

/** Starts a process and collects its output. */
const start = (dataDir: string, port: string, flags: ReadonlyArray<string>) => {
  const args = ["serve", "--port", port, "--data-dir", dataDir, "--web-dir", "sample", ...flags]
  const child = spawn(process.execPath, [executable, ...args], {
    env: childEnvironment(),
    stdio: ["ignore", "pipe", "pipe"]
  })
  const ended = once(child, "close")
  let output = ""
  const keep = (chunk: Buffer) => void (output += chunk.toString())
  child.stdout.on("data", keep)
  child.stderr.on("data", keep)

  return {
    printed: async (pattern: RegExp): Promise<string> => {
      for (;;) {
        const found = pattern.exec(output)?.[0]
        if (found !== undefined) return found
        const over = await Promise.race([once(child.stdout, "data").then(() => false), ended.then(() => true)])
        if (over) throw new Error(`The gateway ended:\n${output}`)
      }
    },
    end: async (signal: "SIGTERM" | "SIGKILL") => {
      child.kill(signal)
      await ended
    }
  }
}

const address = /http:\/\/127\.0\.0\.1:\d+/

/** Starts a gateway and returns when its first run has printed its keys. */
export const serve = async (flags: ReadonlyArray<string> = []): Promise<Gateway> => {
  const dataDir = mkdtempSync(join(tmpdir(), "sample-page-"))
  let running = start(dataDir, "0", flags)
  const origin = await running.printed(address)
  return {
    origin,
    dataDir,
    apiKey: await running.printed(/mg_sk_\w{38}/),
    managementKey: await running.printed(/mg_mk_\w{38}/),
    shutDown: () => running.end("SIGTERM"),
    restart: async () => {
      running = start(dataDir, new URL(origin).port, flags)
      await running.printed(address)
    },
    stop: async () => {
      await running.end("SIGKILL")
      rmSync(dataDir, { recursive: true, force: true })
    }
  }
}
