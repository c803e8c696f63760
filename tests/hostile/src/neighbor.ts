/**
 * Another key of another workspace: from a separate thread, it sends one small paid request after
 * another, about every 50 ms, and measures how long each one takes.
 */
import * as Recorder from "./recorder.ts"

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

export type Neighbor = Recorder.Recorder<Served>

/** The keys take turns, so that none of them reaches its rate limit. */
export interface Options {
  readonly port: number
  readonly keys: ReadonlyArray<string>
}

/** Starts to send requests. */
export const start = (options: Options): Promise<Neighbor> =>
  Recorder.start(new URL("./neighborThread.ts", import.meta.url), options)
