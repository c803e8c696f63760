/**
 * The requests that failed before they were admitted, so that an operator finds a caller's request
 * by its id. The usage ledger has the others.
 *
 * The list is read by time, newest first, or by the id of the request, each from an index. Other
 * filters have none. A page therefore looks at a limited number of rows, however few of them match,
 * and says where to continue.
 */
import { Array, Context, type Duration, Effect, Layer, Schema } from "effect"
import { Model } from "effect/schema"
import { SqlClient } from "effect/sql/SqlClient"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import * as Background from "../internal/Background.ts"
import * as Page from "../storage/sql/Page.ts"
import * as Purge from "../storage/sql/Purge.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"
import * as Table from "../storage/sql/Table.ts"

/** A request that failed before it was admitted. Times are epoch milliseconds. */
export class RejectedRequest extends Model.Class<RejectedRequest>("RejectedRequest")({
  /** A UUID v7. */
  id: Table.constant(Schema.String),
  /** When it was answered. */
  createdAt: Table.constant(Table.Whole),
  requestId: Table.constant(Schema.String),
  /** Null: it had no key that is stored, so it belongs to no organization. */
  organizationId: Table.constantOrNull(Schema.String),
  workspaceId: Table.constantOrNull(Schema.String),
  keyHash: Table.constantOrNull(Schema.String),
  operation: Table.constant(Schema.String),
  model: Table.constantOrNull(Schema.String),
  status: Table.constant(Table.Whole),
  message: Table.constantOrNull(Schema.String),
  address: Table.constant(Schema.String),
  durationMs: Table.constant(Table.Whole),
  /** How many similar ones of the same minute were left out. */
  omitted: Table.constant(Table.Whole)
}) {}

const table = Table.make(RejectedRequest)

/** A request to record. */
export type NewRejectedRequest = typeof RejectedRequest.insert.Type

/** How many requests similar to a recorded one were left out. */
export interface Omission {
  readonly id: string
  readonly omitted: number
}

/** Which requests to list. Times are epoch milliseconds. */
export interface Filter {
  readonly requestId?: string | undefined
  /** Default: all, and those of no workspace. */
  readonly workspaceIds?: ReadonlyArray<string> | undefined
  readonly keyHash?: string | undefined
  readonly operation?: string | undefined
  readonly status?: number | undefined
  readonly from?: number | undefined
  /** The first time that is too late. */
  readonly to?: number | undefined
}

/** The rejected requests. */
export class RejectedRequests extends Context.Service<
  RejectedRequests,
  {
    /** Records at most {@link Purge.atOnce} requests, and what was left out. */
    readonly write: (
      requests: ReadonlyArray<NewRejectedRequest>,
      omissions: ReadonlyArray<Omission>
    ) => Effect.Effect<void, StorageError>
    /** The requests of an organization's keys, and those without a stored key. */
    readonly list: (
      organizationId: string,
      filter?: Filter,
      page?: Page.Request
    ) => Effect.Effect<Page.ByTime<RejectedRequest>, Page.UnknownCursor | StorageError>
    /**
     * Deletes requests that are older than this, and the oldest above {@link maxRows}. Returns
     * their number.
     */
    readonly purge: (age: Duration.Duration) => Effect.Effect<number, StorageError>
  }
>()("@model-gateway/server/requests/RejectedRequests") {}

/** The maximum number of stored requests, about 200 MB. Beyond it, the oldest are deleted. */
export const maxRows = 500_000

/** Postgres stores neither U+0000 nor half a character pair. */
const storable = (text: string | null | undefined): string | null =>
  typeof text !== "string" ? null : text.toWellFormed().replaceAll("\u0000", "\ufffd")

/** Makes the store over the database in the context. `limit` is the maximum number of rows. */
export const make = Effect.fnUntraced(function* (limit: number) {
  const sql = yield* SqlClient

  const write = Effect.fn("RejectedRequests.write")(
    function* (requests: ReadonlyArray<NewRejectedRequest>, omissions: ReadonlyArray<Omission>) {
      const rows = requests.map((request) =>
        // All rows of one statement have the same columns.
        table.insert({
          ...request,
          organizationId: request.organizationId ?? null,
          workspaceId: request.workspaceId ?? null,
          keyHash: request.keyHash ?? null,
          model: storable(request.model),
          message: storable(request.message)
        })
      )
      if (Array.isReadonlyArrayNonEmpty(rows)) {
        // They are written again if the answer to a commit was lost.
        yield* sql`INSERT INTO rejected_requests ${sql.insert(rows)} ON CONFLICT (id) DO NOTHING`
      }
      for (const { id, omitted } of omissions) {
        yield* sql`UPDATE rejected_requests SET omitted = ${omitted} WHERE id = ${id}`
      }
    },
    sql.withTransaction,
    mapSqlError("RejectedRequests.write")
  )

  const ofOrganization = (id: string) => sql`(organization_id = ${id} OR organization_id IS NULL)`

  const list = Effect.fn("RejectedRequests.list")(
    (organizationId: string, filter: Filter = {}, page?: Page.Request) => {
      const visible = ofOrganization(organizationId)
      return Page.readByTime(
        sql,
        {
          table: "rejected_requests",
          time: "created_at",
          from: filter.from,
          to: filter.to,
          found: { request_id: filter.requestId },
          isFew: filter.requestId !== undefined,
          equal: { key_hash: filter.keyHash, operation: filter.operation, status: filter.status },
          visible,
          wanted: Page.inWorkspaces(sql, visible, filter.workspaceIds),
          item: table.read
        },
        page
      )
    },
    mapSqlError("RejectedRequests.list")
  )

  const purge = Effect.fn("RejectedRequests.purge")(
    (age: Duration.Duration) => Purge.oldest(sql, { table: "rejected_requests", age, rows: limit }),
    mapSqlError("RejectedRequests.purge")
  )

  return RejectedRequests.of({ write, list, purge })
})

/** The rejected requests in the database. */
export const layerSql: Layer.Layer<RejectedRequests, never, SqlClient> = Layer.effect(RejectedRequests, make(maxRows))

/**
 * Deletes old ones in the background, at the start and then at an interval (default: 10 minutes).
 * `retention.rejectedRequests` of {@link GatewayServerConfig} says what is old.
 */
export const layerBackground = (options?: {
  readonly every?: Duration.Input | undefined
}): Layer.Layer<never, never, RejectedRequests> =>
  Background.layer({
    work: Effect.gen(function* () {
      const { retention } = yield* GatewayServerConfig
      return yield* (yield* RejectedRequests).purge(retention.rejectedRequests)
    }),
    every: options?.every ?? "10 minutes",
    failure: "Old rejected requests could not be deleted"
  })
