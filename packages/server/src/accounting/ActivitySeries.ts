/**
 * Reads what an organization has used per minute, hour, UTC day or range, grouped by one of several
 * columns.
 *
 * Days are read from the sums of `usage_days`, as far as these have the group. The
 * rest is read from the usage ledger: other intervals, end users, guardrails, failures by status,
 * durations, and requests that a filter selects. No sums of them are written, because each would slow down every paid request. So the
 * number of requests that are read has a bound, and other requests run between the parts of a read.
 */
import { Context, Data, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { Row } from "effect/sql/SqlConnection"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import * as Periods from "../internal/Periods.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"
import { sums, sumsOf } from "./Activity.ts"
import { storable } from "./Ledger.ts"

/** How long the items are. `range`: from `from` to `to`. */
export type Interval = "minute" | "hour" | "day" | "range"

/** What has sums of its own. */
export type Group = "key" | "user" | "workspace" | "model" | "provider" | "guardrail"

/** Which sums to read. Times are epoch milliseconds. */
export interface Filter {
  /** The first time of admission. Sums of days have all of its day. */
  readonly from: number
  /** The first time of admission that is too late. */
  readonly to: number
  readonly interval: Interval
  readonly group: Group | undefined
  /** Default: all. */
  readonly workspaceIds?: ReadonlyArray<string> | undefined
  readonly keyHash?: string | undefined
  /** Whether to read the requests in any case. */
  readonly details: boolean
  /** Only requests of which these columns have these values. */
  readonly requests?: Requests | undefined
}

/** Selects requests. */
export interface Requests {
  readonly user?: string | undefined
  readonly operation?: string | undefined
  readonly model?: string | undefined
  readonly provider?: string | undefined
  readonly status?: string | undefined
  readonly errorStatus?: number | undefined
}

/** What only the requests tell. */
export interface Details {
  /** The failed requests, by HTTP status, or by how they ended if they have none. */
  readonly failures: Readonly<Record<string, number>>
  /** Of the completed requests, in milliseconds. Undefined: there was none. */
  readonly p50: number | undefined
  readonly p95: number | undefined
}

/** The sums of one group in one interval. Amounts are micro-credits. */
export interface Sums {
  readonly start: number
  /** Empty for requests without it, and if there are no groups. */
  readonly group: string
  readonly requests: number
  readonly failed: number
  readonly cost: MicroCredits.MicroCredits
  readonly byokCost: MicroCredits.MicroCredits
  readonly promptTokens: number
  readonly completionTokens: number
  readonly details: Details | undefined
}

/** The range has more than may be read. Nothing was. */
export class RangeTooLarge extends Data.TaggedError("RangeTooLarge")<{
  readonly what: "requests" | "items"
  readonly most: number
  /** From this time on it has few enough requests. */
  readonly from?: number | undefined
}> {}

/** The activity of organizations over time. */
export class ActivitySeries extends Context.Service<
  ActivitySeries,
  {
    /** Newest first, then by group. */
    readonly list: (
      organizationId: string,
      filter: Filter
    ) => Effect.Effect<ReadonlyArray<Sums>, RangeTooLarge | StorageError>
  }
>()("@model-gateway/server/accounting/ActivitySeries") {}

/** The most requests that are read: 25 ms on SQLite with a million. */
const maxRequests = 10_000

/** The most sums that are read. */
const maxSums = 20_000

/** The requests that are read at once. On SQLite nothing else runs in the process meanwhile. */
const chunk = 2000

const lengths = { minute: 60_000, hour: 3_600_000, day: Periods.dayMillis } as const

const columns = {
  key: "key_hash",
  user: "external_user",
  workspace: "workspace_id",
  model: "model",
  provider: "provider",
  guardrail: "guardrail_id"
} as const satisfies Record<Group, string>

/** Columns and the values that they must have. */
const wantedOf = ({ errorStatus, user, ...requests }: Requests): ReadonlyArray<readonly [string, string | number]> =>
  Object.entries({
    ...requests,
    external_user: user === undefined ? undefined : storable(user),
    error_status: errorStatus
  }).flatMap(([column, value]) => (value === undefined ? [] : [[column, value] as const]))

const isSummed = ({ details, group, interval, requests }: Filter): boolean =>
  interval === "day" &&
  !details &&
  group !== "user" &&
  group !== "guardrail" &&
  (requests === undefined || wantedOf(requests).length === 0)

const fromSums = (row: Row): Sums => ({
  start: Dialect.int(row, "day_start"),
  group: Dialect.text(row, "group_name"),
  ...sumsOf(row),
  details: undefined
})

/** A count of tokens as the sums of days have it: 0 if it is no sensible number. */
const tokens = (count: unknown): number =>
  typeof count === "number" && count >= 0 && count <= 1_000_000_000 ? Math.floor(count) : 0

const countsOf = (usage: string | null): Readonly<Record<string, unknown>> => {
  if (usage === null) return {}
  try {
    const counts: unknown = JSON.parse(usage)
    return typeof counts === "object" && counts !== null ? { ...counts } : {}
  } catch {
    return {}
  }
}

/** The smallest value that this share of the sorted values does not exceed. */
const percentile = (sorted: ReadonlyArray<number>, share: number): number | undefined =>
  sorted[Math.ceil(sorted.length * share) - 1]

/** Adds up requests. */
const collector = (startOf: (reservedAt: number) => number) => {
  interface Counted {
    readonly start: number
    readonly group: string
    requests: number
    cost: number
    byokCost: number
    promptTokens: number
    completionTokens: number
    readonly failures: Record<string, number>
    readonly durations: Array<number>
  }
  const counted = new Map<string, Counted>()

  const add = (row: Row): void => {
    const reservedAt = Dialect.int(row, "reserved_at")
    const start = startOf(reservedAt)
    const group = Dialect.textOrNull(row, "group_name") ?? ""
    const name = `${start} ${group}`
    let sum = counted.get(name)
    if (sum === undefined) {
      sum = {
        start,
        group,
        requests: 0,
        cost: 0,
        byokCost: 0,
        promptTokens: 0,
        completionTokens: 0,
        failures: {},
        durations: []
      }
      counted.set(name, sum)
    }
    sum.requests++
    const status = Dialect.text(row, "status")
    if (status === "completed") sum.durations.push(Math.max(0, Dialect.int(row, "settled_at") - reservedAt))
    else {
      const failure = String(Dialect.intOrNull(row, "error_status") ?? status)
      sum.failures[failure] = (sum.failures[failure] ?? 0) + 1
    }
    if (Dialect.bool(row, "is_byok")) sum.byokCost += Dialect.int(row, "cost_micro")
    else sum.cost += Dialect.int(row, "cost_micro")
    const { input_tokens, output_tokens, total_tokens } = countsOf(Dialect.textOrNull(row, "usage"))
    sum.promptTokens += tokens(input_tokens ?? total_tokens)
    sum.completionTokens += tokens(output_tokens)
  }

  const all = (): ReadonlyArray<Sums> =>
    Array.from(counted.values(), ({ byokCost, cost, durations, failures, ...sum }) => {
      const sorted = durations.toSorted((a, b) => a - b)
      return {
        ...sum,
        failed: sum.requests - durations.length,
        cost: MicroCredits.make(cost),
        byokCost: MicroCredits.make(byokCost),
        details: { failures, p50: percentile(sorted, 0.5), p95: percentile(sorted, 0.95) }
      }
    })

  return { add, all }
}

/** Whether the first one comes before the second. */
const byPlace = (a: Pick<Sums, "start" | "group">, b: Pick<Sums, "start" | "group">): number =>
  b.start - a.start || (a.group < b.group ? -1 : a.group > b.group ? 1 : 0)

/** The sums that follow a place. */
export const following = (sums: ReadonlyArray<Sums>, place: Pick<Sums, "start" | "group">): ReadonlyArray<Sums> =>
  sums.filter((sum) => byPlace(place, sum) < 0)

/** Makes the service over the database in the context. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient

  const ofWorkspaces = (column: string, ids: ReadonlyArray<string> | undefined) =>
    ids === undefined ? [] : [sql.in(column, ids)]

  /** The sums of days. */
  const summed = Effect.fnUntraced(function* (organizationId: string, filter: Filter) {
    const { group, keyHash, workspaceIds } = filter
    const first = Periods.startOfDay(filter.from)
    const name = sql.literal(group === undefined ? "''" : `u.${columns[group]}`)
    const days = sql`u.day_start BETWEEN ${first} AND ${filter.to - 1}`
    const wanted = sql.and([sql`o.organization_id = ${organizationId}`, ...ofWorkspaces("o.id", workspaceIds)])
    const place = group === undefined ? "u.day_start" : `u.day_start, u.${columns[group]}`
    const grouped = sql`GROUP BY ${sql.literal(place)} LIMIT ${maxSums + 1}`
    const isOfAllKeys = group === "key" && keyHash === undefined
    // Finds the keys of a workspace one after the other, each with one look into the index.
    const nextKey = (after: string) =>
      sql.literal(`(SELECT MIN(n.key_hash) FROM usage_days n WHERE n.workspace_id = o.id AND n.key_hash > ${after})`)
    const rows = yield* isOfAllKeys
      ? sql`WITH RECURSIVE found(id, key_hash) AS (
          SELECT o.id, ${nextKey("''")} FROM workspaces o WHERE ${wanted}
          UNION ALL SELECT o.id, ${nextKey("o.key_hash")} FROM found o WHERE o.key_hash IS NOT NULL)
        SELECT u.day_start, ${name} AS group_name, ${sql.literal(sums)} FROM found o CROSS JOIN usage_days u
        WHERE o.key_hash IS NOT NULL AND u.workspace_id = o.id AND u.key_hash = o.key_hash AND ${days} ${grouped}`
      : sql`SELECT u.day_start, ${name} AS group_name, ${sql.literal(sums)} FROM workspaces o CROSS JOIN usage_days u
        WHERE ${wanted} AND u.workspace_id = o.id AND u.key_hash = ${keyHash ?? ""} AND ${days} ${grouped}`
    if (rows.length > maxSums) return yield* new RangeTooLarge({ what: "items", most: maxSums })
    return rows.map(fromSums)
  })

  /** The sums of requests. */
  const counted = Effect.fnUntraced(function* (organizationId: string, filter: Filter) {
    const { from, group, interval, keyHash, requests = {}, to, workspaceIds } = filter
    const [excess] =
      yield* sql`SELECT reserved_at FROM usage_ledger WHERE reserved_at >= ${from} AND reserved_at < ${to}
      ORDER BY reserved_at DESC, id DESC LIMIT 1 OFFSET ${maxRequests}`
    if (excess !== undefined) {
      return yield* new RangeTooLarge({
        what: "requests",
        most: maxRequests,
        from: Dialect.int(excess, "reserved_at") + 1
      })
    }
    const { add, all } = collector((reservedAt) =>
      interval === "range" ? from : reservedAt - (reservedAt % lengths[interval])
    )
    const name = sql.literal(group === undefined ? "NULL" : columns[group])
    const wanted = sql.and([
      ...ofWorkspaces("workspace_id", workspaceIds),
      ...(keyHash === undefined ? [] : [sql`key_hash = ${keyHash}`]),
      ...wantedOf(requests).map(([column, value]) => sql`${sql(column)} = ${value}`),
      sql`EXISTS (SELECT 1 FROM workspaces o WHERE o.id = workspace_id AND o.organization_id = ${organizationId})`
    ])
    let place = { reservedAt: to, id: "" }
    while (true) {
      const rows = yield* sql`SELECT id, reserved_at, settled_at, status, error_status, cost_micro, is_byok, usage,
        ${name} AS group_name FROM usage_ledger
        WHERE (reserved_at, id) < (${place.reservedAt}, ${place.id}) AND reserved_at BETWEEN ${from} AND ${place.reservedAt}
        AND ${wanted} ORDER BY reserved_at DESC, id DESC LIMIT ${chunk}`
      rows.forEach(add)
      const last = rows.at(-1)
      if (last === undefined || rows.length < chunk) return all()
      place = { reservedAt: Dialect.int(last, "reserved_at"), id: Dialect.text(last, "id") }
      yield* Effect.yieldNow
    }
  })

  return ActivitySeries.of({
    list: Effect.fn("ActivitySeries.list")(function* (organizationId, filter) {
      const found = yield* isSummed(filter) ? summed(organizationId, filter) : counted(organizationId, filter)
      return found.toSorted(byPlace)
    }, mapSqlError("ActivitySeries.list"))
  })
})

/** The activity in the database. */
export const layerSql: Layer.Layer<ActivitySeries, never, SqlClient> = Layer.effect(ActivitySeries, make)
