/** Reading the activity: requests and costs by day, or by hour or day and group. */
import type * as WireActivity from "@model-gateway/core/Activity"
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { Clock, Effect, Option, Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { currentCaller } from "../access/Caller.ts"
import * as Permission from "../access/Permission.ts"
import { Activity, type DaySums, type Place } from "../accounting/Activity.ts"
import * as ActivitySeries from "../accounting/ActivitySeries.ts"
import { orUnavailable } from "../http/Failures.ts"
import * as RequestServices from "../http/RequestServices.ts"
import { invalid } from "../internal/Issues.ts"
import * as Timestamp from "../internal/Timestamp.ts"
import * as Periods from "../internal/Periods.ts"
import * as ActivityCsv from "./ActivityCsv.ts"
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

/** The field of an item that names its group. */
const groupFields = {
  key: "key_hash",
  user: "external_user",
  workspace: "workspace_id",
  model: "model",
  provider: "provider_name",
  guardrail: "guardrail_id"
} as const satisfies Record<ActivitySeries.Group, keyof WireActivity.Item>

const toSeriesItem =
  (group: ActivitySeries.Group | undefined) =>
  ({ details, group: name, start, ...sums }: ActivitySeries.Sums): WireActivity.Item => ({
    ...toItem({
      ...sums,
      dayStart: start,
      model: group === "model" ? name : "",
      provider: group === "provider" ? name : "",
      workspaceId: undefined
    }),
    endpoint_id: "",
    start: Timestamp.fromMillis(start),
    ...(group === undefined ? {} : { [groupFields[group]]: name }),
    ...(details === undefined
      ? {}
      : {
          failures: details.failures,
          duration_p50_ms: details.p50 ?? null,
          duration_p95_ms: details.p95 ?? null
        })
  })

/** The longest range of a call with `interval`. */
const maxDays = 366

/** How far back such a call goes by default. */
const defaultRanges = {
  minute: Periods.dayMillis,
  hour: Periods.dayMillis,
  day: daysBefore * Periods.dayMillis,
  range: Periods.dayMillis
}

/** What is wrong with the parameters of a call. */
const issueOf = ({ date, group_by, interval, ...query }: WireActivity.ListOptions) => {
  if (interval !== undefined) {
    return date === undefined ? undefined : { path: "date", message: "Expected `from` and `to` with `interval`" }
  }
  const { details, error_status, from, model, operation, provider, status, to, user } = query
  const others = { from, to, details, user, operation, model, provider, status, error_status }
  const needing = Object.entries({ ...others, group_by: group_by === "workspace" ? undefined : group_by }).find(
    ([, value]) => value !== undefined
  )
  return needing === undefined ? undefined : { path: needing[0], message: "Needs `interval`" }
}

const tooLarge = ({ from, most, what }: ActivitySeries.RangeTooLarge) =>
  invalid([
    {
      path: "from",
      message:
        what === "items"
          ? `Expected a range with at most ${most} items`
          : `Expected a range with at most ${most} requests${from === undefined ? "" : `: from ${Timestamp.fromMillis(from)} on`}`
    }
  ])

/** The items of a page by default, and at most. */
const maxItems = 2000

/**
 * The size of a page's items as JSON, at most. Their texts have few characters of several bytes.
 */
const maxPageBytes = 2 * 1024 * 1024

/** The JSON of an item, less its model, its provider and its end user. */
const itemBytes = { ofDay: 400, ofInterval: 800 }

/** How many of these items fit on a page. */
const countOnPage = (items: ReadonlyArray<WireActivity.Item>): number => {
  let bytes = 0
  const end = items.findIndex(({ external_user = "", model, provider_name, start }) => {
    bytes += start === undefined ? itemBytes.ofDay : itemBytes.ofInterval
    bytes += 3 * Buffer.byteLength(model) + 2 * Buffer.byteLength(provider_name) + Buffer.byteLength(external_user)
    return bytes > maxPageBytes
  })
  return end === -1 ? items.length : end
}

/** The `after` of the page that follows the sums: the place of the sums as JSON in base64. */
const Cursor = Schema.fromJsonString(Schema.Tuple([Schema.Int, Schema.String, Schema.String, Schema.String]))

const decodeCursor = Schema.decodeUnknownOption(Cursor)

const toCursor = ({
  dayStart,
  model,
  provider,
  workspaceId = ""
}: Pick<DaySums, "dayStart" | "model" | "provider"> & { readonly workspaceId?: string | undefined }): string =>
  Buffer.from(JSON.stringify([dayStart, model, provider, workspaceId])).toString("base64url")

const notCursor = invalid([{ path: "after", message: "Expected the `next` of a page" }])

const fromCursor = (after: string): Effect.Effect<Place, typeof notCursor> =>
  Option.match(decodeCursor(Buffer.from(after, "base64url").toString()), {
    onNone: () => Effect.fail(notCursor),
    onSome: ([dayStart, model, provider, workspaceId]) => Effect.succeed({ dayStart, model, provider, workspaceId })
  })

/** Items, and the place after each. */
interface Found {
  readonly items: ReadonlyArray<WireActivity.Item>
  readonly hasMore: boolean
  readonly placeAt: (index: number) => string
}

const make = Effect.gen(function* () {
  const activity = yield* Activity
  const series = yield* ActivitySeries.ActivitySeries
  const workspaceOf = yield* CallerWorkspace.makeRecorded

  /** The sums of UTC days, models and providers. */
  const days = Effect.fnUntraced(function* (
    { after, api_key_hash, date, group_by, limit = maxItems }: WireActivity.PageOptions,
    workspaceIds: ReadonlyArray<string> | undefined
  ) {
    const { key } = yield* currentCaller
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
    const { hasMore, items } = yield* orUnavailable(activity.list(key.organizationId, filter, { after: place, limit }))
    const found: Found = {
      items: items.map(toItem),
      hasMore,
      placeAt: (index) => (items[index] === undefined ? "" : toCursor(items[index]))
    }
    return found
  })

  /** The sums of intervals, and of one group each. */
  const grouped = Effect.fnUntraced(function* (
    { after, api_key_hash, details, group_by, limit = maxItems, ...query }: WireActivity.PageOptions,
    interval: WireActivity.Interval,
    workspaceIds: ReadonlyArray<string> | undefined
  ) {
    const { key } = yield* currentCaller
    const now = (yield* Clock.currentTimeMillis) + 1
    const to = query.to === undefined ? now : yield* Timestamp.toMillis("to", query.to)
    const from = query.from === undefined ? to - defaultRanges[interval] : yield* Timestamp.toMillis("from", query.from)
    if (from >= to) return yield* invalid([{ path: "from", message: "Expected a time before `to`" }])
    if (to - from > maxDays * Periods.dayMillis) {
      return yield* invalid([{ path: "from", message: `Expected at most ${maxDays} days before \`to\`` }])
    }
    const place = after === undefined ? undefined : yield* fromCursor(after)
    const filter = {
      from,
      to,
      interval,
      group: group_by,
      workspaceIds,
      keyHash: api_key_hash,
      details: details === "true",
      requests: {
        user: query.user,
        operation: query.operation,
        model: query.model,
        provider: query.provider,
        status: query.status,
        errorStatus: query.error_status
      }
    }
    const all = yield* orUnavailable(series.list(key.organizationId, filter)).pipe(
      Effect.catchTag("RangeTooLarge", (error) => Effect.fail(tooLarge(error)))
    )
    const rest =
      place === undefined ? all : ActivitySeries.following(all, { start: place.dayStart, group: place.model })
    const sums = rest.slice(0, limit)
    const found: Found = {
      items: sums.map(toSeriesItem(group_by)),
      hasMore: rest.length > limit,
      placeAt: (index) => toCursor({ dayStart: sums[index]?.start ?? 0, model: sums[index]?.group ?? "", provider: "" })
    }
    return found
  })

  const list = Effect.fnUntraced(function* ({
    format,
    user_id,
    workspace_id,
    ...query
  }: WireActivity.PageOptions & { readonly user_id?: string; readonly format?: "json" | "csv" }) {
    if (user_id !== undefined) {
      return yield* invalid([{ path: "user_id", message: "Requests belong to API keys: use api_key_hash" }])
    }
    const issue = issueOf(query)
    if (issue !== undefined) return yield* invalid([issue])
    const workspaceIds =
      workspace_id === undefined ? yield* Permission.callerWorkspaces : [(yield* workspaceOf(workspace_id)).id]
    const found = yield* query.interval === undefined
      ? days(query, workspaceIds)
      : grouped(query, query.interval, workspaceIds)
    const data = found.items.slice(0, countOnPage(found.items))
    const hasMore = found.hasMore || data.length < found.items.length
    const next = hasMore && data.length > 0 ? found.placeAt(data.length - 1) : null
    return format === "csv"
      ? HttpServerResponse.text(ActivityCsv.make(data), {
          contentType: "text/csv; charset=utf-8",
          headers: {
            "content-disposition": 'attachment; filename="activity.csv"',
            ...(next === null ? {} : { "x-next": next })
          }
        })
      : { data, has_more: hasMore, next }
  })

  return { list }
})

/** The `activity` group of the contract. */
export const layer = RequestServices.group(make, ({ list }) =>
  HttpApiBuilder.group(GatewayApi, "activity", (handlers) =>
    handlers.handle("listActivity", ({ query }) => list(query))
  )
)
