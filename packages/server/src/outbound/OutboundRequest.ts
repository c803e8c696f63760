/**
 * Sends one request to a URL of a caller, with limits on what the receiver can cost: 15 seconds,
 * 64 KiB of a response, one more second for its body.
 */
import * as ErrorCode from "@model-gateway/core/unstable/ErrorCode"
import * as RetryAfter from "@model-gateway/core/unstable/RetryAfter"
import { Clock, Duration, Effect, Stream } from "effect"
import { type HttpClient, type HttpClientError, HttpClientRequest, type HttpClientResponse } from "effect/http"
import * as MonotonicTime from "../internal/MonotonicTime.ts"
import { NotPublic } from "./OutboundHttp.ts"

/** The result of a request. */
export interface Outcome {
  /** The status of the response. Null if there was none. */
  readonly status: number | null
  /** Why there was no 2xx response, without any URL, header or text of the receiver. */
  readonly failure?: string | undefined
  /** How long the receiver asks to wait. */
  readonly retryAfter?: Duration.Duration | undefined
  /** The first {@link maxExcerptBytes} of the response's body. Empty for a 2xx response. */
  readonly excerpt: string
  readonly durationMillis: number
}

/** Success is a 2xx within this time (contract, "Webhook"). */
export const timeLimit = Duration.seconds(15)

/**
 * The maximum number of bytes of a response that are read, so that its connection can be used
 * again.
 */
const maxResponseBytes = 65_536

/** The maximum number of bytes of a response that are returned. */
export const maxExcerptBytes = 1024

const retryAfterOf = (
  { headers }: HttpClientResponse.HttpClientResponse,
  now: number
): Duration.Duration | undefined => {
  const wait = RetryAfter.seconds(headers, now)
  return wait === undefined || wait <= 0 ? undefined : Duration.seconds(wait)
}

const reasonOf = ({ reason }: HttpClientError.HttpClientError): string => {
  if (reason.cause instanceof NotPublic) return reason.cause.message
  const { cause } = reason
  // undici has the reason of a failed connection in a code such as ECONNREFUSED.
  return ErrorCode.of(cause) ?? reason._tag
}

/** Some hosts reject requests without one. */
const userAgent = ({ headers }: HttpClientRequest.HttpClientRequest): string => headers["user-agent"] ?? "model-gateway"

/**
 * The start of the response's body. A body that does not end, or breaks, does not change what the
 * status said.
 */
const excerptOf = Effect.fnUntraced(function* (response: HttpClientResponse.HttpClientResponse) {
  const decoder = new TextDecoder()
  let size = 0
  let text = ""
  const read = Stream.runForEach(response.stream, (chunk) => {
    if (size > maxResponseBytes) return Effect.fail("too large" as const)
    if (size < maxExcerptBytes) text += decoder.decode(chunk.subarray(0, maxExcerptBytes - size), { stream: true })
    size += chunk.length
    return Effect.void
  })
  yield* Effect.ignore(Effect.timeout(read, "1 second"))
  return text
})

/** Sends the request once. */
export const send = Effect.fnUntraced(function* (
  client: HttpClient.HttpClient,
  request: HttpClientRequest.HttpClientRequest
): Effect.fn.Return<Outcome> {
  const start = yield* MonotonicTime.millis
  const outcome = yield* Effect.gen(function* () {
    const response = yield* client
      .execute(request.pipe(HttpClientRequest.setHeader("user-agent", userAgent(request))))
      .pipe(Effect.timeout(timeLimit))
    const excerpt = yield* excerptOf(response)
    const { status } = response
    if (status >= 200 && status < 300) return { status, excerpt: "" }
    const retryAfter = retryAfterOf(response, yield* Clock.currentTimeMillis)
    return { status, failure: `status ${status}`, retryAfter, excerpt }
  }).pipe(
    Effect.catch((error) =>
      Effect.succeed({
        status: null,
        failure: error._tag === "TimeoutError" ? "no answer in time" : reasonOf(error),
        excerpt: ""
      })
    ),
    Effect.scoped
  )
  return { ...outcome, durationMillis: Math.round((yield* MonotonicTime.millis) - start) }
})
