/** How an attempt fails, and the errors of attempts that got no response. */
import * as Effect from "effect/Effect"
import type { HttpClientError } from "effect/http/HttpClientError"
import { type Call, type ClientError, TimeoutError, TransportError } from "../ClientError.ts"
import type { ErrorOf, Operation } from "../Operation.ts"
import type { RetryReason } from "../RetryPolicy.ts"
import * as Certificate from "./certificate.ts"

/** A failed attempt: whether and when to retry, and the error of the call if it is not retried. */
export interface AttemptFailure<E extends Operation> {
  /** Undefined: do not retry. */
  readonly reason: RetryReason | undefined
  /** The status of the response, if there was one. */
  readonly status?: number | undefined
  /** Seconds to wait, as requested by the service. */
  readonly retryAfter?: number | undefined
  readonly error: (call: Call) => Effect.Effect<ErrorOf<E> | ClientError>
}

export const requestFailure = (error: HttpClientError): AttemptFailure<never> =>
  error.reason._tag === "InvalidUrlError" || error.reason._tag === "EncodeError"
    ? notBuilt(error.reason.cause ?? new Error(`${error.reason.request.url} is not a valid URL`))
    : {
        reason: Certificate.advice(error.reason.cause) === undefined ? "transport" : undefined,
        error: (call) => Effect.succeed(connectionError(error, call))
      }

/** Keeps only the platform's error: Effect's contains the request, and with it the bearer token. */
export const connectionError = ({ reason: { cause } }: HttpClientError, call: Call): TransportError =>
  new TransportError({ ...call, reason: "connection", underlying: cause })

/** Nothing was sent in this attempt. A retry would fail in the same way. */
export const notSent = (reason: "credential" | "request", cause: unknown): AttemptFailure<never> => ({
  reason: undefined,
  error: (call) => Effect.succeed(new TransportError({ ...call, reason, underlying: cause }))
})

/** The request was passed to the `HttpClient`, which could not build it. */
const notBuilt = (cause: unknown): AttemptFailure<never> => ({
  reason: undefined,
  error: (call) => notSent("request", cause).error({ ...call, attempts: call.attempts - 1 })
})

export const timedOut = (limit: TimeoutError["limit"], milliseconds: number): AttemptFailure<never> => ({
  // No time is left for a retry after the deadline.
  reason: limit === "deadline" ? undefined : "timeout",
  error: (call) => Effect.succeed(new TimeoutError({ ...call, limit, milliseconds }))
})
