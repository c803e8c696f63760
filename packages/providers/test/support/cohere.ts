import { Cause, Effect, Exit, Logger, References, type Scope, Tracer } from "effect"
import { inspect } from "node:util"
import { startCohereDouble } from "./CohereDouble.mjs"
import type { Double } from "./Double.mjs"

export const key = "co-secret-0123456789"

/** A double of Cohere's API that accepts {@link key}, for the scope. */
export const double: Effect.Effect<Double, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(() => startCohereDouble({ keys: [key] })),
  (double) => Effect.promise(() => double.close())
)

/** Waits for something that happens on a socket. */
export const until = (isDone: () => boolean): Effect.Effect<void> =>
  Effect.gen(function* () {
    while (!isDone()) yield* Effect.promise(() => new Promise<void>((resolve) => setTimeout(resolve, 5)))
  })

/** Everything that an operator or a caller could see of a value. */
export const shown = (value: unknown): string => {
  const json = JSON.stringify(value, (_, part: unknown) => (typeof part === "bigint" ? String(part) : part))
  return [inspect(value, { depth: Infinity, showHidden: true, getters: true }), json, String(value)].join("\n")
}

/** Runs an effect, and returns what it logged, its spans, and its result, as text. */
export const recorded = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<string, never, R> =>
  Effect.gen(function* () {
    const seen: Array<string> = []
    const spans: Array<Tracer.NativeSpan> = []
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    })
    const logger = Logger.make(({ cause, message }) => {
      seen.push(shown([message, cause]), Cause.pretty(cause))
    })
    const exit = yield* effect.pipe(
      Effect.tapCause((cause) => Effect.logError("failed", cause)),
      Effect.exit,
      Effect.withTracer(tracer),
      Effect.provideService(References.MinimumLogLevel, "All"),
      Effect.provide(Logger.layer([logger]))
    )
    for (const { attributes, events, name, status } of spans) {
      // Exporters send the failure of a span, but not its result.
      const failure = status._tag === "Ended" && Exit.isFailure(status.exit) ? status.exit.cause : undefined
      seen.push(shown([name, [...attributes], events, failure]))
    }
    return [...seen, shown(exit)].join("\n")
  })
