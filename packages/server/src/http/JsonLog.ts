/**
 * The logger that writes lines as JSON ({@link LogLine}). A line that is written while a request is
 * served has its id, operation and key: they are looked up when a line is written, so that a request
 * without one pays nothing.
 */
import { Cause, Context, Formatter, Logger, References } from "effect"
import { ParentSpan } from "effect/Tracer"
import type { LogLine } from "../log/LogLine.ts"
import * as Line from "../log/LogLine.ts"
import { RequestContext } from "./RequestContext.ts"

type Mutable<A> = { -readonly [Field in keyof A]: A[Field] }

type Detail = string | number | boolean

const textOf = (part: unknown): string => {
  if (typeof part === "string") return part
  return part instanceof Error ? `${part.name}: ${part.message}` : Formatter.formatJson(part)
}

const messageOf = (message: unknown): string =>
  Array.isArray(message) ? message.map(textOf).join(": ") : textOf(message)

const detailOf = (value: unknown): Detail =>
  typeof value === "number" || typeof value === "boolean" ? value : textOf(value)

const texts = ["request_id", "operation", "key_hash"] as const
const numbers = ["status", "duration_ms"] as const

/** The line of a log entry. */
export const toLine = ({ cause, date, fiber, logLevel, message }: Logger.Options<unknown>): LogLine => {
  const level = Line.Level.literals.find((name) => name === logLevel.toUpperCase()) ?? "TRACE"
  const { event, ...annotations } = fiber.getRef(References.CurrentLogAnnotations)
  const line: Mutable<LogLine> = {
    time: date.toISOString(),
    level,
    event: typeof event === "string" ? event : "other",
    message: messageOf(message)
  }
  const record = Context.getOrUndefined(fiber.context, RequestContext)
  const operation = record?.endpoint?.identifier
  if (record !== undefined) line.request_id = record.id
  if (operation !== undefined) line.operation = operation
  if (record?.keyHash !== undefined) line.key_hash = record.keyHash
  const details: Record<string, Detail> = {}
  for (const [name, value] of Object.entries(annotations)) {
    const text = texts.find((field) => field === name)
    const number = numbers.find((field) => field === name)
    if (text !== undefined) line[text] = String(value)
    else if (number !== undefined && typeof value === "number") line[number] = value
    else details[name] = detailOf(value)
  }
  const span = Context.getOrUndefined(fiber.context, ParentSpan)
  if (span?.sampled === true) {
    line.trace_id = span.traceId
    line.span_id = span.spanId
  }
  if (cause.reasons.length > 0) line.error = Cause.pretty(cause)
  if (Object.keys(details).length > 0) line.details = details
  return line
}

/** Writes each entry as a line of JSON to stderr. */
export const logger: Logger.Logger<unknown, void> = Logger.withConsoleError(
  Logger.make((options) => Line.format(toLine(options)))
)
