/**
 * Whether this process can serve, from the checks of its parts: the database, the object store, the
 * rate limits.
 *
 * Each part registers itself. `/readyz` asks for the report. Requests within a second, or longer
 * where a check is expensive, share one run of it, so that frequent requests cause no load.
 */
import { Context, Data, Deferred, Duration, Effect, Layer, type Scope } from "effect"
import * as MonotonicTime from "../internal/MonotonicTime.ts"
import * as LogEvent from "../log/LogEvent.ts"

/**
 * - `ready`: it works.
 * - `degraded`: it fails, and the process still serves requests that do not need it.
 * - `unavailable`: it fails, and the process cannot serve.
 */
export type Status = "ready" | "degraded" | "unavailable"

/** The state of one part. */
export interface PartReport {
  readonly status: Status
  /** Why it fails. */
  readonly message?: string
}

/** The state of the process: that of the part in the worst state. */
export interface Report {
  readonly status: Status
  readonly parts: Readonly<Record<string, PartReport>>
}

/** The reason why a part fails. Callers without a key can read it: no address, path or secret. */
export interface Failure {
  readonly message: string
}

/** A part of the process. */
export interface Part {
  /** In snake case, as `/readyz` shows it: `object_store`. */
  readonly name: string
  /** Fails with the reason while the part does not work. */
  readonly check: Effect.Effect<void, Failure>
  /** Whether the process cannot serve without it. */
  readonly isRequired: boolean
}

/** Frequency and time limit of a check. */
export interface Options {
  /** How long a success is reused. A failure is for at most 1 second. Default: 1 second. */
  readonly every?: Duration.Input | undefined
  /** A check that takes longer counts as failed. Default: 2 seconds. */
  readonly limit?: Duration.Input | undefined
}

/** The parts of this process. */
export class Readiness extends Context.Service<
  Readiness,
  {
    /** Adds a part until the scope closes. */
    readonly register: (part: Part, options?: Options) => Effect.Effect<void, never, Scope.Scope>
    /** Checks all parts at the same time. Logs when a part fails and when it works again. */
    readonly report: Effect.Effect<Report>
  }
>()("@model-gateway/server/observability/Readiness") {}

/** The process cannot serve (status 503 of `/readyz`). `parts` is missing while it stops. */
export class NotReady extends Data.TaggedError("NotReady")<{
  readonly message: string
  readonly status: "unavailable" | "stopping"
  readonly parts?: Report["parts"]
}> {}

/** The name of a part in a sentence. */
export const words = (name: string): string => `the ${name.replaceAll("_", " ")}`

/** How long a failure is reused, in milliseconds. */
const retryAfter = 1000

/**
 * Shares runs of a check: at most one runs at a time, and at most one per `every` while it succeeds
 * and per second while it fails. A check that
 * hangs is not started again until it ends. Until then, every caller fails after `limit`, because
 * `subject` does not answer.
 */
export const shared = Effect.fnUntraced(function* <E>(
  subject: string,
  check: Effect.Effect<void, E>,
  options?: Options
): Effect.fn.Return<Effect.Effect<void, E | Failure>, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const every = Duration.toMillis(Duration.fromInputUnsafe(options?.every ?? "1 second"))
  const limit = Duration.toMillis(Duration.fromInputUnsafe(options?.limit ?? "2 seconds"))
  const late: Failure = { message: `${subject} did not answer within ${limit} milliseconds.` }
  let run: { readonly startedAt: number; readonly ended: Deferred.Deferred<void, E>; reusedFor: number } | undefined

  return Effect.gen(function* () {
    const now = yield* MonotonicTime.millis
    if (run === undefined || (Deferred.isDoneUnsafe(run.ended) && now - run.startedAt >= run.reusedFor)) {
      const ended = Deferred.makeUnsafe<void, E>()
      const started = { startedAt: now, ended, reusedFor: Math.min(every, retryAfter) }
      run = started
      // In a separate fiber: a write that waits for a lock cannot be interrupted, and others share
      // the result.
      const learning = Effect.tap(check, () =>
        Effect.sync(() => {
          started.reusedFor = every
        })
      )
      yield* Effect.forkIn(Deferred.complete(ended, learning), scope)
    }
    const { ended, startedAt } = run
    return yield* Effect.timeoutOrElse(Deferred.await(ended), {
      duration: Math.max(0, startedAt + limit - now),
      orElse: () => Effect.fail(late)
    })
  })
})

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

const worst = (reports: ReadonlyArray<PartReport>): Status =>
  (["unavailable", "degraded"] as const).find((status) => reports.some((part) => part.status === status)) ?? "ready"

/** Makes the service, without parts. */
export const make = Effect.sync(() => {
  const parts = new Map<string, Effect.Effect<PartReport>>()

  const register = Effect.fnUntraced(function* ({ check, isRequired, name }: Part, options?: Options) {
    const once = yield* shared(capitalized(words(name)), check, options)
    let isServing = true
    const change = (failure: Failure | undefined) =>
      Effect.suspend(() => {
        if ((failure === undefined) === isServing) return Effect.void
        isServing = failure === undefined
        return failure === undefined
          ? LogEvent.log("part_recovered", `/readyz: ${words(name)} answers again`, { part: name })
          : LogEvent.log("part_failed", `/readyz: ${words(name)} cannot serve. ${failure.message}`, { part: name })
      })
    const report = Effect.matchEffect(once, {
      onSuccess: () => Effect.as(change(undefined), { status: "ready" as const }),
      onFailure: (failure) =>
        Effect.as(change(failure), {
          status: isRequired ? ("unavailable" as const) : ("degraded" as const),
          message: failure.message
        })
    })
    yield* Effect.acquireRelease(
      Effect.sync(() => parts.set(name, report)),
      () => Effect.sync(() => parts.delete(name))
    )
  })

  return Readiness.of({
    register,
    report: Effect.suspend(() =>
      Effect.map(Effect.all(Object.fromEntries(parts), { concurrency: "unbounded" }), (reports): Report => ({
        status: worst(Object.values(reports)),
        parts: reports
      }))
    )
  })
})

/** The readiness of this process, without parts. */
export const layer: Layer.Layer<Readiness> = Layer.effect(Readiness, make)

/**
 * Registers a part while the layer lives.
 *
 * @example
 * ```ts
 * import { Effect, type Layer } from "effect"
 * import * as Readiness from "./Readiness.ts"
 *
 * const Mail: Layer.Layer<never, never, Readiness.Readiness> = Readiness.layerPart(
 *   Effect.succeed({ name: "mail", check: Effect.fail({ message: "No mail server answers." }), isRequired: false })
 * )
 * ```
 */
export const layerPart = <E, R>(
  part: Effect.Effect<Part, E, R>,
  options?: Options
): Layer.Layer<never, E, Readiness | Exclude<R, Scope.Scope>> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const readiness = yield* Readiness
      yield* readiness.register(yield* part, options)
    })
  )
