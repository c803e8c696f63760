import type { StartOptions } from "./Double.mjs"
import type { JobDouble } from "./JobDouble.mjs"

export declare const documentedMessages: Readonly<Record<401 | 402 | 404 | 429, string>>

/** The version of a model that is not official. */
export declare const version: string

export declare const startReplicateDouble: (options: StartOptions) => Promise<JobDouble>
