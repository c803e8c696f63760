/**
 * What happened, as webhooks and broadcast report it: a paid request was charged, or failed after
 * it was admitted, or a video job ended.
 *
 * An event contains everything that its readers need, because what it describes may be deleted
 * before it is delivered: the request of a video job is deleted when the job ends.
 */
import { Metadata as TraceMetadata } from "@model-gateway/core/Trace"
import { Job } from "@model-gateway/core/Video"
import { Effect, Schema } from "effect"
import { ProviderAttempt } from "../accounting/ProviderAttempt.ts"

/** What happened. */
export const Event = Schema.Struct({
  /** Unique, and the same however often the event is delivered. */
  id: Schema.String,
  type: Schema.Literals([
    "rerank.completed",
    "rerank.failed",
    "transcription.completed",
    "transcription.failed",
    "video.completed",
    "video.failed",
    "video.cancelled",
    "video.expired"
  ]),
  /** Epoch milliseconds. */
  created_at: Schema.Int,
  workspace_id: Schema.String,
  key_hash: Schema.String,
  model: Schema.String,
  /** The id in the request log. Null for a video job that no upstream accepted. */
  generation_id: Schema.NullOr(Schema.String),
  /** The provider that answered, or the last one that was tried. Null if none was. */
  provider: Schema.NullOr(Schema.String),
  /** The model that answered, as the provider names it. Null if none did. */
  upstream_model: Schema.NullOr(Schema.String),
  /**
   * The HTTP status of the error that the caller got; 499 if the caller disconnected first. Null
   * for a success and for a video job, whose `job` has its own `error`.
   */
  error_status: Schema.NullOr(Schema.Int).pipe(Schema.withDecodingDefaultKey(Effect.succeed(null))),
  /** In micro-credits. */
  cost_micro: Schema.Int,
  is_byok: Schema.Boolean,
  /** What the request contains: the `documents` of a rerank, the `seconds` of a transcription. */
  input: Schema.Record(Schema.String, Schema.Finite).pipe(Schema.withDecodingDefaultKey(Effect.succeed({}))),
  /** Counts such as `search_units`, `total_tokens` or `seconds`. Empty if nothing was charged. */
  usage: Schema.Record(Schema.String, Schema.Finite),
  /** The request's `user`. */
  user: Schema.NullOr(Schema.String),
  /** The request's `trace`. */
  trace: Schema.NullOr(TraceMetadata),
  /** When the request was admitted, in epoch milliseconds. */
  started_at: Schema.Int,
  /** From its admission to its end. */
  duration_ms: Schema.Int,
  /** The attempts at providers, in order. */
  attempts: Schema.Array(ProviderAttempt),
  /** The video job as it ended. Null for other requests. */
  job: Schema.NullOr(Job),
  /** Where to report the end of the job. */
  callback_url: Schema.NullOr(Schema.String)
})

/** What happened. */
export type Event = typeof Event.Type

/** The id of the one event that reports what a reservation with this id led to. */
export const idOf = (reservationId: string): string => `evt_${reservationId}`
