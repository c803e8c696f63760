/** How an attempt fails, and the errors of attempts that got no response. */
import * as Effect from "effect/Effect"
import type { HttpClientError } from "effect/http/HttpClientError"
import { type ClientError, TimeoutError, TransportError } from "../ClientError.ts"
import type { ErrorOf, Operation } from "../Operation.ts"
import type { RetryReason } from "../RetryPolicy.ts"

/** A failed attempt: whether and when to retry, and the error of the call if it is not retried. */
export interface AttemptFailure<E extends Operation> {
  /** Undefined: do not retry. */
  readonly reason: RetryReason | undefined
  /** Seconds to wait, as requested by the service. */
  readonly retryAfter?: number | undefined
  readonly error: (attempts: number) => Effect.Effect<ErrorOf<E> | ClientError>
}

export const requestFailure =
  (operation: string) =>
  (error: HttpClientError): AttemptFailure<never> =>
    error.reason._tag === "InvalidUrlError" || error.reason._tag === "EncodeError"
      ? invalidRequest(operation, error.reason.cause ?? new Error(`${error.reason.request.url} is not a valid URL`))
      : {
          reason: "transport",
          error: (attempts) => Effect.succeed(connectionError(operation, error, attempts))
        }

/** Keeps only the platform's error: Effect's contains the request, and with it the bearer token. */
export const connectionError = (operation: string, { reason: { cause } }: HttpClientError, attempts: number) =>
  new TransportError({ operation, reason: "connection", cause, attempts })

/** The request cannot be built. A retry would fail in the same way. */
export const invalidRequest = (operation: string, cause: unknown): AttemptFailure<never> => ({
  reason: undefined,
  error: (attempts) =>
    Effect.succeed(new TransportError({ operation, reason: "request", cause, attempts: attempts - 1 }))
})

export const timedOut = (operation: string, milliseconds: number): AttemptFailure<never> => ({
  reason: "timeout",
  error: (attempts) => Effect.succeed(new TimeoutError({ operation, milliseconds, attempts }))
})
