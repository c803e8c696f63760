import { Gateway } from "@model-gateway/core"
import { Effect } from "effect"

export const budget = Effect.gen(function* () {
  const gateway = yield* Gateway.Gateway
  const key = yield* gateway.currentKey
  const { remaining } = key.free_model_daily_requests
  return `${key.label} spent ${key.usage_daily} today, ${remaining} free requests remain`
}).pipe(
  Effect.catchTag("Unauthorized", ({ requestId }) => Effect.succeed(`sign in again (${requestId})`))
)
