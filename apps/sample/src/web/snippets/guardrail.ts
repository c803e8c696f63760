import { Gateway } from "@model-gateway/core"
import { Effect } from "effect"

// The credential here is a management key: on your server, not in a page.
export const guard = Effect.gen(function* () {
  const gateway = yield* Gateway.Gateway
  const { id } = yield* gateway.createGuardrail({ name: "Interns", limit: 5, limit_reset: "daily" })
  const { data } = yield* gateway.createKey({ name: "Intern 1" })
  const { assigned_count, not_found, replaced } = yield* gateway.assignKeys(id, {
    key_hashes: [data.hash]
  })
  return { assigned_count, not_found, replaced }
})
