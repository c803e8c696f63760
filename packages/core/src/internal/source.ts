/** The requests of a download. */
import type * as Effect from "effect/Effect"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import type { Call } from "../ClientError.ts"
import type { RetryPolicy } from "../RetryPolicy.ts"
import type { Retry } from "./observer.ts"
import type { Request } from "./request.ts"

/**
 * A response whose body has not been read.
 *
 * @category models
 * @since 0.1.0
 */
export interface Opened {
  readonly response: HttpClientResponse
  /** `attempts` counts all requests so far. */
  readonly call: Call
}

/**
 * Sends the requests whose responses make up one stream of bytes.
 *
 * @category models
 * @since 0.1.0
 */
export interface Source<E> {
  /** The policy of the call. */
  readonly policy: RetryPolicy
  /** Sends a request after `attempts` others, and retries it at most `maxRetries` times. */
  readonly send: (request: Request, attempts: number, maxRetries: number) => Effect.Effect<Opened, E>
  /** Records that another request follows. */
  readonly onRetry: (retry: Retry) => Effect.Effect<void>
}
