/** The client's metrics. */
import type * as Context from "effect/Context"
import * as Metric from "effect/Metric"

export interface Labels {
  readonly operation: string
  readonly model: string | undefined
  /** Undefined: the call succeeded. */
  readonly errorType: string | undefined
}

export interface Meters {
  readonly update: (
    context: Context.Context<never>,
    labels: Labels,
    amounts: { readonly seconds: number; readonly attempts: number; readonly cost: number | undefined }
  ) => void
}

/** A program may pass on the model names of its users. The names after these count as one. */
const maxModels = 100

const maxNameLength = 100

export const makeMeters = (): Meters => {
  const models = new Set<string>()
  const labelOf = (model: string): string => {
    if (models.has(model)) return model
    if (models.size >= maxModels || model.length > maxNameLength) return "_OTHER"
    models.add(model)
    return model
  }
  const series = new Map<string, ReturnType<typeof make>>()
  return {
    update: (context, { errorType, model, operation }, amounts) => {
      const label = model === undefined ? undefined : labelOf(model)
      const key = JSON.stringify([operation, errorType, label])
      let metrics = series.get(key)
      if (metrics === undefined) {
        metrics = make({
          "gen_ai.operation.name": operation,
          "gen_ai.provider.name": "model_gateway",
          ...(label === undefined ? undefined : { "gen_ai.request.model": label }),
          ...(errorType === undefined ? undefined : { "error.type": errorType })
        })
        series.set(key, metrics)
      }
      metrics.duration.updateUnsafe(amounts.seconds, context)
      metrics.attempts.updateUnsafe(amounts.attempts, context)
      if (amounts.cost !== undefined) metrics.cost.updateUnsafe(amounts.cost, context)
    }
  }
}

/** Not `Metric.withAttributes`, which would merge the attributes on every update. */
const make = (attributes: { readonly [name: string]: string }) => ({
  duration: Metric.histogram("gen_ai.client.operation.duration", {
    description: "Duration of calls to the model gateway, with all retries",
    attributes: { ...attributes, unit: "s" },
    // OpenTelemetry's boundaries for this metric.
    boundaries: [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
  }),
  attempts: Metric.counter("model_gateway.client.attempts", {
    description: "Requests sent to the model gateway, retries included",
    attributes: { ...attributes, unit: "{request}" },
    incremental: true
  }),
  cost: Metric.counter("model_gateway.client.cost", {
    description: "Credits charged by the model gateway",
    attributes: { ...attributes, unit: "{credit}" },
    incremental: true
  })
})
