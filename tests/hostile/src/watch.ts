/**
 * Monitors a gateway from a separate thread, so that a busy attacker does not distort the figures:
 * `/healthz` every 50 ms on one connection, and the memory of the process.
 */
import { Worker } from "node:worker_threads"

/** The measurements since the last reset. */
export interface Seen {
  /**
   * The longest response time of `/healthz` in milliseconds. A request without a response counts
   * with its time so far.
   */
  readonly healthMax: number
  /** Requests answered with anything but 200. */
  readonly healthFailures: number
  readonly probes: number
  /** Maximum memory in MiB, or undefined if the system does not report it. */
  readonly memoryMax: number | undefined
}

export interface Watch {
  readonly read: () => Promise<Seen>
  readonly reset: () => Promise<Seen>
  readonly stop: () => Promise<void>
}

/** The requests to the thread. */
export type Question = "read" | "reset"

/** Starts monitoring. */
export const start = async (port: number, pid: number): Promise<Watch> => {
  const worker = new Worker(new URL("./watchThread.ts", import.meta.url), { workerData: { port, pid } })
  // Requests are answered in order.
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
