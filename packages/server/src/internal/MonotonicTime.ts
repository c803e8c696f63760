/**
 * Time that only moves forward: for lengths of time in this process, which a change of the system
 * clock must not stretch.
 */
import { Clock, Effect } from "effect"

const millisOf = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe()) / 1e6

/**
 * Milliseconds, with fractions, since an arbitrary moment. Only differences have a meaning, and
 * only in this process.
 */
export const millis: Effect.Effect<number> = Clock.clockWith((clock) => Effect.succeed(millisOf(clock)))
