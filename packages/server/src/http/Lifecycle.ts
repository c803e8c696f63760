/**
 * Whether the service is stopping. `/readyz` then answers 503, each response closes its connection,
 * and long polls end. Requests are accepted until the HTTP server closes.
 */
import { Context, Effect, Latch, Layer } from "effect"

/** The state of this process's service. */
export class Lifecycle extends Context.Service<
  Lifecycle,
  {
    readonly isStopping: boolean
    /** Marks the service as stopping. */
    readonly stop: Effect.Effect<void>
    /** Waits until the service is stopping. */
    readonly awaitStop: Effect.Effect<void>
  }
>()("@model-gateway/server/http/Lifecycle") {}

/** A service that runs until it is stopped. */
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

/**
 * Marks the service as stopping before any other layer closes. Provide it on top of the layer that
 * serves.
 */
export const layerStopFirst: Layer.Layer<never, never, Lifecycle> = Layer.effectDiscard(
  Effect.flatMap(Lifecycle, (lifecycle) => Effect.addFinalizer(() => lifecycle.stop))
)
