/**
 * Reads the request log: the usage ledger has one entry for each paid request that has ended.
 *
 * The log is read by the time of admission, newest first, from an index. Filters have no index of
 * their own, because each would slow down every paid request. A page therefore looks at a limited
 * number of entries, however few of them match, and says where to continue.
 */
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as Dialect from "../storage/sql/Dialect.ts"
import { UnknownCursor } from "../storage/sql/Page.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"
import { type Status, usageRow, type UsageRow } from "./Ledger.ts"

/** Which entries to list. Times are epoch milliseconds. */
export interface Filter {
  readonly workspaceId?: string | undefined
  readonly keyHash?: string | undefined
  readonly model?: string | undefined
  readonly provider?: string | undefined
  readonly status?: typeof Status.Type | undefined
  readonly errorStatus?: number | undefined
  /** The first time of admission. */
  readonly from?: number | undefined
  /** The first time of admission that is too late. */
  readonly to?: number | undefined
}

/** Which page of the list to read: `limit` entries older than the one named `after`. */
export interface PageRequest {
  readonly after?: string | undefined
  /** 1 to 1000. Default: 100. */
  readonly limit?: number | undefined
}

/** Entries, newest first. */
export interface LogPage {
  readonly items: ReadonlyArray<UsageRow>
  /** The `after` of the next page. Undefined if this is the last one. */
  readonly next: string | undefined
}

/** The request log. */
export class RequestLog extends Context.Service<
  RequestLog,
  {
    /** An entry of a workspace, or of any workspace of an organization, by its generation id. */
    readonly get: (
      owner: { readonly workspaceId: string } | { readonly organizationId: string },
      id: string
    ) => Effect.Effect<UsageRow | undefined, StorageError>
    /** The entries of all workspaces of an organization. */
    readonly list: (
      organizationId: string,
      filter?: Filter,
      page?: PageRequest
    ) => Effect.Effect<LogPage, UnknownCursor | StorageError>
  }
>()("@model-gateway/server/accounting/RequestLog") {}

/** The number of entries that a page looks at. Reading them takes a few milliseconds. */
const window = 2000

/** Makes the request log over the database in the context. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient

  const ofOrganization = (id: string) =>
    sql`EXISTS (SELECT 1 FROM workspaces o WHERE o.id = workspace_id AND o.organization_id = ${id})`

  const placeOf = Effect.fnUntraced(function* (after: string) {
    const [row] = yield* sql`SELECT reserved_at FROM usage_ledger WHERE id = ${after}`
    return row === undefined
      ? yield* new UnknownCursor({ after })
      : { reservedAt: Dialect.int(row, "reserved_at"), id: after }
  })

  const list = Effect.fn("RequestLog.list")(function* (
    organizationId: string,
    { errorStatus, from = 0, keyHash, model, provider, status, to, workspaceId }: Filter = {},
    { after, limit = 100 }: PageRequest = {}
  ) {
    // An empty id precedes all others, so the bound itself is excluded.
    const start = { reservedAt: to ?? Number.MAX_SAFE_INTEGER, id: "" }
    const cursor = after === undefined ? start : yield* placeOf(after)
    const place = cursor.reservedAt < start.reservedAt ? cursor : start
    const isOlder = sql`(reserved_at, id) < (${place.reservedAt}, ${place.id})`
    // Read first, so that entries that are written meanwhile do not move the end of the page.
    const [row] = yield* sql`SELECT reserved_at, id FROM usage_ledger WHERE ${isOlder} AND reserved_at >= ${from}
      ORDER BY reserved_at DESC, id DESC LIMIT 1 OFFSET ${window - 1}`
    const end =
      row === undefined ? undefined : { reservedAt: Dialect.int(row, "reserved_at"), id: Dialect.text(row, "id") }
    const oldest = end ?? { reservedAt: from, id: "" }
    const equal = (column: string, value: string | number | undefined) =>
      value === undefined ? [] : [sql`${sql(column)} = ${value}`]
    const wanted = sql.and([
      isOlder,
      sql`(reserved_at, id) >= (${oldest.reservedAt}, ${oldest.id})`,
      // Postgres estimates the size of a range of times, but not of a range of pairs.
      sql`reserved_at BETWEEN ${oldest.reservedAt} AND ${place.reservedAt}`,
      ...equal("workspace_id", workspaceId),
      ...equal("key_hash", keyHash),
      ...equal("model", model),
      ...equal("provider", provider),
      ...equal("status", status),
      ...equal("error_status", errorStatus),
      ofOrganization(organizationId)
    ])
    const rows = yield* sql`SELECT * FROM usage_ledger WHERE ${wanted}
      ORDER BY reserved_at DESC, id DESC LIMIT ${limit + 1}`
    const items = rows.slice(0, limit).map(usageRow)
    return { items, next: rows.length > limit ? items.at(-1)?.id : end?.id }
  }, mapSqlError("RequestLog.list"))

  return RequestLog.of({
    get: (owner, id) =>
      sql`SELECT * FROM usage_ledger WHERE id = ${id} AND ${
        "workspaceId" in owner ? sql`workspace_id = ${owner.workspaceId}` : ofOrganization(owner.organizationId)
      }`.pipe(
        Effect.map(([row]) => (row === undefined ? undefined : usageRow(row))),
        mapSqlError("RequestLog.get")
      ),
    list
  })
})

/** The request log in the database. */
export const layerSql: Layer.Layer<RequestLog, never, SqlClient> = Layer.effect(RequestLog, make)
