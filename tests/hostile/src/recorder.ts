/** A thread that measures all the time: what it has measured is read, or read and reset. */
import { Worker } from "node:worker_threads"

/** The requests to the thread, which answers each with its measurements. */
export type Question = "read" | "reset"

export interface Recorder<Measured> {
  /** The measurements since the last reset. */
  readonly read: () => Promise<Measured>
  readonly reset: () => Promise<Measured>
  readonly stop: () => Promise<void>
}

/** Starts the thread of a module with this `workerData`, and waits until it measures. */
export const start = async <Measured>(module: URL, workerData: object): Promise<Recorder<Measured>> => {
  const worker = new Worker(module, { workerData })
  // The answers do not say what they answer, so one question waits for the other.
  let last: Promise<unknown> = Promise.resolve()
  const ask = (question: Question): Promise<Measured> => {
    const answer = last.then(() => {
      worker.postMessage(question)
      return new Promise<Measured>((resolve) => worker.once("message", resolve))
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
