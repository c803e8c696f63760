import type { StartOptions } from "./Double.mjs"
import type { JobDouble } from "./JobDouble.mjs"

export declare const documentedMessages: Readonly<Record<401 | 403 | 404, string>>

export interface FalDouble extends JobDouble {
  /** The fields of all requests that the model of the path does not have. fal ignores them. */
  readonly unknown: ReadonlyArray<string>
}

export declare const startFalDouble: (options: StartOptions) => Promise<FalDouble>
