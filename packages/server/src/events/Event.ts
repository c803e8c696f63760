/**
 * What happened, as webhooks and broadcast report it: a paid request was charged, or a video job
 * ended.
 *
 * An event contains everything that its readers need, because what it describes may be deleted
 * before it is delivered: the request of a video job is deleted when the job ends.
 */
import { Metadata as TraceMetadata } from "@model-gateway/core/Trace"
import { Job } from "@model-gateway/core/Video"
import { Schema } from "effect"

/** One attempt at one provider. */
export const Attempt = Schema.Struct({
  provider: Schema.String,
  /** `Success`, the reason of the failure, or `CircuitOpen` if the provider was not called. */
  outcome: Schema.String,
  seconds: Schema.Finite
})

/** What happened. */
export const Event = Schema.Struct({
  /** Unique, and the same however often the event is delivered. */
  id: Schema.String,
  type: Schema.Literals([
    "rerank.completed",
    "transcription.completed",
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
  /** The id of the usage in the ledger. Null if nothing was charged. */
  generation_id: Schema.NullOr(Schema.String),
  /** Null if no provider was chosen. */
  provider: Schema.NullOr(Schema.String),
  upstream_model: Schema.NullOr(Schema.String),
  /** In micro-credits. */
  cost_micro: Schema.Int,
  is_byok: Schema.Boolean,
  /** Counts such as `search_units`, `total_tokens` or `seconds`. */
  usage: Schema.Record(Schema.String, Schema.Finite),
  /** The request's `user`. */
  user: Schema.NullOr(Schema.String),
  /** The request's `trace`. */
  trace: Schema.NullOr(TraceMetadata),
  /** When the request was admitted, in epoch milliseconds. */
  started_at: Schema.Int,
  /** From its admission to its end. */
  duration_ms: Schema.Int,
  /** The calls of providers, in order. Empty for a video job. */
  attempts: Schema.Array(Attempt),
  /** The video job as it ended. Null for other requests. */
  job: Schema.NullOr(Job),
  /** Where to report the end of the job. */
  callback_url: Schema.NullOr(Schema.String)
})

/** What happened. */
export type Event = typeof Event.Type

/** The id of the one event that reports what a reservation with this id led to. */
export const idOf = (reservationId: string): string => `evt_${reservationId}`
