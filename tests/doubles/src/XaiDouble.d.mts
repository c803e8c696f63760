import type { Scripted, StartOptions } from "./Double.mjs"
import type { JobDouble } from "./JobDouble.mjs"

/** Errors as xAI sends them. */
export declare const documentedErrors: Readonly<
  Record<"invalidKey" | "noCredit" | "rateLimit" | "missing" | "noJob", Scripted>
>

/**
 * How a job fails: with the `code` and the `message` of an error, by moderation (`blocked`), or
 * because it is too old (`expired`).
 */
export interface Failure {
  readonly code: string
  readonly message?: string
}

export interface XaiDouble extends JobDouble {
  /** Sets how the next jobs that fail do so. */
  readonly failWith: (...failures: ReadonlyArray<Failure>) => void
}

export declare const startXaiDouble: (options: StartOptions & { readonly polls?: number }) => Promise<XaiDouble>
