/**
 * When a failed call is tried again, after how long, and until when.
 *
 * Tried again are the statuses 429, 502, 503, 504, 524 and 529, failed transports
 * and attempts that ran out of time; nothing else. A POST that is not safe to
 * repeat (one that makes something and carries no idempotency key) is tried again
 * only after a 429 or a 503, which promise that nothing was done.
 *
 * `RetryPolicy` is a reference: it has a default, a layer can set it, and one
 * call can have its own.
 *
 * @example
 * ```ts
 * import { RetryPolicy } from "@model-gateway/core"
 * import { Effect } from "effect"
 *
 * declare const call: Effect.Effect<string>
 *
 * const once = call.pipe(Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.none))
 * const patient = call.pipe(
 *   Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.make({ maxRetries: 5, deadline: "10 minutes" }))
 * )
 * ```
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { constant, constUndefined } from "effect/Function"
import * as Schedule from "effect/Schedule"
import type { RetryableStatus } from "./GatewayError.ts"

/**
 * Why a call is to be tried again.
 *
 * @since 0.1.0
 */
export type RetryReason = RetryableStatus | "transport" | "timeout"

/**
 * @since 0.1.0
 */
export interface RetryPolicy {
  /** Tries after the first; 0 for none. */
  readonly maxRetries: number
  /** Over all attempts and the waits between them. What does not fit into it is not begun. */
  readonly deadline: Duration.Duration
  /** For one attempt; undefined: whatever is left of the deadline. */
  readonly attemptTimeout: Duration.Duration | undefined
  /** The longest that a `Retry-After` of the service is waited for. */
  readonly maxRetryAfter: Duration.Duration
  /** How long to wait, by the reason; where the service said how long, the longer of the two. */
  readonly schedule: (reason: RetryReason) => Schedule.Schedule<unknown, RetryReason>
}

/**
 * @since 0.1.0
 */
export interface Options {
  /** Default 3. */
  readonly maxRetries?: number | undefined
  /** Default 5 minutes. */
  readonly deadline?: Duration.Input | undefined
  /** Default: whatever is left of the deadline. */
  readonly attemptTimeout?: Duration.Input | undefined
  /** Default 60 seconds. */
  readonly maxRetryAfter?: Duration.Input | undefined
  /**
   * Default {@link defaultSchedule}.
   */
  readonly schedule?: ((reason: RetryReason) => Schedule.Schedule<unknown, RetryReason>) | undefined
}

const backOff = (first: Duration.Input, longest: Duration.Duration): Schedule.Schedule<unknown, RetryReason> =>
  Schedule.exponential(first).pipe(
    Schedule.modifyDelay(({ duration }) => Effect.succeed(Duration.min(duration, longest))),
    Schedule.jittered
  )

const throttled = backOff("1 second", Duration.seconds(30))
const unavailable = backOff("250 millis", Duration.seconds(10))

/**
 * Waits that double, with 20 % of jitter: from 1 s to 30 s where the service asked
 * for fewer requests (429, 529), from 250 ms to 10 s where it was out of reach.
 *
 * @since 0.1.0
 */
export const defaultSchedule = (reason: RetryReason): Schedule.Schedule<unknown, RetryReason> =>
  reason === 429 || reason === 529 ? throttled : unavailable

/**
 * A policy; what is left out has the default.
 *
 * @since 0.1.0
 */
export const make = (options: Options = {}): RetryPolicy => ({
  maxRetries: options.maxRetries ?? 3,
  deadline: Duration.fromInputUnsafe(options.deadline ?? "5 minutes"),
  attemptTimeout: options.attemptTimeout === undefined ? undefined : Duration.fromInputUnsafe(options.attemptTimeout),
  maxRetryAfter: Duration.fromInputUnsafe(options.maxRetryAfter ?? "60 seconds"),
  schedule: options.schedule ?? defaultSchedule
})

/**
 * One attempt, no retry, with the default deadline.
 *
 * @since 0.1.0
 */
export const none: RetryPolicy = make({ maxRetries: 0 })

/**
 * The policy in force. Default: `make()`.
 *
 * @since 0.1.0
 */
export const RetryPolicy = Context.Reference<RetryPolicy>("@model-gateway/core/RetryPolicy", {
  defaultValue: constant(make())
})

/**
 * Which attempt of which call a request is: for an `HttpClient` that counts,
 * records or marks its requests. Undefined outside a call of the client.
 *
 * @since 0.1.0
 */
export interface Attempt {
  /** The operation's name in the contract: `rerank`. */
  readonly operation: string
  /** 1 for the first; each retry is one more. */
  readonly number: number
}

/**
 * The attempt that the `HttpClient` is asked to make.
 *
 * @since 0.1.0
 */
export const CurrentAttempt = Context.Reference<Attempt | undefined>("@model-gateway/core/RetryPolicy/CurrentAttempt", {
  defaultValue: constUndefined
})
