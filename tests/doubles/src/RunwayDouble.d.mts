import type { StartOptions } from "./Double.mjs"
import type { JobDouble } from "./JobDouble.mjs"

export declare const documentedMessages: Readonly<Record<401 | 404 | 429 | 503, string>>

/** What Runway says, with status 400, of an account without credits. */
export declare const emptyAccount: string

export interface RunwayDouble extends JobDouble {
  /** Sets the failure codes of the next tasks that fail. Default: one without a code. */
  readonly failWith: (...codes: ReadonlyArray<string>) => void
  /** Sets what the next tasks that succeed say of their cost. Default: the documented price. */
  readonly billAs: (...costs: ReadonlyArray<{ readonly cost?: { readonly credits: number } | null }>) => void
}

export declare const startRunwayDouble: (options: StartOptions & { readonly polls?: number }) => Promise<RunwayDouble>
