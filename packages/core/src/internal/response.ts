/** Decodes a response: into the success or the error of the operation's schemas. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type * as SchemaIssue from "effect/SchemaIssue"
import { type Call, InvalidResponse } from "../ClientError.ts"
import { isRetryableStatus, statusOf } from "../GatewayError.ts"
import type { ErrorOf, Operation } from "../Operation.ts"
import { type AttemptFailure, requestFailure } from "./attempt.ts"

/** The failure of an attempt whose response violates the contract in the described way. */
const invalid = (response: HttpClientResponse, description: string): AttemptFailure<never> => ({
  reason: isRetryableStatus(response.status) ? response.status : undefined,
  status: response.status,
  error: (call) =>
    Effect.succeed(
      new InvalidResponse({
        ...call,
        status: response.status,
        requestId: response.headers["x-request-id"],
        description
      })
    )
})

export const readText = (response: HttpClientResponse): Effect.Effect<string, AttemptFailure<never>> =>
  Effect.mapError(response.text, requestFailure)

/** Returns undefined if the text is not JSON. No JSON text parses to undefined. */
const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const successDecoder = <E extends Operation>(endpoint: E) => {
  const decode = decoder<E["success"]["Type"]>(endpoint.success)
  return (response: HttpClientResponse): Effect.Effect<E["success"]["Type"], AttemptFailure<E>> =>
    Effect.flatMap(readText(response), (text) => {
      const json = parse(text)
      if (json === undefined) {
        return Effect.fail({ ...invalid(response, "a body that is not JSON"), reason: undefined })
      }
      return Effect.mapError(decode(json), (error) => ({
        // The work is done and may have been charged: a retry would only repeat it.
        ...invalid(response, `a body that does not match the contract ${where(error)}`),
        reason: undefined
      }))
    })
}

/**
 * Chooses the error class by status, and adds data from the headers and the client to its envelope.
 */
export const onStatus = Effect.fnUntraced(function* <E extends Operation>(
  endpoint: E,
  response: HttpClientResponse,
  text: string
): Effect.fn.Return<never, AttemptFailure<E>> {
  const schema = endpoint.error.find((each) => statusOf(each) === response.status)
  const envelope = parse(text)
  const retryAfter = retryAfterOf(response, envelope, yield* Clock.currentTimeMillis)
  if (schema === undefined || !isEnvelope(envelope)) {
    const description =
      schema === undefined ? "a status that the operation does not return" : "a body that is not an error envelope"
    return yield* Effect.fail({ ...invalid(response, description), retryAfter })
  }
  const decode = decoder<ErrorOf<E>>(schema)
  return yield* Effect.fail({
    reason: isRetryableStatus(response.status) ? response.status : undefined,
    status: response.status,
    retryAfter,
    error: (call: Call) =>
      Effect.catch(decode(complete(envelope, response, retryAfter, call)), () =>
        invalid(response, "a body that is not an error envelope").error(call)
      )
  })
})

type Envelope = { readonly error: object; readonly service_metadata?: unknown }

const isEnvelope = (json: unknown): json is Envelope =>
  Predicate.hasProperty(json, "error") && Predicate.isObject(json.error)

const complete = (
  envelope: Envelope,
  response: HttpClientResponse,
  retryAfter: number | undefined,
  { idempotencyKey, ...call }: Call
): unknown => {
  const metadata = {
    ...(retryAfter === undefined ? undefined : { retry_after: retryAfter }),
    ...objectAt(envelope.error, "metadata")
  }
  const requestId = response.headers["x-request-id"]
  const serviceMetadata = {
    ...(requestId === undefined ? undefined : { request_id: requestId }),
    ...objectAt(envelope, "service_metadata")
  }
  return {
    ...envelope,
    error: { ...envelope.error, metadata },
    service_metadata: serviceMetadata,
    ...call,
    ...(idempotencyKey === undefined ? undefined : { idempotencyKey })
  }
}

const objectAt = (self: object, key: string): object | undefined =>
  Predicate.hasProperty(self, key) && Predicate.isObject(self[key]) ? self[key] : undefined

/**
 * Seconds to wait, from the `Retry-After` header or else from the envelope. A date in the header is
 * compared with the response's `Date`, or with the local clock if a browser hides that header.
 */
const retryAfterOf = (response: HttpClientResponse, envelope: unknown, now: number): number | undefined => {
  const header = response.headers["retry-after"]
  if (header !== undefined) {
    const date = response.headers["date"]
    // `Date.parse` alone would accept "-3" as a day in March 2001.
    const seconds = /^\d+$/.test(header)
      ? Number(header)
      : header.endsWith("GMT")
        ? (Date.parse(header) - (date === undefined ? now : Date.parse(date))) / 1000
        : undefined
    if (seconds !== undefined && seconds >= 0) return seconds
  }
  const metadata = isEnvelope(envelope) ? objectAt(envelope.error, "metadata") : undefined
  const seconds = Predicate.hasProperty(metadata, "retry_after") ? metadata.retry_after : undefined
  return typeof seconds === "number" && seconds >= 0 ? seconds : undefined
}

/** The path of the first value in the body that does not match. */
const where = (error: Schema.SchemaError): string => {
  const path: Array<string> = []
  let issue: SchemaIssue.Issue | undefined = error.issue
  while (issue !== undefined) {
    if (issue._tag === "Pointer") path.push(...issue.path.map(String))
    issue = "issues" in issue ? issue.issues[0] : "issue" in issue ? issue.issue : undefined
  }
  return path.length === 0 ? "at its root" : `at ${path.join(".")}`
}

const decoder = <A>(schema: Schema.Codec<A, unknown>) => Schema.decodeUnknownEffect(schema)
