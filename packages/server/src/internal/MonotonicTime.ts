/**
 * Monotonic time, for durations within this process. A change of the system clock does not affect
 * it.
 */
import { Clock, Effect } from "effect"

const millisOf = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe()) / 1e6

/**
 * Milliseconds, with fractions, since an arbitrary moment. Only differences within this process are
 * meaningful.
 */
export const millis: Effect.Effect<number> = Clock.clockWith((clock) => Effect.succeed(millisOf(clock)))
