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
import type { AudioFormat } from "@model-gateway/core/Transcription"
import type { AspectRatio, Resolution } from "@model-gateway/core/Video"
import type { Effect, Redacted, Schema, Stream } from "effect"
import type { MicroCredits } from "./MicroCredits.ts"
import type { Charge, PerSearchUnit, PerSecond, PerToken, PerVideo } from "./Pricing.ts"
import type {
  RerankRequest,
  RerankResponse,
  TranscriptionRequest,
  TranscriptionResponse,
  VideoRequest
} from "./Provider.ts"
import type { ProviderError } from "./ProviderError.ts"

/**
 * The credential that a call is made with: the gateway's own, or a caller's own provider key.
 *
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
 * What an offer states about itself, whatever its kind.
 *
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
  /** Whether requests count toward the key's free requests of the day instead of its credits. */
  readonly isFree: boolean
  /**
   * Whether the model runs in the gateway's own process. Such an offer cannot be down: if a call
   * times out, the caller asked for too much work, so the failure does not open the circuit for
   * others. Default: false.
   */
  readonly isInProcess?: boolean
  /** The gateway's own credential for this offer. */
  readonly credential: Credential
}

/**
 * A model that ranks documents.
 *
 * @since 0.1.0
 */
export interface RerankOffer extends OfferBase {
  readonly kind: "rerank"
  readonly pricing: PerSearchUnit | PerToken
  readonly capabilities: {
    /** Whether documents may be images. */
    readonly image_documents: boolean
  }
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
 * @since 0.1.0
 */
export interface TranscriptionOffer extends OfferBase {
  readonly kind: "transcription"
  readonly pricing: PerSecond | PerToken
  readonly capabilities: {
    /** The supported audio formats. */
    readonly audio_formats: ReadonlyArray<AudioFormat>
    /** Whether it supports `response_format: "verbose_json"`. */
    readonly verbose: boolean
    /** Whether it returns word timestamps. */
    readonly word_timestamps: boolean
  }
  /** The most that the request can cost. */
  readonly quote: (request: TranscriptionRequest) => MicroCredits
  readonly run: (
    request: TranscriptionRequest,
    credential: Credential
  ) => Effect.Effect<{ readonly answer: TranscriptionResponse; readonly charge: Charge }, ProviderError>
}

/**
 * The upstream's own name of a job: any JSON that the adapter needs to find the job again. The
 * service stores it and passes it back unchanged.
 *
 * @since 0.1.0
 */
export type JobHandle = Schema.Json

/**
 * A video to make, and the token that identifies the submission.
 *
 * @since 0.1.0
 */
export interface VideoSubmission {
  readonly request: VideoRequest
  /**
   * Submissions with the same token are one upstream job: the second one returns the handle of the
   * first, and starts and costs nothing more, from any process. A job whose response was lost,
   * because a process or a connection died, is therefore submitted again. The service uses the same
   * token, with the same request, while a job stays with one offer, and never the same token for
   * two jobs.
   *
   * At most 64 letters, digits, `_` and `-`, so that it fits in an idempotency header. It contains
   * nothing secret.
   */
  readonly token: string
}

/**
 * One job at an upstream. It includes the request, because a job outlives the process that
 * submitted it, and not every upstream keeps a copy.
 *
 * @since 0.1.0
 */
export interface SubmittedVideo {
  readonly handle: JobHandle
  readonly request: VideoRequest
}

/**
 * The upstream's status of a video.
 *
 * @since 0.1.0
 */
export type VideoStatus =
  | { readonly status: "in_progress"; /** From 0 to 1. */ readonly progress?: number }
  | {
      readonly status: "completed"
      /** How many videos came out. */
      readonly outputs: number
      readonly charge: Charge
    }
  | { readonly status: "failed"; readonly message: string }

/**
 * A model that makes videos: a job is submitted, polled and downloaded. Each step may run in
 * another process than the previous one.
 *
 * @since 0.1.0
 */
export interface VideoOffer extends OfferBase {
  readonly kind: "video"
  readonly pricing: PerSecond | PerVideo
  readonly capabilities: {
    readonly resolutions: ReadonlyArray<Resolution>
    readonly aspect_ratios: ReadonlyArray<AspectRatio>
    /** Duration in seconds if the request has none. */
    readonly default_duration: number
    /** Maximum duration in seconds. */
    readonly max_duration: number
    /** Whether images without a prompt are enough. */
    readonly prompt_optional: boolean
    /** Whether it supports `frame_images`. */
    readonly frame_images: boolean
    /** Whether it generates audio by default. */
    readonly generate_audio: boolean
    /**
     * Whether it supports `upscale_factor` and `creativity`, and upscales a given video instead of
     * making one.
     */
    readonly upscale: boolean
  }
  /** The most that the request can cost. */
  readonly quote: (request: VideoRequest) => MicroCredits
  /**
   * Checks whether the offer would accept the request, without calling the upstream. The service
   * calls it before it accepts a job, so that an invalid request is rejected at once instead of by
   * a job that fails later.
   */
  readonly check: (request: VideoRequest) => Effect.Effect<void, ProviderError>
  /**
   * Starts the job upstream, once per `token`.
   *
   * `Timeout` and `BadResponse` mean that the upstream may have taken the job. Every other reason
   * means that it certainly has not, so the job may go to another offer. A connection that breaks
   * after the request was sent is therefore a `Timeout`, not `Unavailable`.
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
 * Any offer.
 *
 * @since 0.1.0
 */
export type Offer = RerankOffer | TranscriptionOffer | VideoOffer

/**
 * The kinds of offers.
 *
 * @since 0.1.0
 */
export type Kind = Offer["kind"]

/**
 * An adapter's offers, for composing a catalogue.
 *
 * @since 0.1.0
 */
export type Offers = ReadonlyArray<Offer>
