import { Gateway } from "@model-gateway/core"
import { Effect } from "effect"

const signInAgain = () => Effect.succeed("Sign in again")

export const budget = Effect.gen(function* () {
  const gateway = yield* Gateway.Gateway
  const key = yield* gateway.currentKey
  const { remaining } = key.free_model_daily_requests
  return `${key.usage_daily} today, ${remaining} free left`
}).pipe(Effect.catchTag("Unauthorized", signInAgain))
