/**
 * Reads what an organization has used per UTC day, model and provider.
 *
 * `usage_days` has the sums of the usage ledger for each workspace and each key, so the time to
 * read them does not grow with the number of requests. An entry counts on the day on which its
 * request was admitted, also if it ended later. Beyond a number of models, a day of a workspace has
 * the sums of all further models as those of `other`.
 */
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { Row } from "effect/sql/SqlConnection"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import * as Periods from "../internal/Periods.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import type { Page } from "../storage/sql/Page.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"

/** Which sums to read. Times are epoch milliseconds. */
export interface Filter {
  /** The start of the first day. */
  readonly from: number
  /** The start of the last day. */
  readonly to: number
  /** Default: all. */
  readonly workspaceIds?: ReadonlyArray<string> | undefined
  readonly keyHash?: string | undefined
  /** Whether each workspace has sums of its own. Default: false. */
  readonly byWorkspace?: boolean | undefined
}

/** The sums of one day, model and provider. Amounts are micro-credits. */
export interface DaySums {
  readonly dayStart: number
  readonly model: string
  /** Empty for requests that failed before a provider was tried. */
  readonly provider: string
  /** Undefined if the sums are of all workspaces. */
  readonly workspaceId: string | undefined
  readonly requests: number
  /** How many of the requests were not completed. */
  readonly failed: number
  /** Paid with credits. */
  readonly cost: MicroCredits.MicroCredits
  /** Paid with provider keys. */
  readonly byokCost: MicroCredits.MicroCredits
  readonly promptTokens: number
  readonly completionTokens: number
}

/** Where a sum stands in the list. */
export interface Place extends Pick<DaySums, "dayStart" | "model" | "provider"> {
  /** Empty if the sums are of all workspaces. */
  readonly workspaceId: string
}

/** A page: at most `limit` sums after this place (default: from the start). */
export interface PageRequest {
  readonly after?: Place | undefined
  readonly limit: number
}

/** The activity of organizations. */
export class Activity extends Context.Service<
  Activity,
  {
    /** Newest day first, then by model, provider and workspace. */
    readonly list: (
      organizationId: string,
      filter: Filter,
      page: PageRequest
    ) => Effect.Effect<Page<DaySums>, StorageError>
  }
>()("@model-gateway/server/accounting/Activity") {}

const counters = ["requests", "failed", "cost_micro", "byok_micro", "prompt_tokens", "completion_tokens"]

/** The columns of the sums of rows of `usage_days u`. */
export const sums = counters.map((counter) => `SUM(u.${counter}) AS ${counter}`).join(", ")

/** Reads {@link sums}. */
export const sumsOf = (row: Row) => ({
  requests: Dialect.int(row, "requests"),
  failed: Dialect.int(row, "failed"),
  cost: MicroCredits.make(Dialect.int(row, "cost_micro")),
  byokCost: MicroCredits.make(Dialect.int(row, "byok_micro")),
  promptTokens: Dialect.int(row, "prompt_tokens"),
  completionTokens: Dialect.int(row, "completion_tokens")
})

const daySums = (row: Row): DaySums => ({
  dayStart: Dialect.int(row, "day_start"),
  model: Dialect.text(row, "model"),
  provider: Dialect.text(row, "provider"),
  workspaceId: Dialect.textOrNull(row, "workspace_id") ?? undefined,
  ...sumsOf(row)
})

/** Makes the service over the database in the context. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient

  /** At most `limit` rows of the days from `first` to `last` that follow the place. */
  const read = Effect.fnUntraced(function* (
    organizationId: string,
    { byWorkspace, keyHash, workspaceIds }: Filter,
    { first, last }: { readonly first: number; readonly last: number },
    { after, limit }: PageRequest
  ) {
    const ofWorkspace = byWorkspace === true
    const place = sql.literal(`u.day_start, u.model, u.provider${ofWorkspace ? ", u.workspace_id" : ""}`)
    const wanted = sql.and([
      sql`o.organization_id = ${organizationId}`,
      ...(workspaceIds === undefined ? [] : [sql.in("o.id", workspaceIds)]),
      sql`u.workspace_id = o.id`,
      // The sums of a whole workspace have no key.
      sql`u.key_hash = ${keyHash ?? ""}`,
      sql`u.day_start BETWEEN ${first} AND ${last}`,
      ...(after === undefined
        ? []
        : ofWorkspace
          ? [sql`(u.model, u.provider, u.workspace_id) > (${after.model}, ${after.provider}, ${after.workspaceId})`]
          : [sql`(u.model, u.provider) > (${after.model}, ${after.provider})`])
    ])
    // `CROSS JOIN`: SQLite finds the workspaces first, then the days of each by the primary key.
    return yield* sql`SELECT ${place}, ${sql.literal(sums)}
      FROM workspaces o CROSS JOIN usage_days u WHERE ${wanted}
      GROUP BY ${place} ORDER BY u.day_start DESC, ${place} LIMIT ${limit}`
  })

  return Activity.of({
    list: Effect.fn("Activity.list")(function* (organizationId, filter, { after, limit }) {
      const rows: Array<Row> = []
      let last = Math.min(filter.to, after?.dayStart ?? filter.to)
      // The newest day is read first, and then twice as many days each time: grouping reads all
      // rows of its days, and few days fill a page if they have many rows.
      for (let days = 1; last >= filter.from && rows.length <= limit; days *= 2) {
        const first = Math.max(filter.from, last - days * Periods.dayMillis + 1)
        const isPlace = days === 1 && after !== undefined && after.dayStart === last
        const page = { limit: limit + 1 - rows.length, after: isPlace ? after : undefined }
        rows.push(...(yield* read(organizationId, filter, { first, last }, page)))
        last = first - 1
      }
      return { items: rows.slice(0, limit).map(daySums), hasMore: rows.length > limit }
    }, mapSqlError("Activity.list"))
  })
})

/** The activity in the database. */
export const layerSql: Layer.Layer<Activity, never, SqlClient> = Layer.effect(Activity, make)
