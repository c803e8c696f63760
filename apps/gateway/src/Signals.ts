/** Signals that ask a process for something else than its end. */
import { Context, Effect, Queue, type Scope } from "effect"
import { EventEmitter } from "node:events"

/** What they ask for. SIGHUP: read the settings again. SIGUSR2: replace the worker processes. */
export interface Events {
  readonly reload: []
  readonly restart: []
}

/** The signals of this process. Default: it receives no signals. */
export const Signals = Context.Reference<EventEmitter<Events>>("@model-gateway/gateway/Signals", {
  defaultValue: () => new EventEmitter()
})

/** Calls the listener at each signal of this kind until the scope closes. */
export const on = (kind: keyof Events, listener: () => void): Effect.Effect<void, never, Scope.Scope> =>
  Effect.flatMap(Signals, (signals) =>
    Effect.acquireRelease(
      Effect.sync(() => void signals.on(kind, listener)),
      () => Effect.sync(() => void signals.off(kind, listener))
    )
  )

/** The signals of this kind until the scope closes. Those that nobody has taken count as one. */
export const queue = Effect.fnUntraced(function* (kind: keyof Events) {
  const signals = yield* Queue.sliding<void>(1)
  yield* on(kind, () => void Queue.offerUnsafe(signals, undefined))
  return signals
})
