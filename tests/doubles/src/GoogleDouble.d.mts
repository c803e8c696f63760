import type { Scripted, StartOptions } from "./Double.mjs"
import type { JobDouble } from "./JobDouble.mjs"

/** An error as Google sends it. */
export declare const googleError: (
  code: number,
  status: string,
  message: string,
  details?: ReadonlyArray<object>
) => Scripted

/** What Google says, with status 400, of a wrong key. */
export declare const wrongKey: Scripted

export declare const startGoogleDouble: (options: StartOptions & { readonly polls?: number }) => Promise<JobDouble>
