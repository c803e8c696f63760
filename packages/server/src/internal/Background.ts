/** Background work of a layer. */
import { type Duration, Effect, Layer, Schedule } from "effect"

/**
 * Runs `work` when the layer is built and again each time `every` has passed since the last run, as
 * long as the layer lives. A run that fails is logged as a warning with the message `failure`; the
 * next run follows as usual.
 */
export const layer = <A, E extends { readonly message: string }, R>(options: {
  readonly work: Effect.Effect<A, E, R>
  readonly every: Duration.Input
  readonly failure: string
}): Layer.Layer<never, never, R> =>
  Layer.effectDiscard(
    options.work.pipe(
      Effect.catch((error) => Effect.logWarning(options.failure, error.message)),
      Effect.repeat(Schedule.spaced(options.every)),
      Effect.forkScoped
    )
  )
