/**
 * Evaluates alerts. Every process looks for alerts that are due, and one of them evaluates each:
 * see `AlertStore.takeDue`. It runs apart from requests.
 *
 * An alert that cannot be evaluated keeps its state, and is tried again in its next minute.
 */
import { Cause, type Duration, Effect, Layer } from "effect"
import * as Failures from "../http/Failures.ts"
import * as Background from "../internal/Background.ts"
import * as FailureLog from "../observability/FailureLog.ts"
import type { Alert } from "./Alert.ts"
import { AlertStore } from "./AlertStore.ts"
import * as Measure from "./Measure.ts"

/** Alerts that a process takes at a time. It evaluates them one after the other. */
const atOnce = 20

/** Also a defect, such as a row that cannot be read, stops neither other alerts nor the worker. */
const failed = <E>(cause: Cause.Cause<E>): Effect.Effect<void, E> => {
  if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause)
  const message = `Alerts could not be evaluated. ${Failures.describe(Failures.errorOf(cause))}`
  return FailureLog.report({ kind: "alerts", event: "alerts_failed", message })
}

/** Makes the effect that evaluates what is due. Returns the number of alerts. */
export const make = Effect.gen(function* () {
  const store = yield* AlertStore
  const measure = yield* Measure.make

  const evaluate = (alert: Alert) =>
    Effect.flatMap(measure(alert), (measured) => store.evaluated(alert, measured)).pipe(Effect.catchCause(failed))

  return Effect.gen(function* () {
    let total = 0
    while (true) {
      const due = yield* store.takeDue(atOnce)
      for (const alert of due) yield* evaluate(alert)
      total += due.length
      if (due.length < atOnce) return total
    }
  })
})

/**
 * Evaluates as long as the layer lives. It looks for due alerts at an interval (default: 10
 * seconds), and when this process has changed one.
 */
export const layerBackground = (options?: { readonly every?: Duration.Input | undefined }) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { awaitChange } = yield* AlertStore
      const work = yield* make
      yield* work.pipe(
        Effect.catchCause(failed),
        Effect.andThen(Effect.raceFirst(awaitChange, Effect.sleep(options?.every ?? "10 seconds"))),
        Effect.forever,
        Effect.forkScoped
      )
    })
  )

/** Deletes old firings, at the start and then at an interval: 10 minutes. */
export const layerRetention: Layer.Layer<never, never, AlertStore> = Background.layer({
  work: Effect.flatMap(AlertStore, ({ purge }) => purge),
  every: "10 minutes",
  failure: "Old firings of alerts could not be deleted"
})
