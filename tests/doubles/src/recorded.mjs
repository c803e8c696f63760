// What tests of several packages look at: everything that an operator or a caller could see.
import { Cause, Effect, Exit, Logger, References, Tracer } from "effect"
import { inspect } from "node:util"

export const until = (isDone) =>
  Effect.gen(function* () {
    while (!isDone()) yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 5)))
  })

export const shown = (value) => {
  const json = JSON.stringify(value, (_, part) => (typeof part === "bigint" ? String(part) : part))
  return [inspect(value, { depth: Infinity, showHidden: true, getters: true }), json, String(value)].join("\n")
}

export const recorded = (effect) =>
  Effect.gen(function* () {
    const seen = []
    const spans = []
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
