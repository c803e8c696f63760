/**
 * The candidates of a video job: the providers that accept the request, in order of preference,
 * with the terms of each.
 *
 * A job is at one candidate at a time. On a definite rejection, try the next candidate; after the
 * last one, start again with the first. A candidate that rejected the job permanently is removed.
 */
import { Schema } from "effect"

/** A provider that may make the video. */
export const Candidate = Schema.Struct({
  provider: Schema.String,
  upstream_model: Schema.String,
  /** In micro-credits. */
  cost_micro: Schema.Int,
  /**
   * The values that this provider's model fills in for options that the caller left out. Absent: as
   * in the request.
   */
  duration: Schema.optionalKey(Schema.Int),
  generate_audio: Schema.optionalKey(Schema.Boolean)
})

/** A provider that may make the video. */
export type Candidate = typeof Candidate.Type

/** The column `candidates`. */
export const CandidatesJson = Schema.fromJsonString(Schema.NonEmptyArray(Candidate))

/** The next candidate to try. */
export interface NextCandidate {
  readonly candidates: readonly [Candidate, ...ReadonlyArray<Candidate>]
  readonly candidate: Candidate
  /** All candidates have been tried since the first one: wait before the next attempt. */
  readonly startsOver: boolean
}

/**
 * The next candidate after the job's provider has not taken it, or undefined if none is left. With
 * `isRefused`, the current provider rejected the job permanently and is removed.
 */
export const nextCandidate = (
  job: {
    readonly provider: string
    readonly upstreamModel: string
    readonly candidates: ReadonlyArray<Candidate>
  },
  isRefused: boolean
): NextCandidate | undefined => {
  const at = job.candidates.findIndex(
    ({ provider, upstream_model }) => provider === job.provider && upstream_model === job.upstreamModel
  )
  const [first, ...rest] = isRefused ? job.candidates.toSpliced(at, 1) : job.candidates
  if (first === undefined) return undefined
  const next = [first, ...rest][isRefused ? at : at + 1]
  return { candidates: [first, ...rest], candidate: next ?? first, startsOver: next === undefined }
}
