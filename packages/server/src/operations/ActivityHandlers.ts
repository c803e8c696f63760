/** Reading the activity: requests and costs by day. */
import type * as WireActivity from "@model-gateway/core/Activity"
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { Clock, Effect, Option, Schema } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { currentCaller } from "../access/Caller.ts"
import * as Permission from "../access/Permission.ts"
import { Activity, type DaySums, type Place } from "../accounting/Activity.ts"
import { orUnavailable } from "../http/Failures.ts"
import * as RequestServices from "../http/RequestServices.ts"
import { invalid } from "../internal/Issues.ts"
import * as Timestamp from "../internal/Timestamp.ts"
import * as Periods from "../internal/Periods.ts"
import * as CallerWorkspace from "../access/CallerWorkspace.ts"

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

/** The items of a page by default, and at most. */
const maxItems = 2000

/**
 * The size of a page's items as JSON, at most. Their texts have few characters of several bytes.
 */
const maxPageBytes = 2 * 1024 * 1024

/** The JSON of an item, less its model and its provider. */
const itemBytes = 400

/** How many of these items fit on a page. */
const countOnPage = (items: ReadonlyArray<DaySums>): number => {
  let bytes = 0
  const end = items.findIndex(({ model, provider }) => {
    bytes += itemBytes + 3 * Buffer.byteLength(model) + 2 * Buffer.byteLength(provider)
    return bytes > maxPageBytes
  })
  return end === -1 ? items.length : end
}

/** The `after` of the page that follows the sums: the place of the sums as JSON in base64. */
const Cursor = Schema.fromJsonString(Schema.Tuple([Schema.Int, Schema.String, Schema.String, Schema.String]))

const decodeCursor = Schema.decodeUnknownOption(Cursor)

const toCursor = ({ dayStart, model, provider, workspaceId = "" }: DaySums): string =>
  Buffer.from(JSON.stringify([dayStart, model, provider, workspaceId])).toString("base64url")

const notCursor = invalid([{ path: "after", message: "Expected the `next` of a page" }])

const fromCursor = (after: string): Effect.Effect<Place, typeof notCursor> =>
  Option.match(decodeCursor(Buffer.from(after, "base64url").toString()), {
    onNone: () => Effect.fail(notCursor),
    onSome: ([dayStart, model, provider, workspaceId]) => Effect.succeed({ dayStart, model, provider, workspaceId })
  })

const make = Effect.gen(function* () {
  const activity = yield* Activity
  const workspaceOf = yield* CallerWorkspace.makeRecorded

  const list = Effect.fnUntraced(function* ({
    after,
    api_key_hash,
    date,
    group_by,
    limit = maxItems,
    user_id,
    workspace_id
  }: WireActivity.PageOptions & { readonly user_id?: string }) {
    const { key } = yield* currentCaller
    if (user_id !== undefined) {
      return yield* invalid([{ path: "user_id", message: "Requests belong to API keys: use api_key_hash" }])
    }
    const workspaceIds =
      workspace_id === undefined ? yield* Permission.callerWorkspaces : [(yield* workspaceOf(workspace_id)).id]
    const today = Periods.startOfDay(yield* Clock.currentTimeMillis)
    const day = date === undefined ? undefined : Date.parse(date)
    const filter = {
      from: day ?? today - daysBefore * Periods.dayMillis,
      to: day ?? today,
      workspaceIds,
      keyHash: api_key_hash,
      byWorkspace: group_by === "workspace"
    }
    const place = after === undefined ? undefined : yield* fromCursor(after)
    const page = yield* orUnavailable(activity.list(key.organizationId, filter, { after: place, limit }))
    const items = page.items.slice(0, countOnPage(page.items))
    const last = items.at(-1)
    const hasMore = page.hasMore || items.length < page.items.length
    return {
      data: items.map(toItem),
      has_more: hasMore,
      next: hasMore && last !== undefined ? toCursor(last) : null
    }
  })

  return { list }
})

/** The `activity` group of the contract. */
export const layer = RequestServices.group(make, ({ list }) =>
  HttpApiBuilder.group(GatewayApi, "activity", (handlers) =>
    handlers.handle("listActivity", ({ query }) => list(query))
  )
)
