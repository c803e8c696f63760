/**
 * The candidates of a video job: the offers that accept the request, in order of preference, with
 * the terms of each. They are chosen, with their credentials, when the job is submitted.
 *
 * A job is at one candidate at a time. On a definite rejection, try the next candidate; after the
 * last one, start again with the first. A candidate that rejected the job permanently is removed. A
 * candidate that may have taken the job is its last one.
 */
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import type { VideoOffer } from "@model-gateway/offers/Offer"
import type { JobHandle } from "@model-gateway/offers/Video"
import { Effect, Equal, Schema } from "effect"
import type * as Routing from "../routing/Candidate.ts"
import * as ProviderKeys from "../access/ProviderKeys.ts"
import type { ModelCatalog } from "../routing/ModelCatalog.ts"
import * as Warnings from "../routing/Warnings.ts"
import type { StorageError } from "../storage/sql/StorageError.ts"
import * as AcceptedModel from "./AcceptedModel.ts"

/** An offer that may make the video. */
export const Candidate = Schema.Struct({
  provider: Schema.String,
  upstream_model: Schema.String,
  /** The id of the credential. Absent: the gateway's own. */
  credential: Schema.optionalKey(Schema.String),
  /** In micro-credits. */
  cost_micro: Schema.Int,
  /**
   * The values that this provider's model fills in for options that the caller left out. Absent: as
   * in the request.
   */
  duration: Schema.optionalKey(Schema.Int),
  generate_audio: Schema.optionalKey(Schema.Boolean),
  /**
   * Whether a key of the free tier submitted the job, so that a bill above `cost_micro` is not
   * charged to it.
   */
  is_free_tier: Schema.optionalKey(Schema.Boolean),
  /**
   * The model that the job was accepted with. Absent: the offer states none, or the job was
   * accepted before jobs kept it.
   */
  model: Schema.optionalKey(AcceptedModel.AcceptedModel),
  /** What this provider ignores of the request. Absent: nothing. */
  warnings: Schema.optionalKey(Schema.Array(Schema.String))
})

/** An offer that may make the video. */
export type Candidate = typeof Candidate.Type

/** The column `candidates`. */
export const CandidatesJson = Schema.fromJsonString(Schema.Array(Candidate))

/** A job's current candidate, and all that are left. */
interface Position {
  readonly provider: string
  readonly upstreamModel: string
  readonly credential: string | null
  readonly candidates: ReadonlyArray<Candidate>
}

/** The index of the current candidate. */
const positionOf = (job: Position): number =>
  job.candidates.findIndex(
    ({ credential = null, provider, upstream_model }) =>
      provider === job.provider && upstream_model === job.upstreamModel && credential === job.credential
  )

/** What the job's current provider ignores of its request. */
export const warningsOf = (job: Position): ReadonlyArray<string> => job.candidates[positionOf(job)]?.warnings ?? []

/**
 * The candidates with what the upstream of the current one says that it ignored of the request.
 * Undefined if the job has these warnings already.
 */
export const withWarnings = (job: Position, said: ReadonlyArray<string>): Position["candidates"] | undefined => {
  const known = warningsOf(job)
  const { warnings = [] } = Warnings.ofSentences(known, said)
  const at = positionOf(job)
  const current = job.candidates[at]
  return current === undefined || warnings.length === known.length
    ? undefined
    : job.candidates.with(at, { ...current, warnings })
}

/** What the job is charged of what its current provider has billed. */
export const costOf = (job: Position, billed: MicroCredits.MicroCredits): MicroCredits.MicroCredits => {
  const candidate = job.candidates[positionOf(job)]
  return candidate?.is_free_tier === true ? MicroCredits.make(Math.min(billed, candidate.cost_micro)) : billed
}

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
export const nextCandidate = (job: Position, isRefused: boolean): NextCandidate | undefined => {
  const at = positionOf(job)
  const [first, ...rest] = isRefused ? job.candidates.toSpliced(at, 1) : job.candidates
  if (first === undefined) return undefined
  const next = [first, ...rest][isRefused ? at : at + 1]
  return { candidates: [first, ...rest], candidate: next ?? first, startsOver: next === undefined }
}

/** What says which offer and which credential a job is at. */
export interface CurrentCandidate extends Position {
  readonly workspaceId: string
  readonly model: string
  /** Null: no upstream has accepted the job. */
  readonly handle: JobHandle | null
}

/** Whether the job was submitted with a provider key, not with the gateway's credential. */
export const usesProviderKey = ({ credential }: Pick<CurrentCandidate, "credential">): boolean =>
  credential !== null && ProviderKeys.isProviderKey({ id: credential })

/** Why a job fails if {@link lookup} finds nothing. */
export const goneError = (job: CurrentCandidate): string =>
  usesProviderKey(job)
    ? `the provider ${job.provider} no longer has the model, or your provider key that the job was submitted with was deleted`
    : `the provider ${job.provider} no longer has the model, or the gateway no longer has its credential`

/**
 * Makes the lookup of a job's current candidate: the offer that the job is at, with the credential
 * that it was submitted with. Undefined if they are gone.
 *
 * The offer is that of the model that the job was accepted with. If the model has left the catalog,
 * a job that an upstream has is finished, and one that no upstream has yet is not submitted.
 *
 * This is the one place that turns the id of a job's credential into the credential.
 */
export const lookup = (catalog: ModelCatalog["Service"], providerKeys: ProviderKeys.ProviderKeys["Service"]) => {
  const offerOf = Effect.fnUntraced(function* (
    job: CurrentCandidate,
    isUsable: (offer: VideoOffer) => boolean
  ): Effect.fn.Return<VideoOffer | undefined> {
    const present = catalog
      .video(job.model)
      ?.offers.find(
        (offer) => offer.provider === job.provider && offer.upstreamId === job.upstreamModel && isUsable(offer)
      )
    const accepted = job.candidates[positionOf(job)]?.model
    if (accepted === undefined || (present === undefined && job.handle === null)) return present
    if (present?.model !== undefined && Equal.equals(AcceptedModel.of(present.model), accepted)) return present
    const model = AcceptedModel.toModel(accepted, job.upstreamModel)
    const made = model && (yield* catalog.makeVideoOffer(job.provider, model))
    return made !== undefined && isUsable(made) ? made : present
  })

  return Effect.fnUntraced(function* (
    job: CurrentCandidate
  ): Effect.fn.Return<Routing.Candidate<VideoOffer> | undefined, StorageError> {
    const isByok = usesProviderKey(job)
    const offer = yield* offerOf(
      job,
      ({ credential }) => isByok || job.credential === null || job.credential === credential?.id
    )
    if (offer === undefined) return undefined
    const credential =
      isByok && job.credential !== null
        ? yield* providerKeys.credential(job.workspaceId, job.credential)
        : offer.credential
    return credential === undefined ? undefined : { offer, credential }
  })
}
