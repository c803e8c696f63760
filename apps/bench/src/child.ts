/** Runs a server in a child process, which reports its address when it listens. */
import * as NodeFlags from "@model-gateway/server/NodeFlags"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { basename } from "node:path"
import { fileURLToPath } from "node:url"
import { onCore } from "./cores.ts"
import type { Usage } from "./usageReport.ts"

export interface Child {
  /** `http://127.0.0.1:port` */
  readonly origin: string
  /** The API key, if the server needs one. */
  readonly apiKey: string
  /** The management key of a new database. */
  readonly managementKey?: string | undefined
  /** What the process has used since it started. */
  readonly usage: () => Promise<Usage>
  readonly stop: () => Promise<void>
}

/** The message that a child sends when it listens. */
export interface Listening {
  readonly port: number
  readonly apiKey: string
  readonly managementKey?: string | undefined
}

export interface Options {
  /** The core that it runs on. Default: any. */
  readonly core?: number | undefined
  /** The folder of `module`. Default: the folder of this module. */
  readonly folder?: URL | undefined
}

/** Loaded before the module, so that a module of another build answers too. */
const reportsUsage = new URL("./usageReport.js", import.meta.url).href

/** The flags of Node: a gateway has those that `serve` chooses. */
const flagsOf = (module: string): ReadonlyArray<string> =>
  basename(module) === "gateway.js" ? NodeFlags.serving() : []

/** `module` is a compiled file in the folder, for example `./client/peer.js`. */
export const start = async (
  module: string,
  args: ReadonlyArray<string> = [],
  { core, folder = new URL(import.meta.url) }: Options = {}
): Promise<Child> => {
  const file = fileURLToPath(new URL(module, folder))
  const node = [process.execPath, ...flagsOf(module), "--import", reportsUsage, file, ...args]
  const [command = "", ...rest] = core === undefined ? node : [...onCore(core), ...node]
  const child = spawn(command, rest, { stdio: ["inherit", "inherit", "inherit", "ipc"] })
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  const { port, apiKey, managementKey } = await new Promise<Listening>((resolve, reject) => {
    child.once("message", (message: Listening) => resolve(message))
    child.once("error", reject)
    child.once("exit", (code) => reject(new Error(`${module} ended with code ${code} before it listened`)))
  })
  return {
    origin: `http://127.0.0.1:${port}`,
    apiKey,
    managementKey,
    usage: async () => {
      child.send("usage")
      const [usage] = (await once(child, "message")) as [Usage]
      return usage
    },
    stop: () => {
      child.disconnect()
      return ended
    }
  }
}

/** For the child: reports the address to the parent, and stops with the parent. */
export const listening = (message: Listening, stop: () => void): void => {
  process.once("disconnect", stop)
  process.send?.(message)
}
