/** Background work of a layer. */
import { type Duration, Effect, Layer, Schedule } from "effect"
import * as LogEvent from "../log/LogEvent.ts"

/**
 * Runs `work` when the layer is built and again each time `every` has passed since the last run, as
 * long as the layer lives. A run that fails is logged with the message `failure`, as the event
 * `event` (default: `purge_failed`). The next run follows as usual.
 */
export const layer = <A, E extends { readonly message: string }, R>(options: {
  readonly work: Effect.Effect<A, E, R>
  readonly every: Duration.Input
  readonly failure: string
  readonly event?: LogEvent.Event
}): Layer.Layer<never, never, R> =>
  Layer.effectDiscard(
    options.work.pipe(
      Effect.catch((error) => LogEvent.log(options.event ?? "purge_failed", `${options.failure}: ${error.message}`)),
      Effect.repeat(Schedule.spaced(options.every)),
      Effect.forkScoped
    )
  )
