/** A server in a process of its own, which says where it listens as soon as it does. */
import { fork } from "node:child_process"

export interface Child {
  /** `http://127.0.0.1:port` */
  readonly origin: string
  /** The key to call it with, where it wants one. */
  readonly apiKey: string
  readonly stop: () => Promise<void>
}

/** What a child sends once it listens. */
export interface Listening {
  readonly port: number
  readonly apiKey: string
}

/** `module` is a built file beside this one, as `./client/peer.js`. */
export const start = async (module: string): Promise<Child> => {
  const child = fork(new URL(module, import.meta.url), { stdio: "inherit" })
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  const { port, apiKey } = await new Promise<Listening>((resolve, reject) => {
    child.once("message", (message: Listening) => resolve(message))
    child.once("exit", (code) => reject(new Error(`${module} ended with code ${code} before it listened`)))
  })
  return {
    origin: `http://127.0.0.1:${port}`,
    apiKey,
    stop: () => {
      child.disconnect()
      return ended
    }
  }
}

/** For the child: tells the parent where it listens, and ends with it. */
export const listening = (message: Listening, stop: () => void): void => {
  process.once("disconnect", stop)
  process.send?.(message)
}
