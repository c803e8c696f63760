/**
 * An offer: one model of one provider, with its own call, price and credential.
 *
 * An adapter turns its configuration into offers. The service selects among the offers of a model.
 * It never computes an upstream's price and never sees how an upstream is called. Requests are
 * already validated against the contract and use its field names. Answers contain nothing specific
 * to the upstream.
 *
 * @since 0.1.0
 */
import { type Duration, Effect, type Redacted, type Schema, type Stream } from "effect"
import type { DataPolicy } from "./DataPolicy.ts"
import type { Model, VideoModel } from "./Model.ts"
import type { MicroCredits } from "./MicroCredits.ts"
import type { Passthrough } from "./Passthrough.ts"
import type { Charge, PerSearchUnit, PerSecond, PerToken, PerVideo } from "./Pricing.ts"
import type { ProviderError } from "./ProviderError.ts"
import type { RerankCapabilities, RerankRequest, RerankResponse } from "./Rerank.ts"
import type { TranscriptionCapabilities, TranscriptionRequest, TranscriptionResponse } from "./Transcription.ts"
import type {
  JobHandle,
  SubmittedVideo,
  VideoCapabilities,
  VideoRequest,
  VideoStatus,
  VideoSubmission
} from "./Video.ts"

/**
 * The credential that a call is made with: the gateway's own, or a caller's provider key.
 *
 * @category models
 * @since 0.1.0
 */
export interface Credential {
  /**
   * Identifies the credential in circuits and job rows. It contains nothing secret. Credentials
   * with the same id at one offer share a circuit.
   */
  readonly id: string
  /** Absent if the upstream needs none. */
  readonly secret?: Redacted.Redacted<string>
}

/**
 * The gateway's own credential at an upstream. Its id is `gateway`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const gatewayCredential = (secret?: Redacted.Redacted<string>): Credential =>
  secret === undefined ? { id: "gateway" } : { id: "gateway", secret }

/**
 * What an offer states about itself, whatever its kind.
 *
 * @category models
 * @since 0.1.0
 */
export interface OfferBase {
  /** The `model` that callers send, such as `cohere/rerank-v3.5`. */
  readonly publicId: string
  /** The model's id at the upstream, such as `rerank-v3.5`. */
  readonly upstreamId: string
  /** The name that callers use in `provider.order`, `provider.only` and `provider.options`. */
  readonly provider: string
  /** Display name of the model. */
  readonly name: string
  /** The day on which the model ends at the provider. Default: none is known. */
  readonly expiresOn?: string
  /** Whether the price was read elsewhere than at the provider. Default: false. */
  readonly hasUnconfirmedPrice?: boolean
  /** Whether requests count toward the key's free requests of the day instead of its credits. */
  readonly isFree: boolean
  /**
   * Whether the model runs in the gateway's own process. Such an offer cannot be down: if a call
   * times out, the caller asked for too much work, so the failure does not open the circuit for
   * others. Default: false.
   */
  readonly isInProcess?: boolean
  /**
   * The gateway's own credential for this offer. Undefined if it has none: then only callers with a
   * provider key can use the offer.
   */
  readonly credential: Credential | undefined
  /** The longest wait for one call. Default: the service's limit for the operation. */
  readonly timeLimit?: Duration.Duration
  /**
   * The maximum number of calls at a time. The service lets further ones wait, the keys in turn,
   * and measures their time from the start of the call. Default: no limit.
   */
  readonly concurrency?: number
  /** What its provider declares of the data in requests. Default: nothing. */
  readonly dataPolicy?: DataPolicy
  /**
   * What it sends on of its provider's entry of `provider.options`, and what it refuses. Default:
   * it ignores the entry, and its `ignored` says so ({@link ignoredOptions}).
   */
  readonly passthrough?: Passthrough
}

/**
 * What an offer takes over from its model.
 *
 * @category constructors
 * @since 0.1.0
 */
export const ofModel = ({
  expiresOn,
  hasUnconfirmedPrice,
  name,
  publicId,
  timeLimit,
  upstreamId
}: Model): Pick<
  OfferBase,
  "publicId" | "upstreamId" | "name" | "isFree" | "timeLimit" | "expiresOn" | "hasUnconfirmedPrice"
> => ({
  publicId,
  upstreamId,
  name,
  isFree: false,
  ...(timeLimit === undefined ? {} : { timeLimit }),
  ...(expiresOn === undefined ? {} : { expiresOn }),
  ...(hasUnconfirmedPrice === true ? { hasUnconfirmedPrice } : {})
})

/**
 * What an offer states about a request.
 *
 * @category models
 * @since 0.1.0
 */
export interface Ignoring<Request> {
  /**
   * What the offer ignores of the request although the specification lets callers send it: a
   * sentence for each, which names the field. It calls no upstream. The service answers with these
   * sentences as `warnings`. What follows from the capabilities of a transcription model
   * (`Transcription.ignored`) is not repeated here. Default: nothing.
   */
  readonly ignored?: (request: Request) => ReadonlyArray<string>
}

/**
 * `ignored` of an offer that passes no `provider.options` on: a sentence if the request has some.
 *
 * @category validation
 * @since 0.1.0
 */
export const ignoredOptions =
  ({ provider, publicId }: Pick<OfferBase, "provider" | "publicId">) =>
  ({ options = {} }: { readonly options?: Schema.JsonObject }): ReadonlyArray<string> =>
    Object.keys(options).length === 0
      ? []
      : [`provider.options.${provider}: ${publicId} takes no options, so they were ignored.`]

/**
 * A model that ranks documents.
 *
 * @category models
 * @since 0.1.0
 */
export interface RerankOffer extends OfferBase, Ignoring<RerankRequest> {
  readonly kind: "rerank"
  readonly pricing: PerSearchUnit | PerToken
  readonly capabilities: RerankCapabilities
  /** The most that the request can cost. */
  readonly quote: (request: RerankRequest) => MicroCredits
  readonly run: (
    request: RerankRequest,
    credential: Credential
  ) => Effect.Effect<{ readonly answer: RerankResponse; readonly charge: Charge }, ProviderError>
}

/**
 * A model that transcribes audio.
 *
 * @category models
 * @since 0.1.0
 */
export interface TranscriptionOffer extends OfferBase, Ignoring<TranscriptionRequest> {
  readonly kind: "transcription"
  readonly pricing: PerSecond | PerToken
  readonly capabilities: TranscriptionCapabilities
  /** The most that the request can cost. */
  readonly quote: (request: TranscriptionRequest) => MicroCredits
  readonly run: (
    request: TranscriptionRequest,
    credential: Credential
  ) => Effect.Effect<{ readonly answer: TranscriptionResponse; readonly charge: Charge }, ProviderError>
}

/**
 * A model that makes videos: a job is submitted, polled and downloaded. Each step may run in
 * another process than the previous one.
 *
 * @category models
 * @since 0.1.0
 */
export interface VideoOffer extends OfferBase, Ignoring<VideoRequest> {
  readonly kind: "video"
  readonly pricing: PerSecond | PerVideo
  /**
   * The model that the adapter made the offer of. A job keeps its price and parameters, and is
   * polled and charged by an offer that is made of them, even if the model has changed or is no
   * longer offered. Default: a job is polled and charged by the offer that there is then.
   */
  readonly model?: VideoModel
  readonly capabilities: VideoCapabilities
  /** The most that the request can cost. */
  readonly quote: (request: VideoRequest) => MicroCredits
  /**
   * Checks whether the offer would accept the request, without calling the upstream. The service
   * calls it before it accepts a job, so that an invalid request is rejected at once instead of by
   * a job that fails later.
   */
  readonly check: (request: VideoRequest) => Effect.Effect<void, ProviderError>
  /**
   * Whether the upstream has a documented idempotency key, or lists its jobs by our token.
   *
   * If it is true, a submission whose answer was lost is repeated with the same token. If it is
   * false, the upstream is asked once: such a job fails, says so, and costs the caller nothing.
   *
   * An effect if only the upstream can say it. The service runs it before each submission, so it
   * must be quick and remember the answer. What is not known is false. See {@link isIdempotent}.
   */
  readonly isIdempotent: boolean | Effect.Effect<boolean>
  /** The shortest time between two polls of a job. Default: what the service finds useful. */
  readonly pollInterval?: Duration.Duration
  /**
   * Starts the job upstream.
   *
   * `Timeout`, `ConnectionLost` and `BadResponse` mean that the upstream may have taken the job.
   * Every other reason means that it certainly has not, so the job may go to another offer. A
   * connection that breaks after the request was sent is therefore not `Unavailable`.
   */
  readonly submit: (submission: VideoSubmission, credential: Credential) => Effect.Effect<JobHandle, ProviderError>
  readonly poll: (job: SubmittedVideo, credential: Credential) => Effect.Effect<VideoStatus, ProviderError>
  /** The bytes of output `index` of a completed job. */
  readonly content: (
    job: SubmittedVideo & { readonly index: number },
    credential: Credential
  ) => Stream.Stream<Uint8Array, ProviderError>
  /** Also succeeds if nothing is left to cancel. */
  readonly cancel: (handle: JobHandle, credential: Credential) => Effect.Effect<void, ProviderError>
}

/**
 * Whether a submission to the offer may be repeated. It may have to ask the upstream.
 *
 * @category getters
 * @since 0.1.0
 */
export const isIdempotent = ({ isIdempotent }: Pick<VideoOffer, "isIdempotent">): Effect.Effect<boolean> =>
  Effect.isEffect(isIdempotent) ? isIdempotent : Effect.succeed(isIdempotent)

/**
 * Any offer.
 *
 * @category models
 * @since 0.1.0
 */
export type Offer = RerankOffer | TranscriptionOffer | VideoOffer

/**
 * The kinds of offers.
 *
 * @category models
 * @since 0.1.0
 */
export type Kind = Offer["kind"]

/**
 * An adapter's offers, for composing a catalog.
 *
 * @category models
 * @since 0.1.0
 */
export type Offers = ReadonlyArray<Offer>
