/**
 * Tracing metadata: the `trace` field of rerank, transcription and video requests.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { FreeForm } from "./Identifiers.ts"

/**
 * Five keys are known and get special handling; any further key is passed on as
 * it is to the configured broadcast destinations.
 *
 * Specification: "tracing metadata".
 *
 * @example
 * ```ts
 * import type { Metadata } from "@model-gateway/core/Trace"
 *
 * const trace: Metadata = { trace_id: "checkout-7", span_name: "rank", tenant: "acme" }
 * ```
 *
 * @since 0.1.0
 */
export const Metadata = Schema.StructWithRest(
  Schema.Struct({
    trace_id: Schema.optionalKey(Schema.String),
    trace_name: Schema.optionalKey(Schema.String),
    span_name: Schema.optionalKey(Schema.String),
    generation_name: Schema.optionalKey(Schema.String),
    parent_span_id: Schema.optionalKey(Schema.String)
  }),
  [Schema.Record(Schema.String, FreeForm)]
)

/** @since 0.1.0 */
export type Metadata = typeof Metadata.Type
