/**
 * An upstream provider as the service sees it: a name, a catalogue, and whichever of the three capabilities it has.
 *
 * Requests arrive checked against the contract and carry the contract's field names. Answers leave free of whatever
 * is peculiar to the upstream.
 *
 * @since 0.1.0
 */
import type { AudioFormat, TimestampGranularity } from "@model-gateway/core/Transcription"
import type * as Video from "@model-gateway/core/Video"
import type { Effect, Schema, Stream } from "effect"
import type { AudioSource } from "./AudioSource.ts"
import type { Model } from "./Model.ts"
import type { ProviderError } from "./ProviderError.ts"

/**
 * The entry of `provider.options` that is meant for the serving provider, passed on as it is.
 *
 * @since 0.1.0
 */
export type Options = Schema.JsonObject

/**
 * A document to rank: text, an image (HTTPS URL or `data:` URI), or both.
 *
 * @since 0.1.0
 */
export interface RerankDocument {
  readonly text?: string
  readonly image?: string
}

/** @since 0.1.0 */
export interface RerankRequest {
  readonly model: string
  readonly query: string
  readonly documents: ReadonlyArray<RerankDocument>
  /** All documents when left out. */
  readonly top_n?: number
  readonly options?: Options
}

/** @since 0.1.0 */
export interface RerankResult {
  /** Position in the request's `documents`. */
  readonly index: number
  /** Finite; greater is more relevant. */
  readonly relevance_score: number
}

/** @since 0.1.0 */
export interface RerankResponse {
  /** Most relevant first, at most `top_n`. */
  readonly results: ReadonlyArray<RerankResult>
  readonly total_tokens: number
}

/** @since 0.1.0 */
export interface TranscriptionRequest {
  readonly model: string
  readonly audio: {
    readonly source: AudioSource
    readonly format: AudioFormat
    /** As measured from the container, see `AudioDuration`. */
    readonly durationSeconds: number
  }
  /** ISO-639-1. Detected when left out. */
  readonly language?: string
  readonly temperature?: number
  readonly timestamp_granularities: ReadonlyArray<TimestampGranularity>
  readonly options?: Options
}

/** @since 0.1.0 */
export interface TranscriptionSegment {
  readonly id: number
  /** Seconds from the start of the audio. */
  readonly start: number
  readonly end: number
  readonly text: string
  readonly seek?: number
  readonly tokens?: ReadonlyArray<number>
  readonly temperature?: number
  readonly avg_logprob?: number
  readonly compression_ratio?: number
  readonly no_speech_prob?: number
  readonly speaker?: string
}

/** @since 0.1.0 */
export interface TranscriptionWord {
  readonly word: string
  /** Seconds from the start of the audio. */
  readonly start: number
  readonly end: number
  readonly speaker?: string
}

/** @since 0.1.0 */
export interface TranscriptionResponse {
  readonly text: string
  readonly language?: string
  /** Seconds of audio that were transcribed. */
  readonly duration: number
  readonly segments: ReadonlyArray<TranscriptionSegment>
  /** Only when `word` was asked for. */
  readonly words?: ReadonlyArray<TranscriptionWord>
  readonly usage?: { readonly input_tokens?: number; readonly output_tokens?: number }
}

/**
 * What a provider needs to know of a video request. `duration` is the model's default when left out.
 *
 * @since 0.1.0
 */
export interface VideoRequest extends Pick<
  Video.Request,
  | "model"
  | "prompt"
  | "duration"
  | "resolution"
  | "aspect_ratio"
  | "size"
  | "seed"
  | "frame_images"
  | "input_references"
  | "generate_audio"
  | "creativity"
  | "upscale_factor"
> {
  readonly options?: Options
}

/**
 * How far an upstream has come with a video.
 *
 * @since 0.1.0
 */
export type VideoStatus =
  | { readonly status: "in_progress"; /** From 0 to 1. */ readonly progress?: number }
  | { readonly status: "completed"; /** How many videos came out. */ readonly outputs: number }
  | { readonly status: "failed"; readonly message: string }

/**
 * One job at an upstream. The request comes along because a job outlives the process that submitted it, and not
 * every upstream keeps its own copy.
 *
 * @since 0.1.0
 */
export interface VideoJob {
  readonly upstreamId: string
  readonly request: VideoRequest
}

/**
 * A video to be made, and the token by which the upstream knows it again.
 *
 * @since 0.1.0
 */
export interface VideoSubmission {
  readonly request: VideoRequest
  /**
   * Submissions with the same token are one job upstream: the second answers with the `upstreamId` of the first and
   * starts, and costs, nothing more, whichever process it comes from. So a job whose answer was lost, because a process
   * or a connection died, is simply submitted again. The service gives the same job the same token for as long as it is
   * with the same provider and model, and no two others the same; the request that comes with it is the same too.
   *
   * At most 64 letters, digits, `_` and `-`, so that it fits in an idempotency header as it is. Nothing in it is secret. An
   * adapter whose upstream has no such header keeps the promise in another way: it sends the token as the job's
   * metadata, say, and looks for a job that bears it before it submits another.
   */
  readonly token: string
}

/**
 * Making videos: a job is submitted, polled, fetched. Every step may run in another process than the step before it.
 *
 * @since 0.1.0
 */
export interface VideoCapability {
  /**
   * Says whether the provider would take the request, without asking the upstream. The service calls it before it
   * accepts a job, so that what is known to be wrong is refused at once and not by a job that fails later.
   */
  readonly check: (request: VideoRequest) => Effect.Effect<void, ProviderError>
  /**
   * Has the upstream begin the job, once for each `token`.
   *
   * `Timeout` and `BadResponse` say that the upstream may have taken the job all the same: it is submitted again, under its
   * token, to this provider and to no other. Every other reason says that it has surely not: the job may go to another
   * provider. A connection that broke after the request had gone out is therefore a `Timeout`, and not `Unavailable`.
   */
  readonly submit: (submission: VideoSubmission) => Effect.Effect<{ readonly upstreamId: string }, ProviderError>
  readonly poll: (job: VideoJob) => Effect.Effect<VideoStatus, ProviderError>
  /** The bytes of output `index` of a completed job. */
  readonly content: (job: VideoJob & { readonly index: number }) => Stream.Stream<Uint8Array, ProviderError>
  /** Succeeds too when there is nothing left to cancel. */
  readonly cancel: (job: { readonly upstreamId: string }) => Effect.Effect<void, ProviderError>
}

/**
 * A provider. A capability that it lacks is absent.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import type { Provider } from "@model-gateway/providers/Provider"
 *
 * const rank = (provider: Provider, query: string, texts: ReadonlyArray<string>) =>
 *   provider.rerank?.({ model: "sandbox/bm25", query, documents: texts.map((text) => ({ text })) }) ??
 *   Effect.die(`${provider.name} does not rank`)
 * ```
 *
 * @since 0.1.0
 */
export interface Provider {
  /** As callers write it in `provider.order`, `provider.only` and the keys of `provider.options`. */
  readonly name: string
  readonly models: ReadonlyArray<Model>
  /**
   * Whether the models run in the gateway's own process. Such a provider cannot be down: a call
   * that runs out of time was asked for too much, so the failure is the caller's and does not open
   * the circuit for others. Default: false.
   */
  readonly inProcess?: boolean
  readonly rerank?: (request: RerankRequest) => Effect.Effect<RerankResponse, ProviderError>
  readonly transcribe?: (request: TranscriptionRequest) => Effect.Effect<TranscriptionResponse, ProviderError>
  readonly video?: VideoCapability
}
