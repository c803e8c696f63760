/** Runs a server in a child process, which reports its address when it listens. */
import { fork } from "node:child_process"

export interface Child {
  /** `http://127.0.0.1:port` */
  readonly origin: string
  /** The API key, if the server needs one. */
  readonly apiKey: string
  /** The management key of a new database. */
  readonly managementKey?: string | undefined
  readonly stop: () => Promise<void>
}

/** The message that a child sends when it listens. */
export interface Listening {
  readonly port: number
  readonly apiKey: string
  readonly managementKey?: string | undefined
}

/** `module` is a compiled file next to this one, for example `./client/peer.js`. */
export const start = async (module: string, args: ReadonlyArray<string> = []): Promise<Child> => {
  const child = fork(new URL(module, import.meta.url), args, { stdio: "inherit" })
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  const { port, apiKey, managementKey } = await new Promise<Listening>((resolve, reject) => {
    child.once("message", (message: Listening) => resolve(message))
    child.once("exit", (code) => reject(new Error(`${module} ended with code ${code} before it listened`)))
  })
  return {
    origin: `http://127.0.0.1:${port}`,
    apiKey,
    managementKey,
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
