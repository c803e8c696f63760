import { Gateway } from "@model-gateway/core"
import { Effect } from "effect"

// Needs a management key: run it on a server.
export const guard = Effect.gen(function* () {
  const gateway = yield* Gateway.Gateway
  const { id } = yield* gateway.createGuardrail({
    name: "Interns",
    limit_usd: 5,
    reset_interval: "daily"
  })
  const { data } = yield* gateway.createKey({ name: "Intern 1" })
  const key_hashes = [data.hash] as const
  return yield* gateway.assignKeys(id, { key_hashes })
})
