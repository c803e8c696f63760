import type { StartOptions } from "./Double.mjs"
import type { JobDouble } from "./JobDouble.mjs"

export declare const documentedMessages: Readonly<Record<401 | 403 | 404, string>>

export declare const startFalDouble: (options: StartOptions) => Promise<JobDouble>
