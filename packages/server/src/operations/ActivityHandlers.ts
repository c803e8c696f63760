/** GET `/activity`. */
import type * as WireActivity from "@model-gateway/core/Activity"
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import * as MicroCredits from "@model-gateway/providers/MicroCredits"
import { Clock, Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { currentCaller } from "../access/Caller.ts"
import { Activity, type DaySums } from "../accounting/Activity.ts"
import { orUnavailable } from "../http/Failures.ts"
import { invalid } from "../http/Issues.ts"
import * as Timestamp from "../http/Timestamp.ts"
import * as Periods from "../internal/Periods.ts"
import * as CallerWorkspace from "./CallerWorkspace.ts"

/** The days before the current one that are listed by default. */
const daysBefore = 30

const toItem = (sums: DaySums): WireActivity.Item => ({
  date: Timestamp.fromMillis(sums.dayStart).slice(0, 10),
  model: sums.model,
  model_permaslug: sums.model,
  endpoint_id: `${sums.provider}:${sums.model}`,
  provider_name: sums.provider,
  requests: sums.requests,
  failed_requests: sums.failed,
  usage: MicroCredits.toCredits(sums.cost),
  byok_usage_inference: MicroCredits.toCredits(sums.byokCost),
  prompt_tokens: sums.promptTokens,
  completion_tokens: sums.completionTokens,
  reasoning_tokens: 0,
  ...(sums.workspaceId === undefined ? {} : { workspace_id: sums.workspaceId })
})

const make = Effect.gen(function* () {
  const activity = yield* Activity
  const workspaceOf = yield* CallerWorkspace.makeRecorded

  const list = Effect.fnUntraced(function* ({
    api_key_hash,
    date,
    group_by,
    user_id,
    workspace_id
  }: WireActivity.ListOptions & { readonly user_id?: string }) {
    const { key } = yield* currentCaller
    if (user_id !== undefined) {
      return yield* invalid([{ path: "user_id", message: "Requests belong to API keys: use api_key_hash" }])
    }
    const workspace = workspace_id === undefined ? undefined : yield* workspaceOf(workspace_id)
    const today = Periods.startOfDay(yield* Clock.currentTimeMillis)
    const day = date === undefined ? undefined : Date.parse(date)
    const days = yield* orUnavailable(
      activity.list(key.organizationId, {
        from: day ?? today - daysBefore * Periods.dayMillis,
        to: day ?? today,
        workspaceId: workspace?.id,
        keyHash: api_key_hash,
        byWorkspace: group_by === "workspace"
      })
    )
    return { data: days.map(toItem) }
  })

  return { list }
})

/** The `activity` group of the contract. */
export const layer = HttpApiBuilder.group(GatewayApi, "activity", (handlers) =>
  Effect.map(make, ({ list }) => handlers.handle("listActivity", ({ query }) => list(query)))
)
