/**
 * Tracing metadata: the `trace` field of rerank, transcription and video requests.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { FreeForm } from "./Identifiers.ts"
import { isMaxBytes, isMaxJsonBytes } from "./internal/bounds.ts"
import { isWithinCharacters } from "./internal/characters.ts"

const maxAdditionalKeys = 64

const maxNameCharacters = 128

const maxValueBytes = 8192

const maxTraceBytes = 65_536

const Text = Schema.String.check(isMaxBytes(maxValueBytes))

const known = {
  /** Identifier of the trace that the request belongs to, at most 8 KiB. */
  trace_id: Schema.optionalKey(Text),
  /** Name of the trace, at most 8 KiB. */
  trace_name: Schema.optionalKey(Text),
  /** Name of the span that the request is in, at most 8 KiB. */
  span_name: Schema.optionalKey(Text),
  /** Name of the request itself, at most 8 KiB. */
  generation_name: Schema.optionalKey(Text),
  /** Identifier of the span that the request is a child of, at most 8 KiB. */
  parent_span_id: Schema.optionalKey(Text)
}

/**
 * The keys of {@link Metadata} that have a defined meaning.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Known = Schema.Struct(known)

/**
 * @category models
 * @since 0.1.0
 */
export type Known = { [Field in keyof typeof Known.Type]: (typeof Known.Type)[Field] }

/**
 * Tracing metadata. Five keys have a defined meaning. At most 64 additional keys are passed
 * unchanged to the configured broadcast destinations. A name has at most 128 characters, a value
 * takes at most 8 KiB as JSON, and all of it at most 64 KiB.
 *
 * Specification: "Tracing metadata and end user".
 *
 * @example
 * ```ts
 * import type { Metadata } from "@model-gateway/core/Trace"
 *
 * const trace: Metadata = { trace_id: "checkout-7", span_name: "rank", tenant: "acme" }
 * ```
 *
 * @category schemas
 * @since 0.1.0
 */
export const Metadata = Schema.StructWithRest(Schema.Struct(known), [
  Schema.Record(Schema.String, FreeForm.check(isMaxJsonBytes(maxValueBytes)))
]).check(
  Schema.makeFilter(
    (trace) => Object.keys(trace).filter((key) => !Object.hasOwn(known, key)).length <= maxAdditionalKeys,
    {
      // Not a template: a bundler drops unused calls, and keeps what a template reads.
      expected: `at most ${maxAdditionalKeys} keys besides `.concat(Object.keys(known).join(", "))
    }
  ),
  // The path of the issue is that of `trace`, because a path with the name would be as long as it.
  Schema.makeFilter((trace) => Object.keys(trace).every((name) => isWithinCharacters(name, maxNameCharacters)), {
    expected: `names of at most ${maxNameCharacters} characters`
  }),
  isMaxJsonBytes(maxTraceBytes)
)

/**
 * @category models
 * @since 0.1.0
 */
export type Metadata = typeof Metadata.Type
