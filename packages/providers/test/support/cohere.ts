import { Effect, type Scope } from "effect"
import { startCohereDouble } from "@model-gateway/test-doubles/CohereDouble"
import type { Double } from "@model-gateway/test-doubles/Double"

export const key = "co-secret-0123456789"

/** A double of Cohere's API that accepts {@link key}, for the scope. */
export const double: Effect.Effect<Double, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(() => startCohereDouble({ keys: [key] })),
  (double) => Effect.promise(() => double.close())
)
