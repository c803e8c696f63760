/**
 * The values of `/metrics` that are read when it is asked for, such as counts of rows in the
 * database.
 *
 * Each folder registers what it reads. Requests within a few seconds share one run of each source,
 * and a source that is slow or fails delays no one: its values stay as they are, and
 * `model_gateway_metrics_failures_total` counts it. A source reads only, so that it waits for no
 * writer and no writer waits for it.
 */
import { Context, Duration, Effect, Layer, type Scope } from "effect"
import * as FailureLog from "./FailureLog.ts"
import * as Metrics from "./Metrics.ts"
import * as Readiness from "./Readiness.ts"

/** Something to read. */
export interface Source {
  /** In snake case, for the label `source` and the log: `webhooks`. */
  readonly name: string
  /** Reads the values and sets the gauges. */
  readonly update: Effect.Effect<void, Readiness.Failure>
  /** How long the values are used. Default: 5 seconds. */
  readonly every?: Duration.Duration | undefined
}

/** The sources of this process. */
export class Scrape extends Context.Service<
  Scrape,
  {
    /** Adds a source until the scope closes. */
    readonly register: (source: Source) => Effect.Effect<void, never, Scope.Scope>
    /** Reads all sources at the same time. */
    readonly collect: Effect.Effect<void>
  }
>()("@model-gateway/server/observability/Scrape") {}

const defaultEvery = Duration.seconds(5)

const failed = (name: string, { message }: Readiness.Failure): Effect.Effect<void> =>
  Effect.andThen(
    Metrics.sourceFailed(name),
    FailureLog.report({
      kind: `metrics\n${name}`,
      event: "metrics_stale",
      message: `/metrics: the values of ${name} could not be read and are old. ${message}`
    })
  )

/** Makes the service, without sources. */
export const make = Effect.sync(() => {
  const sources = new Map<string, Effect.Effect<void>>()
  return Scrape.of({
    register: Effect.fnUntraced(function* ({ every = defaultEvery, name, update }: Source) {
      const once = yield* Readiness.shared(`The source ${name}`, update, { every })
      const run = Effect.catch(once, (failure) => failed(name, failure))
      yield* Effect.acquireRelease(
        Effect.sync(() => sources.set(name, run)),
        () => Effect.sync(() => sources.delete(name))
      )
    }),
    collect: Effect.suspend(() => Effect.all(sources.values(), { concurrency: "unbounded", discard: true }))
  })
})

/** The sources of this process, without any. */
export const layer: Layer.Layer<Scrape> = Layer.effect(Scrape, make)

/**
 * Shows in the metrics which parts of `/readyz` work. The check of the database commits one small
 * write, as each request to `/readyz` does.
 */
export const layerReadiness: Layer.Layer<never, never, Scrape | Readiness.Readiness> = Layer.effectDiscard(
  Effect.gen(function* () {
    const scrape = yield* Scrape
    const readiness = yield* Readiness.Readiness
    yield* scrape.register({
      name: "readiness",
      update: Effect.flatMap(readiness.report, ({ parts }) =>
        Effect.forEach(Object.entries(parts), ([part, { status }]) => Metrics.partIsReady(part, status === "ready"), {
          discard: true
        })
      )
    })
  })
)

/**
 * Registers sources while the layer lives.
 *
 * @example
 * ```ts
 * import { Effect, type Layer } from "effect"
 * import * as Metrics from "./Metrics.ts"
 * import * as Scrape from "./Scrape.ts"
 *
 * const Disk: Layer.Layer<never, never, Scrape.Scrape> = Scrape.layerSources(
 *   Effect.succeed([{ name: "disk", update: Metrics.diskFree(1024) }])
 * )
 * ```
 */
export const layerSources = <E, R>(
  sources: Effect.Effect<ReadonlyArray<Source>, E, R>
): Layer.Layer<never, E, Scrape | Exclude<R, Scope.Scope>> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const scrape = yield* Scrape
      for (const source of yield* sources) yield* scrape.register(source)
    })
  )
