/**
 * Another key of another workspace: from a separate thread, it sends one small paid request after
 * another, about every 50 ms, and measures how long each one takes.
 */
import { Worker } from "node:worker_threads"

/** The measurements since the last reset. */
export interface Served {
  readonly answers: number
  /**
   * The 99th percentile in milliseconds. A request that takes long stands for all those that would
   * have been sent meanwhile. NaN without a request.
   */
  readonly p99: number
  /** The statuses other than 200, with their numbers. 0: no answer. */
  readonly failures: ReadonlyArray<readonly [status: number, count: number]>
}

export interface Neighbor {
  readonly read: () => Promise<Served>
  readonly reset: () => Promise<Served>
  readonly stop: () => Promise<void>
}

/** The requests to the thread. */
export type Question = "read" | "reset"

/** The keys take turns, so that none of them reaches its rate limit. */
export interface Options {
  readonly port: number
  readonly keys: ReadonlyArray<string>
}

/** Starts to send requests. */
export const start = async (options: Options): Promise<Neighbor> => {
  const worker = new Worker(new URL("./neighborThread.ts", import.meta.url), { workerData: options })
  let last: Promise<unknown> = Promise.resolve()
  const ask = (question: Question): Promise<Served> => {
    const answer = last.then(() => {
      worker.postMessage(question)
      return new Promise<Served>((resolve) => worker.once("message", resolve))
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
