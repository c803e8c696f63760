/**
 * The policy by which failed calls are retried: when, after what delay, and for how long. The
 * client applies it in `internal/execute.ts` and `internal/delays.ts`.
 *
 * The client retries the statuses 408, 429, 502, 503, 504, 524 and 529, connection failures (unless
 * the certificate was not accepted) and attempts that timed out. It retries nothing else. A POST
 * that is not safe to repeat (it creates something and has no idempotency key) is retried only
 * after a 429 or a 503, which guarantee that nothing was done.
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
 * @category models
 * @since 0.1.0
 */
export type RetryReason = RetryableStatus | "transport" | "timeout"

/**
 * @category models
 * @since 0.1.0
 */
export interface RetryPolicy {
  /** The maximum number of retries after the first attempt. 0: no retries. */
  readonly maxRetries: number
  /**
   * Time limit for all attempts and the delays between them. No delay begins that would exceed it.
   * The time in which an upload makes progress does not count.
   */
  readonly deadline: Duration.Duration
  /**
   * Time limit of one attempt, without the time in which its upload makes progress. Undefined: the
   * operation's own, which is longer than the service takes by default.
   */
  readonly attemptTimeout: Duration.Duration | undefined
  /** The longest time without progress of an upload, or of a response that is a stream of bytes. */
  readonly stallTimeout: Duration.Duration
  /** The longest `Retry-After` that the client waits for. A longer one fails the call at once. */
  readonly maxRetryAfter: Duration.Duration
  /** Whether to wait only as long as {@link schedule} says. For tests. */
  readonly ignoreRetryAfter: boolean
  /**
   * The delays for each reason. If the service sent `Retry-After`, the longer of the two is used;
   * after a `Retry-After` of 0 the client retries at once.
   */
  readonly schedule: (reason: RetryReason) => Schedule.Schedule<unknown, RetryReason>
}

/**
 * @category options
 * @since 0.1.0
 */
export interface Options {
  /** Default: 3. */
  readonly maxRetries?: number | undefined
  /** Default: 5 minutes. */
  readonly deadline?: Duration.Input | undefined
  /** Default: the operation's own: 330 seconds for a transcription, 90 seconds for all others. */
  readonly attemptTimeout?: Duration.Input | undefined
  /** Default: 60 seconds. */
  readonly stallTimeout?: Duration.Input | undefined
  /** Default: 60 seconds. */
  readonly maxRetryAfter?: Duration.Input | undefined
  /** Default: false. */
  readonly ignoreRetryAfter?: boolean | undefined
  /** Default: {@link defaultSchedule}. */
  readonly schedule?: ((reason: RetryReason) => Schedule.Schedule<unknown, RetryReason>) | undefined
}

const backOff = (first: Duration.Input, maxDelay: Duration.Duration): Schedule.Schedule<unknown, RetryReason> =>
  Schedule.exponential(first).pipe(
    Schedule.modifyDelay(({ duration }) => Effect.succeed(Duration.min(duration, maxDelay))),
    Schedule.jittered
  )

const throttled = backOff("1 second", Duration.seconds(30))
const unavailable = backOff("250 millis", Duration.seconds(10))

/**
 * Exponential backoff with 20 % jitter: from 1 s to 30 s when the service is overloaded (429, 529),
 * from 250 ms to 10 s for all other reasons.
 *
 * @category delays & timeouts
 * @since 0.1.0
 */
export const defaultSchedule = (reason: RetryReason): Schedule.Schedule<unknown, RetryReason> =>
  reason === 429 || reason === 529 ? throttled : unavailable

/**
 * Makes a policy. Omitted options have their defaults.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options = {}): RetryPolicy => ({
  maxRetries: options.maxRetries ?? 3,
  deadline: Duration.fromInputUnsafe(options.deadline ?? "5 minutes"),
  attemptTimeout: options.attemptTimeout === undefined ? undefined : Duration.fromInputUnsafe(options.attemptTimeout),
  stallTimeout: Duration.fromInputUnsafe(options.stallTimeout ?? "60 seconds"),
  maxRetryAfter: Duration.fromInputUnsafe(options.maxRetryAfter ?? "60 seconds"),
  ignoreRetryAfter: options.ignoreRetryAfter ?? false,
  schedule: options.schedule ?? defaultSchedule
})

/**
 * A policy without retries, with the default deadline.
 *
 * @category constants
 * @since 0.1.0
 */
export const none: RetryPolicy = make({ maxRetries: 0 })

/**
 * The current policy. Default: `make()`.
 *
 * @category references
 * @since 0.1.0
 */
export const RetryPolicy = Context.Reference<RetryPolicy>("@model-gateway/core/RetryPolicy", {
  defaultValue: constant(make())
})

/**
 * The call and the attempt that a request belongs to, for an `HttpClient` that counts, records or
 * labels requests.
 *
 * @category models
 * @since 0.1.0
 */
export interface Attempt {
  /** The operation's identifier in the contract, such as `rerank`. */
  readonly operation: string
  /** 1 for the first attempt, 2 for the first retry, and so on. */
  readonly number: number
  /**
   * Whether the request is a long poll: the service answers when something changes. Such a request
   * should not occupy a connection that short calls wait for.
   */
  readonly isLongPoll: boolean
}

/**
 * The attempt that the `HttpClient` is executing. Undefined outside a call of the client.
 *
 * @category references
 * @since 0.1.0
 */
export const CurrentAttempt = Context.Reference<Attempt | undefined>("@model-gateway/core/RetryPolicy/CurrentAttempt", {
  defaultValue: constUndefined
})
