/**
 * Whether the service is stopping: then it is no longer ready, and connections are closed as their requests finish.
 */
import { Context, Effect, Latch, Layer } from "effect"

/** The state of this process's service. */
export class Lifecycle extends Context.Service<
  Lifecycle,
  {
    readonly isStopping: boolean
    /** From now on the service is stopping. */
    readonly stop: Effect.Effect<void>
    /** Waits until the service is stopping. */
    readonly awaitStop: Effect.Effect<void>
  }
>()("@model-gateway/server/http/Lifecycle") {}

/** A service that runs until it is told to stop. */
export const layer: Layer.Layer<Lifecycle> = Layer.sync(Lifecycle, () => {
  let isStopping = false
  const stopping = Latch.makeUnsafe()
  return Lifecycle.of({
    get isStopping() {
      return isStopping
    },
    stop: Effect.sync(() => {
      isStopping = true
      stopping.openUnsafe()
    }),
    awaitStop: stopping.await
  })
})

/** Tells the service to stop as the first thing when the layers close: put it on top of the layer that serves. */
export const layerStopFirst: Layer.Layer<never, never, Lifecycle> = Layer.effectDiscard(
  Effect.flatMap(Lifecycle, (lifecycle) => Effect.addFinalizer(() => lifecycle.stop))
)
