/**
 * An upstream provider: a name, a list of models, and up to three capabilities.
 *
 * Requests are already validated against the contract and use its field names. Responses contain
 * nothing specific to the upstream.
 *
 * @since 0.1.0
 */
import type { Effect, Stream } from "effect"
import type { Model } from "./Model.ts"
import type { ProviderError } from "./ProviderError.ts"
import type * as Rerank from "./Rerank.ts"
import type * as Transcription from "./Transcription.ts"
import type * as Video from "./Video.ts"

/** @since 0.1.0 */
export interface RerankRequest extends Rerank.RerankRequest {
  readonly model: string
}

/** @since 0.1.0 */
export interface RerankResponse extends Rerank.RerankResponse {
  readonly total_tokens: number
}

/** @since 0.1.0 */
export interface TranscriptionRequest extends Transcription.TranscriptionRequest {
  readonly model: string
}

/** @since 0.1.0 */
export interface TranscriptionResponse extends Transcription.TranscriptionResponse {
  readonly usage?: { readonly input_tokens?: number; readonly output_tokens?: number }
}

/** @since 0.1.0 */
export interface VideoRequest extends Video.VideoRequest {
  readonly model: string
}

/**
 * The upstream's status of a video.
 *
 * @since 0.1.0
 */
export type VideoStatus =
  | { readonly status: "in_progress"; /** From 0 to 1. */ readonly progress?: number }
  | { readonly status: "completed"; /** How many videos came out. */ readonly outputs: number }
  | { readonly status: "failed"; readonly message: string }

/**
 * One job at an upstream. It includes the request, because a job outlives the process that
 * submitted it, and not every upstream keeps a copy.
 *
 * @since 0.1.0
 */
export interface VideoJob {
  readonly upstreamId: string
  readonly request: VideoRequest
}

/**
 * A video to make, and the token that identifies the submission.
 *
 * @since 0.1.0
 */
export interface VideoSubmission {
  readonly request: VideoRequest
  /**
   * Submissions with the same token are one upstream job: the second one returns the `upstreamId`
   * of the first, and starts and costs nothing more, from any process. A job whose response was
   * lost, because a process or a connection died, is therefore submitted again. The service uses
   * the same token, with the same request, while a job stays with one provider and model, and never
   * the same token for two jobs.
   *
   * At most 64 letters, digits, `_` and `-`, so that it fits in an idempotency header. It contains
   * nothing secret. An adapter whose upstream has no such header must achieve the same in another
   * way, for example by sending the token as the job's metadata and searching for a job with it
   * before submitting.
   */
  readonly token: string
}

/**
 * Video generation: a job is submitted, polled and downloaded. Each step may run in another process
 * than the previous one.
 *
 * @since 0.1.0
 */
export interface VideoCapability {
  /**
   * Checks whether the provider would accept the request, without calling the upstream. The service
   * calls it before it accepts a job, so that an invalid request is rejected at once instead of by
   * a job that fails later.
   */
  readonly check: (request: VideoRequest) => Effect.Effect<void, ProviderError>
  /**
   * Starts the job upstream, once per `token`.
   *
   * `Timeout` and `BadResponse` mean that the upstream may have taken the job: it is submitted
   * again with the same token, to this provider only. Every other reason means that it certainly
   * has not, so the job may go to another provider. A connection that breaks after the request was
   * sent is therefore a `Timeout`, not `Unavailable`.
   */
  readonly submit: (submission: VideoSubmission) => Effect.Effect<{ readonly upstreamId: string }, ProviderError>
  readonly poll: (job: VideoJob) => Effect.Effect<VideoStatus, ProviderError>
  /** The bytes of output `index` of a completed job. */
  readonly content: (job: VideoJob & { readonly index: number }) => Stream.Stream<Uint8Array, ProviderError>
  /** Also succeeds if nothing is left to cancel. */
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
  /** The name that callers use in `provider.order`, `provider.only` and `provider.options`. */
  readonly name: string
  readonly models: ReadonlyArray<Model>
  /**
   * Whether the models run in the gateway's own process. Such a provider cannot be down: if a call
   * times out, the caller asked for too much work, so the failure does not open the circuit for
   * others. Default: false.
   */
  readonly inProcess?: boolean
  readonly rerank?: (request: RerankRequest) => Effect.Effect<RerankResponse, ProviderError>
  readonly transcribe?: (request: TranscriptionRequest) => Effect.Effect<TranscriptionResponse, ProviderError>
  readonly video?: VideoCapability
}
