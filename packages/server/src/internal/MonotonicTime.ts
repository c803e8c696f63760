/**
 * Monotonic time, for durations within this process. A change of the system clock does not affect
 * it.
 */
import { Clock, Effect } from "effect"

/** The monotonic time of a clock, as {@link millis} has it. */
export const millisOf = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe()) / 1e6

/**
 * Milliseconds, with fractions, since an arbitrary moment. Only differences within this process are
 * meaningful.
 */
export const millis: Effect.Effect<number> = Clock.clockWith((clock) => Effect.succeed(millisOf(clock)))

/**
 * Runs an effect whose current time in milliseconds is monotonic. For modules of Effect that
 * measure durations by the system clock, such as `Cache` and `RateLimiter`. Spans keep the time of
 * the system clock, because they read nanoseconds.
 */
export const provide = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Clock.clockWith((clock) =>
    Effect.provideService(effect, Clock.Clock, {
      currentTimeMillisUnsafe: () => millisOf(clock),
      currentTimeMillis: Effect.sync(() => millisOf(clock)),
      currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe(),
      currentTimeNanos: clock.currentTimeNanos,
      monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
      monotonicTimeNanos: clock.monotonicTimeNanos,
      sleep: (duration) => clock.sleep(duration)
    })
  )
