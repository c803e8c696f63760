/**
 * Reads the request log: the usage ledger has one entry for each paid request that has ended.
 *
 * The log is read by the time of admission, newest first, from an index, or by the id of the
 * request, from another one. Other filters have no index, because each would slow down every paid
 * request. A page therefore looks at a limited number of entries, however few of them match, and
 * says where to continue: after an entry of the organization, or before a time. It never names an
 * entry of another organization.
 */
import type { Status } from "@model-gateway/core/Generations"
import { Clock, Context, Duration, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import * as Background from "../internal/Background.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import * as Page from "../storage/sql/Page.ts"
import * as Purge from "../storage/sql/Purge.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"
import { entries, type Entry, storable } from "./Ledger.ts"

/** Which entries to list. Times are epoch milliseconds. */
export interface Filter {
  /** The id of the HTTP request. */
  readonly requestId?: string | undefined
  /** Default: all. */
  readonly workspaceIds?: ReadonlyArray<string> | undefined
  readonly keyHash?: string | undefined
  /** The end user whom the request names. */
  readonly user?: string | undefined
  /** `rerank`, `transcription` or `video`. */
  readonly operation?: string | undefined
  readonly model?: string | undefined
  readonly provider?: string | undefined
  readonly status?: Status | undefined
  readonly errorStatus?: number | undefined
  /** The first time of admission. */
  readonly from?: number | undefined
  /** The first time of admission that is too late. */
  readonly to?: number | undefined
}

/** Whose entries a reader sees. */
export type Reader =
  | {
      readonly workspaceId: string
      /** Only entries of requests with this ephemeral key. Default: all of the workspace. */
      readonly ephemeralHash?: string | undefined
    }
  | {
      readonly organizationId: string
      /** Only entries of these workspaces. Default: all. */
      readonly workspaceIds?: ReadonlyArray<string> | undefined
    }

/** The request log. */
export class RequestLog extends Context.Service<
  RequestLog,
  {
    /**
     * An entry that a reader sees, by its generation id or, if there is none, the latest one with
     * this request id.
     */
    readonly get: (reader: Reader, id: string) => Effect.Effect<Entry | undefined, StorageError>
    /** The entries of all workspaces of an organization. */
    readonly list: (
      organizationId: string,
      filter?: Filter,
      page?: Page.Request
    ) => Effect.Effect<Page.ByTime<Entry>, Page.UnknownCursor | StorageError>
    /**
     * The ended requests since a time, and how many of them failed or expired. It reads the newest
     * {@link maxCounted} of all workspaces.
     */
    readonly count: (
      organizationId: string,
      filter: Pick<Filter, "model"> & { readonly from: number; readonly workspaceId?: string | null }
    ) => Effect.Effect<{ readonly requests: number; readonly failed: number }, StorageError>
    /**
     * Deletes the entries of requests that were admitted longer ago than this. Returns their
     * number. Sums and budgets stay as they are.
     */
    readonly purge: (age: Duration.Duration) => Effect.Effect<number, StorageError>
  }
>()("@model-gateway/server/accounting/RequestLog") {}

/** The most requests that are counted. */
export const maxCounted = Page.window

/** Makes the request log over the database in the context. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient

  const ofOrganization = (id: string) =>
    sql`EXISTS (SELECT 1 FROM workspaces o WHERE o.id = workspace_id AND o.organization_id = ${id})`

  const ofReader = (reader: Reader) => {
    if ("organizationId" in reader) {
      return Page.inWorkspaces(sql, ofOrganization(reader.organizationId), reader.workspaceIds)
    }
    const { ephemeralHash, workspaceId } = reader
    const ofWorkspace = sql`workspace_id = ${workspaceId}`
    return ephemeralHash === undefined ? ofWorkspace : sql`${ofWorkspace} AND ephemeral_hash = ${ephemeralHash}`
  }

  const list = Effect.fn("RequestLog.list")((organizationId: string, filter: Filter = {}, page?: Page.Request) => {
    const visible = ofOrganization(organizationId)
    return Page.readByTime(
      sql,
      {
        table: "usage_ledger",
        time: "reserved_at",
        from: filter.from,
        to: filter.to,
        found: { request_id: filter.requestId },
        isFew: filter.requestId !== undefined,
        equal: {
          key_hash: filter.keyHash,
          external_user: filter.user === undefined ? undefined : storable(filter.user),
          operation: filter.operation,
          model: filter.model,
          provider: filter.provider,
          status: filter.status,
          error_status: filter.errorStatus
        },
        visible,
        wanted: Page.inWorkspaces(sql, visible, filter.workspaceIds),
        item: entries.read
      },
      page
    )
  }, mapSqlError("RequestLog.list"))

  const count: RequestLog["Service"]["count"] = Effect.fn("RequestLog.count")(function* (
    organizationId,
    { from, model, workspaceId = null }
  ) {
    const wanted = sql.and([
      ...(model === undefined ? [] : [sql`model = ${model}`]),
      workspaceId === null ? ofOrganization(organizationId) : sql`workspace_id = ${workspaceId}`
    ])
    const [row] =
      yield* sql`SELECT COUNT(*) AS requests, COUNT(CASE WHEN status IN ('failed', 'expired') THEN 1 END) AS failed
      FROM (SELECT workspace_id, model, status FROM usage_ledger WHERE reserved_at >= ${from}
        ORDER BY reserved_at DESC, id DESC LIMIT ${maxCounted}) one_page WHERE ${wanted}`
    return row === undefined
      ? { requests: 0, failed: 0 }
      : { requests: Dialect.int(row, "requests"), failed: Dialect.int(row, "failed") }
  }, mapSqlError("RequestLog.count"))

  return RequestLog.of({
    count,
    get: Effect.fnUntraced(function* (reader: Reader, id: string) {
      const [row] = yield* sql`SELECT * FROM usage_ledger WHERE id = ${id} AND ${ofReader(reader)}`
      if (row !== undefined) return entries.read(row)
      const [latest] = yield* sql`SELECT * FROM usage_ledger WHERE request_id = ${id} AND ${ofReader(reader)}
        ORDER BY reserved_at DESC, id DESC LIMIT 1`
      return latest === undefined ? undefined : entries.read(latest)
    }, mapSqlError("RequestLog.get")),
    list,
    purge: Effect.fn("RequestLog.purge")(function* (age: Duration.Duration) {
      const end = Math.floor((yield* Clock.currentTimeMillis) - Duration.toMillis(age))
      return yield* Purge.all(
        Effect.map(
          sql`DELETE FROM usage_ledger WHERE id IN (SELECT id FROM usage_ledger
            WHERE reserved_at < ${end} ORDER BY reserved_at, id LIMIT ${Purge.atOnce}) RETURNING id`,
          (rows) => rows.length
        )
      )
    }, mapSqlError("RequestLog.purge"))
  })
})

/** The request log in the database. */
export const layerSql: Layer.Layer<RequestLog, never, SqlClient> = Layer.effect(RequestLog, make)

/**
 * Deletes old entries in the background, at the start and then at an interval (default: 10
 * minutes), if `retention.requests` of {@link GatewayServerConfig} says so.
 */
export const layerBackground = (options?: {
  readonly every?: Duration.Input | undefined
}): Layer.Layer<never, never, RequestLog> =>
  Background.layer({
    work: Effect.gen(function* () {
      const { retention } = yield* GatewayServerConfig
      return retention.requests === undefined ? 0 : yield* (yield* RequestLog).purge(retention.requests)
    }),
    every: options?.every ?? "10 minutes",
    failure: "Old entries of the request log could not be deleted"
  })
