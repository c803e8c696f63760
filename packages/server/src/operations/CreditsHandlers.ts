/** Reading the credits that were added and used. */
import type * as Credits from "@model-gateway/core/Credits"
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { currentCaller } from "../access/Caller.ts"
import { Accounting } from "../accounting/Accounting.ts"
import { orUnavailable } from "../http/Failures.ts"
import * as RequestServices from "../http/RequestServices.ts"
import * as CallerWorkspace from "../access/CallerWorkspace.ts"

const make = Effect.gen(function* () {
  const accounting = yield* Accounting
  const workspaceOf = yield* CallerWorkspace.make

  const scopeOf = Effect.fnUntraced(function* (workspaceId: string | undefined) {
    if (workspaceId !== undefined) return { workspaceId: (yield* workspaceOf(workspaceId)).id }
    return { organizationId: (yield* currentCaller).key.organizationId }
  })

  return Effect.fnUntraced(function* (workspaceId: string | undefined) {
    const { added, used } = yield* orUnavailable(accounting.creditsOf(yield* scopeOf(workspaceId)))
    const response: Credits.Response = {
      data: { total_credits: MicroCredits.toCredits(added), total_usage: MicroCredits.toCredits(used) }
    }
    return response
  })
})

/** The `credits` group of the contract. */
export const layer = RequestServices.group(make, (credits) =>
  HttpApiBuilder.group(GatewayApi, "credits", (handlers) =>
    handlers.handle("getCredits", ({ query }) => credits(query.workspace_id))
  )
)
