/** Computes the delay before each retry. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type { RetryPolicy, RetryReason } from "../RetryPolicy.ts"

/**
 * The delays of one call, in milliseconds. Undefined: do not retry. Each reason has its own
 * schedule, which starts from its beginning.
 */
export const makeNextDelay = (policy: RetryPolicy) => {
  const steps = new Map<RetryReason, Step>()
  return Effect.fnUntraced(function* (
    reason: RetryReason,
    retryAfter: number | undefined
  ): Effect.fn.Return<number | undefined> {
    const step = steps.get(reason) ?? (yield* Schedule.toStep(policy.schedule(reason)))
    steps.set(reason, step)
    const next = yield* step(yield* Clock.currentTimeMillis, reason).pipe(
      Effect.map(([, wait]) => Duration.toMillis(wait)),
      Effect.catch(() => Effect.succeed(undefined))
    )
    if (next === undefined || retryAfter === undefined || policy.ignoreRetryAfter) return next
    const asked = retryAfter * 1000
    return asked > Duration.toMillis(policy.maxRetryAfter) ? undefined : asked === 0 ? 0 : Math.max(next, asked)
  })
}

type Step = Effect.Success<ReturnType<typeof Schedule.toStep<unknown, RetryReason, never, never>>>
