/**
 * The machine's clock, even if a test provides another one. For waiting for other processes, which
 * do not follow the test's clock.
 */
import { Clock, Effect } from "effect"

/** The machine's clock. */
export const clock: Clock.Clock = Clock.Clock.defaultValue()

/** Runs the effect with the machine's clock. */
export const provide: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> = Effect.provideService(
  Clock.Clock,
  clock
)
