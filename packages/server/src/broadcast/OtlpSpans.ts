/**
 * Events as OpenTelemetry spans, by the semantic conventions of generative AI
 * (https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/gen-ai-spans.md).
 *
 * An event is one span, with a child span for each attempt at a provider. An event that is sent
 * again has the same ids.
 *
 * Five keys of the request's `trace` have a meaning:
 *
 * - `trace_id` is the trace: 32 hexadecimal digits or a UUID are used as they are, other text is
 *   hashed, so that the same text is the same trace within a workspace;
 * - `parent_span_id` is the parent, if it has 16 hexadecimal digits;
 * - `trace_name` is the attribute `trace.name`;
 * - `span_name` is the name of the span;
 * - `generation_name` is the name of the attempts' spans, and of the span without `span_name`.
 *
 * All other keys become attributes `trace.metadata.<key>`.
 */
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { entriesToAttributes } from "effect/observability/OtlpResource"
import type { TraceData } from "effect/observability/OtlpTracer"
import { hash } from "node:crypto"
import type { Event } from "../events/Event.ts"
import type { Options } from "./Destination.ts"
import { inputTokens, outputTokens } from "./EventFilter.ts"

type Span = TraceData["resourceSpans"][number]["scopeSpans"][number]["spans"][number]

/** The values of the OTLP enumerations that are used. */
const clientKind = 3
const status = { unset: { code: 0 }, ok: { code: 1 }, error: { code: 2 } } as const

/** `generate_content` is the well-known name. The conventions have none for the other two. */
const operationNames: Readonly<Record<string, string>> = { video: "generate_content" }

const hexOf = (length: number, ...parts: ReadonlyArray<string>): string =>
  hash("sha256", parts.join("\n"), "hex").slice(0, length)

const isId = (text: string, length: number): boolean =>
  text.length === length && /^[\da-f]+$/.test(text) && !/^0+$/.test(text)

const traceIdOf = ({ id, trace, workspace_id }: Event): string => {
  const given = trace?.trace_id
  if (given === undefined) return hexOf(32, "trace", id)
  const digits = given.toLowerCase().replaceAll("-", "")
  return isId(digits, 32) ? digits : hexOf(32, "trace", workspace_id, given)
}

const parentOf = ({ trace }: Event): string | undefined => {
  const given = trace?.parent_span_id?.toLowerCase()
  return given !== undefined && isId(given, 16) ? given : undefined
}

const known = new Set(["trace_id", "trace_name", "span_name", "generation_name", "parent_span_id"])

/** Text, numbers and booleans as they are, everything else as JSON. */
const attributeOf = (value: unknown): unknown =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value : JSON.stringify(value)

const metadataOf = ({ trace }: Event): ReadonlyArray<[string, unknown]> =>
  Object.entries(trace ?? {}).flatMap(([key, value]): ReadonlyArray<[string, unknown]> =>
    known.has(key) ? [] : [[`trace.metadata.${key}`, attributeOf(value)]]
  )

/** An integer that has no exact form in OTLP is text: 1e300 cannot be written in 64 bits. */
const exact = (value: unknown): unknown =>
  typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value) ? String(value) : value

/** The attributes that have a value. */
const attributes = (entries: Iterable<readonly [string, unknown]>) =>
  entriesToAttributes(
    Array.from(entries).flatMap(([key, value]): ReadonlyArray<[string, unknown]> =>
      value === undefined || value === null ? [] : [[key, exact(value)]]
    )
  )

const nanos = (millis: number): string => `${Math.round(millis * 1000)}000`

const none = { droppedAttributesCount: 0, events: [], droppedEventsCount: 0, links: [], droppedLinksCount: 0 }

/** The end of the type of an event: `completed`, `failed`, `cancelled` or `expired`. */
const resultOf = ({ type }: Event): string => type.slice(type.indexOf(".") + 1)

const operationOf = ({ type }: Event): string => {
  const operation = type.slice(0, type.indexOf("."))
  return operationNames[operation] ?? operation
}

/**
 * What ended the event: the status that the caller got, or how a job ended. Undefined: no error.
 */
const errorTypeOf = (event: Event): string | undefined => {
  const result = resultOf(event)
  if (result === "completed" || result === "cancelled") return undefined
  return event.error_status === null ? result : String(event.error_status)
}

const rootSpan = (event: Event, options: Options): Span => {
  const { id, job, model, trace } = event
  const operation = operationOf(event)
  const errorType = errorTypeOf(event)
  return {
    ...none,
    traceId: traceIdOf(event),
    spanId: hexOf(16, "span", id),
    parentSpanId: parentOf(event),
    name: trace?.span_name ?? trace?.generation_name ?? `${operation} ${model}`,
    kind: clientKind,
    startTimeUnixNano: nanos(event.started_at),
    endTimeUnixNano: nanos(event.started_at + event.duration_ms),
    attributes: attributes([
      ["gen_ai.operation.name", operation],
      ["gen_ai.provider.name", event.provider],
      ["gen_ai.request.model", model],
      ["gen_ai.response.model", event.upstream_model],
      ["gen_ai.response.id", event.generation_id],
      ["gen_ai.usage.input_tokens", inputTokens(event)],
      ["gen_ai.usage.output_tokens", outputTokens(event)],
      ["gen_ai.usage.cost", MicroCredits.toCredits(event.cost_micro)],
      ...Object.entries(event.usage).map(([name, count]) => [`model_gateway.usage.${name}`, count] as const),
      ...Object.entries(event.input).map(([name, count]) => [`model_gateway.input.${name}`, count] as const),
      ["error.type", errorType],
      ["user.id", event.user],
      ["trace.name", trace?.trace_name],
      ["model_gateway.event.id", id],
      ["model_gateway.event.type", event.type],
      ["model_gateway.workspace.id", event.workspace_id],
      ["model_gateway.job.id", job?.id],
      ["model_gateway.is_byok", options.broadcast_generation_cost ? event.is_byok : undefined],
      ["model_gateway.key.hash", options.broadcast_generation_identity ? event.key_hash : undefined],
      ["model_gateway.callback_url", options.broadcast_generation_request_context ? event.callback_url : undefined],
      ...metadataOf(event)
    ]),
    status:
      errorType === undefined
        ? resultOf(event) === "completed"
          ? status.ok
          : status.unset
        : { ...status.error, ...(job?.error === undefined ? {} : { message: job.error }) }
  }
}

/**
 * The spans of the attempts. Those of a video job have a start, because the gateway may have waited
 * before it tried again. Others have durations only: each starts when the one before it ended.
 */
const attemptSpans = (event: Event, parent: Span, options: Options): ReadonlyArray<Span> => {
  const end = event.started_at + event.duration_ms
  let startedAt = event.started_at
  return event.attempts.map(
    ({ billed, is_byok, outcome, provider, seconds, started_at, status: httpStatus }, index) => {
      const start = Math.min(end, started_at ?? startedAt)
      startedAt = Math.min(end, start + seconds * 1000)
      const isSuccess = outcome === "Success"
      const operation = operationOf(event)
      return {
        ...none,
        traceId: parent.traceId,
        spanId: hexOf(16, "attempt", event.id, String(index)),
        parentSpanId: parent.spanId,
        name: event.trace?.generation_name ?? `${operation} ${provider}`,
        kind: clientKind,
        startTimeUnixNano: nanos(start),
        endTimeUnixNano: nanos(startedAt),
        attributes: attributes([
          ["gen_ai.operation.name", operation],
          ["gen_ai.provider.name", provider],
          ["gen_ai.request.model", event.model],
          ["gen_ai.response.model", isSuccess ? event.upstream_model : undefined],
          ["model_gateway.attempt.number", index + 1],
          ["model_gateway.attempt.billed", billed],
          ["model_gateway.attempt.is_byok", options.broadcast_generation_cost ? is_byok : undefined],
          ["http.response.status_code", httpStatus],
          ["error.type", isSuccess ? undefined : outcome]
        ]),
        status: isSuccess ? status.ok : status.error
      }
    }
  )
}

const resource = { attributes: entriesToAttributes([["service.name", "model-gateway"]]), droppedAttributesCount: 0 }

/** The spans of the events, for one request of OTLP. */
export const make = (events: ReadonlyArray<Event>, options: Options): TraceData => ({
  resourceSpans: [
    {
      resource,
      scopeSpans: [
        {
          scope: { name: "@model-gateway/server" },
          spans: events.flatMap((event) => {
            const root = rootSpan(event, options)
            return [root, ...attemptSpans(event, root, options)]
          })
        }
      ]
    }
  ]
})
