/**
 * Decides when a failed call is retried, after what delay, and for how long.
 *
 * The client retries the statuses 429, 502, 503, 504, 524 and 529, connection failures and attempts
 * that timed out. It retries nothing else. A POST that is not safe to repeat (it creates something
 * and has no idempotency key) is retried only after a 429 or a 503, which guarantee that nothing
 * was done.
 *
 * `RetryPolicy` is a `Context.Reference`: it has a default, and you can set it for a layer or for a
 * single call.
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
 * Why a call is retried.
 *
 * @since 0.1.0
 */
export type RetryReason = RetryableStatus | "transport" | "timeout"

/**
 * @since 0.1.0
 */
export interface RetryPolicy {
  /** The maximum number of retries after the first attempt. 0: no retries. */
  readonly maxRetries: number
  /**
   * Time limit for all attempts and the delays between them. No delay begins that would exceed it.
   */
  readonly deadline: Duration.Duration
  /** Time limit for one attempt. Undefined: the rest of the deadline. */
  readonly attemptTimeout: Duration.Duration | undefined
  /** The longest delay that a `Retry-After` of the service can cause. */
  readonly maxRetryAfter: Duration.Duration
  /**
   * The delays for each reason. If the service sent `Retry-After`, the longer of the two is used.
   */
  readonly schedule: (reason: RetryReason) => Schedule.Schedule<unknown, RetryReason>
}

/**
 * @since 0.1.0
 */
export interface Options {
  /** Default: 3. */
  readonly maxRetries?: number | undefined
  /** Default: 5 minutes. */
  readonly deadline?: Duration.Input | undefined
  /** Default: the rest of the deadline. */
  readonly attemptTimeout?: Duration.Input | undefined
  /** Default: 60 seconds. */
  readonly maxRetryAfter?: Duration.Input | undefined
  /** Default: {@link defaultSchedule}. */
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
 * Exponential backoff with 20 % jitter: from 1 s to 30 s when the service is overloaded (429, 529),
 * from 250 ms to 10 s for all other reasons.
 *
 * @since 0.1.0
 */
export const defaultSchedule = (reason: RetryReason): Schedule.Schedule<unknown, RetryReason> =>
  reason === 429 || reason === 529 ? throttled : unavailable

/**
 * Makes a policy. Omitted options have their defaults.
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
 * A policy without retries, with the default deadline.
 *
 * @since 0.1.0
 */
export const none: RetryPolicy = make({ maxRetries: 0 })

/**
 * The current policy. Default: `make()`.
 *
 * @since 0.1.0
 */
export const RetryPolicy = Context.Reference<RetryPolicy>("@model-gateway/core/RetryPolicy", {
  defaultValue: constant(make())
})

/**
 * The call and the attempt that a request belongs to, for an `HttpClient` that counts, records or
 * labels requests.
 *
 * @since 0.1.0
 */
export interface Attempt {
  /** The operation's identifier in the contract, such as `rerank`. */
  readonly operation: string
  /** 1 for the first attempt, 2 for the first retry, and so on. */
  readonly number: number
}

/**
 * The attempt that the `HttpClient` is executing. Undefined outside a call of the client.
 *
 * @since 0.1.0
 */
export const CurrentAttempt = Context.Reference<Attempt | undefined>("@model-gateway/core/RetryPolicy/CurrentAttempt", {
  defaultValue: constUndefined
})
