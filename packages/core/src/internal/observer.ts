/** Receives every call and retry of the client, for telemetry. */
import type * as Effect from "effect/Effect"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import type * as Stream from "effect/Stream"
import type { Operation } from "../Operation.ts"
import type { RetryReason } from "../RetryPolicy.ts"
import type { Request } from "./request.ts"

/**
 * A call that begins.
 *
 * @category models
 * @since 0.1.0
 */
export interface Call {
  readonly operation: Operation
  /** The gateway's address. */
  readonly baseUrl: string
  readonly request: Request
}

/**
 * A retry that is about to be made.
 *
 * @category models
 * @since 0.1.0
 */
export interface Retry {
  /** Why: the reason of the retry policy, or 401 after the credential was renewed. */
  readonly reason: RetryReason | 401
  /** Milliseconds until the next attempt. */
  readonly wait: number
  /** The number of the attempt that failed, from 1. */
  readonly attempt: number
}

/**
 * Records one call.
 *
 * @category models
 * @since 0.1.0
 */
export interface Recorder {
  /** Wraps the request of an attempt, which is numbered from 1. */
  readonly attempt: <E, R>(
    request: Effect.Effect<HttpClientResponse, E, R>,
    number: number
  ) => Effect.Effect<HttpClientResponse, E, R>
  readonly retry: (retry: Retry) => Effect.Effect<void>
}

/**
 * Receives every call and retry of the client, for telemetry.
 *
 * @category models
 * @since 0.1.0
 */
export interface Observer {
  /** Wraps a call. */
  readonly call: <A, E, R>(call: Call, run: (recorder: Recorder) => Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Wraps a call whose response is a stream of bytes. It ends with the stream. */
  readonly open: <A, E, E2, R>(
    call: Call,
    run: (recorder: Recorder) => Effect.Effect<Stream.Stream<A, E>, E2, R>
  ) => Effect.Effect<Stream.Stream<A, E>, E2, R>
}
