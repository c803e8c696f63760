import type { StartOptions } from "./Double.mjs"
import type { JobDouble } from "./JobDouble.mjs"

export declare const documentedMessages: Readonly<Record<401 | 402 | 404 | 429, string>>

/** The version of a model that is not official. */
export declare const version: string

export interface ReplicateDouble extends JobDouble {
  /** Sets the form of the next jobs' outputs, which models choose themselves. */
  readonly outputAs: (...shapes: ReadonlyArray<(link: string) => unknown>) => void
}

export declare const startReplicateDouble: (options: StartOptions) => Promise<ReplicateDouble>
