/**
 * One line of the log as JSON. `docs/reference/log.schema.json` is its JSON Schema.
 *
 * @since 0.1.0
 */
import { JsonSchema, Schema } from "effect"

/** The levels, the most serious one first. */
export const Level = Schema.Literals(["FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE"])

/** A line of the log. It never has a key, another secret, or the contents of a request or response. */
export const LogLine = Schema.Struct({
  time: Schema.String.annotate({ description: "When it was written: ISO 8601, in UTC" }).check(
    Schema.isPattern(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
  ),
  level: Level.annotate({ description: "How serious it is" }),
  event: Schema.String.annotate({
    description: "The name of the event, as docs/operate/logs.md lists them. other: of a library"
  }).check(Schema.isPattern(/^[a-z][a-z0-9_]*$/)),
  message: Schema.String.annotate({ description: "What has happened, for people" }),
  request_id: Schema.optionalKey(
    Schema.String.annotate({ description: "The request that it belongs to: the x-request-id of its response" })
  ),
  operation: Schema.optionalKey(Schema.String.annotate({ description: "The operation of that request" })),
  key_hash: Schema.optionalKey(Schema.String.annotate({ description: "The hash of the API key of that request" })),
  status: Schema.optionalKey(
    Schema.Int.annotate({ description: "The HTTP status of its response; 499 if the caller disconnected" })
  ),
  duration_ms: Schema.optionalKey(
    Schema.Finite.annotate({ description: "Milliseconds from the request's headers to its response" })
  ),
  trace_id: Schema.optionalKey(Schema.String.annotate({ description: "The trace that it belongs to" })),
  span_id: Schema.optionalKey(Schema.String.annotate({ description: "The span that it belongs to" })),
  error: Schema.optionalKey(Schema.String.annotate({ description: "The error, with the places in the source" })),
  details: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Finite, Schema.Boolean])).annotate({
      description: "What else belongs to the event, such as the provider or the id of the video job"
    })
  )
})

/** A line of the log. */
export type LogLine = typeof LogLine.Type

/** The line as JSON, without a line break. */
export const format = (line: LogLine): string => JSON.stringify(line)

/** The JSON Schema of a line. */
export const jsonSchema = (): JsonSchema.JsonSchema => ({
  $schema: JsonSchema.META_SCHEMA_URI_DRAFT_07,
  title: "A line of the log of Model Gateway",
  ...JsonSchema.toDocumentDraft07(Schema.toJsonSchemaDocument(LogLine, { onExcessProperty: "error" })).schema
})
