/**
 * Monitors a gateway from a separate thread, so that a busy attacker does not distort the figures:
 * `/healthz` every 50 ms on one connection, and the memory of the process.
 */
import * as Recorder from "./recorder.ts"

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

export type Watch = Recorder.Recorder<Seen>

/** Starts monitoring. */
export const start = (port: number, pid: number): Promise<Watch> =>
  Recorder.start(new URL("./watchThread.ts", import.meta.url), { port, pid })
