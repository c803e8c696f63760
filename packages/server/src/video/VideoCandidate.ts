/**
 * Who may make a video: the providers that would take the request, by preference, and on which terms each.
 *
 * A job is with one of them at a time. It goes to the next when that one has surely not taken it, and after the last begins again with the first; one that has refused it for good is asked no more.
 */
import { Schema } from "effect"

/** One who may make the video. */
export const Candidate = Schema.Struct({
  provider: Schema.String,
  upstream_model: Schema.String,
  /** In micro-credits. */
  cost_micro: Schema.Int,
  /** As this one's model fills in what the caller left open. Left out: as the request says. */
  duration: Schema.optionalKey(Schema.Int),
  generate_audio: Schema.optionalKey(Schema.Boolean)
})

/** One who may make the video. */
export type Candidate = typeof Candidate.Type

/** The column `candidates`. */
export const CandidatesJson = Schema.fromJsonString(Schema.NonEmptyArray(Candidate))

/** Whose turn it is. */
export interface Turn {
  readonly candidates: readonly [Candidate, ...ReadonlyArray<Candidate>]
  readonly candidate: Candidate
  /** All have been asked since the first was: time to wait. */
  readonly startsOver: boolean
}

/** Whose turn it is after the job's provider has not taken it; undefined when nobody is left. `isRefused`: it never will. */
export const after = (
  job: {
    readonly provider: string
    readonly upstreamModel: string
    readonly candidates: ReadonlyArray<Candidate>
  },
  isRefused: boolean
): Turn | undefined => {
  const at = job.candidates.findIndex(
    ({ provider, upstream_model }) => provider === job.provider && upstream_model === job.upstreamModel
  )
  const [first, ...rest] = isRefused ? job.candidates.toSpliced(at, 1) : job.candidates
  if (first === undefined) return undefined
  const next = [first, ...rest][isRefused ? at : at + 1]
  return { candidates: [first, ...rest], candidate: next ?? first, startsOver: next === undefined }
}
