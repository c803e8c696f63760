/**
 * Watches a gateway from a thread of its own, so that a busy attacker does not distort the figures:
 * `/healthz` every 50 ms on one connection, and the memory of the process.
 */
import { Worker } from "node:worker_threads"
import { sibling } from "./sibling.ts"

/** What was seen since the last reset. */
export interface Seen {
  /**
   * The longest that `/healthz` took, in milliseconds; a probe without an answer counts with its
   * time so far.
   */
  readonly healthMax: number
  /** Probes that were answered with anything but 200. */
  readonly healthFailures: number
  readonly probes: number
  /** The most memory, in MiB; undefined where the system does not tell. */
  readonly memoryMax: number | undefined
}

export interface Watch {
  readonly read: () => Promise<Seen>
  readonly reset: () => Promise<Seen>
  readonly stop: () => Promise<void>
}

/** What the thread is asked. */
export type Question = "read" | "reset"

/** Starts to watch. */
export const start = async (port: number, pid: number): Promise<Watch> => {
  const worker = new Worker(sibling("./watchThread"), { workerData: { port, pid } })
  // Questions are answered in order.
  let last: Promise<unknown> = Promise.resolve()
  const ask = (question: Question): Promise<Seen> => {
    const answer = last.then(() => {
      worker.postMessage(question)
      return new Promise<Seen>((resolve) => worker.once("message", resolve))
    })
    last = answer
    return answer
  }
  await ask("reset")
  return {
    read: () => ask("read"),
    reset: () => ask("reset"),
    stop: async () => void (await worker.terminate())
  }
}
