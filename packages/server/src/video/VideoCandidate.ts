/**
 * The candidates of a video job: the offers that accept the request, in order of preference, with
 * the terms of each. They are chosen, with their credentials, when the job is submitted.
 *
 * A job is at one candidate at a time. On a definite rejection, try the next candidate; after the
 * last one, start again with the first. A candidate that rejected the job permanently is removed. A
 * candidate that may have taken the job is its last one.
 */
import type { VideoOffer } from "@model-gateway/providers/Offer"
import { Effect, Schema } from "effect"
import type * as Routing from "../routing/Candidate.ts"
import type { ModelCatalogue } from "../routing/ModelCatalogue.ts"

/** An offer that may make the video. */
export const Candidate = Schema.Struct({
  provider: Schema.String,
  upstream_model: Schema.String,
  /** The id of the credential. Jobs from earlier releases have none: they use the gateway's own. */
  credential: Schema.optionalKey(Schema.String),
  /** In micro-credits. */
  cost_micro: Schema.Int,
  /**
   * The values that this provider's model fills in for options that the caller left out. Absent: as
   * in the request.
   */
  duration: Schema.optionalKey(Schema.Int),
  generate_audio: Schema.optionalKey(Schema.Boolean)
})

/** An offer that may make the video. */
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
    readonly credential: string | null
    readonly candidates: ReadonlyArray<Candidate>
  },
  isRefused: boolean
): NextCandidate | undefined => {
  const at = job.candidates.findIndex(
    ({ credential = null, provider, upstream_model }) =>
      provider === job.provider && upstream_model === job.upstreamModel && credential === job.credential
  )
  const [first, ...rest] = isRefused ? job.candidates.toSpliced(at, 1) : job.candidates
  if (first === undefined) return undefined
  const next = [first, ...rest][isRefused ? at : at + 1]
  return { candidates: [first, ...rest], candidate: next ?? first, startsOver: next === undefined }
}

/** Why a job fails if {@link offerOf} finds nothing. */
export const goneError = ({ provider }: { readonly provider: string }): string =>
  `the provider ${provider} no longer has the model, or the gateway no longer has its credential`

/** What says which offer and which credential a job is at. */
export interface CurrentCandidate {
  readonly model: string
  readonly provider: string
  readonly upstreamModel: string
  readonly credential: string | null
}

/**
 * Makes the lookup of a job's current candidate: the offer that the job is at, with the credential
 * that it was submitted with. Undefined if the gateway no longer has them.
 *
 * This is the one place that turns the id of a job's credential into the credential.
 */
export const lookup =
  (catalogue: ModelCatalogue["Service"]) =>
  (job: CurrentCandidate): Effect.Effect<Routing.Candidate<VideoOffer> | undefined> =>
    Effect.sync(() => {
      const offer = catalogue
        .video(job.model)
        ?.offers.find(
          ({ credential, provider, upstreamId }) =>
            provider === job.provider &&
            upstreamId === job.upstreamModel &&
            (job.credential === null || job.credential === credential?.id)
        )
      return offer?.credential === undefined ? undefined : { offer, credential: offer.credential }
    })
