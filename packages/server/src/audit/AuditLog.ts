/**
 * The changes that management keys, the command line and the gateway itself have made, and the
 * sign-ins to the console.
 *
 * The list is read by time, newest first, or by what was changed, each from an index. Other filters
 * have none. A page therefore looks at a limited number of rows, however few of them match, and
 * says where to continue.
 */
import { Clock, Context, type Duration, Effect, Layer, Schema } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { Model } from "effect/schema"
import { SqlClient } from "effect/sql/SqlClient"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import * as Background from "../internal/Background.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import * as Page from "../storage/sql/Page.ts"
import * as Purge from "../storage/sql/Purge.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"
import * as Table from "../storage/sql/Table.ts"

/** Some fields of what was changed, as JSON. */
export const Fields = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Json))

/** A change. Times are epoch milliseconds. */
export class AuditEntry extends Model.Class<AuditEntry>("AuditEntry")({
  /** A UUID v7. */
  id: Table.constant(Schema.String),
  createdAt: Table.constant(Table.Whole),
  organizationId: Table.constant(Schema.String),
  /** The hash of the management key, or another identifier: `operator`, `gateway`, `link:…`. */
  actor: Table.constant(Schema.String),
  actorLabel: Table.constant(Schema.String),
  actorRole: Table.constant(Schema.String),
  /** Null: the command line. */
  address: Table.constantOrNull(Schema.String),
  /** The name of the operation, or of what is no operation: `signIn`, `createConsoleLink`. */
  action: Table.constant(Schema.String),
  targetKind: Table.constant(Schema.String),
  targetId: Table.constant(Schema.String),
  before: Table.constantOrNull(Fields),
  after: Table.constantOrNull(Fields),
  requestId: Table.constant(Schema.String)
}) {}

const table = Table.make(AuditEntry, { before: "fields_before", after: "fields_after" })

/** A change to record. */
export type NewAuditEntry = Omit<typeof AuditEntry.insert.Type, "id" | "createdAt">

/** What {@link AuditLog} records of entries that everybody can cause. */
export interface Some {
  /** The maximum number of entries with the same target. */
  readonly limit: number
  /** The time that the limit is for, in milliseconds. */
  readonly within: number
}

/** Which changes to list. Times are epoch milliseconds. */
export interface Filter {
  readonly actor?: string | undefined
  readonly action?: string | undefined
  /** The identifier of what was changed. */
  readonly target?: string | undefined
  readonly from?: number | undefined
  /** The first time that is too late. */
  readonly to?: number | undefined
}

/** The audit log. */
export class AuditLog extends Context.Service<
  AuditLog,
  {
    /** Records a change. Run it in the transaction of the change. */
    readonly write: (entry: NewAuditEntry) => Effect.Effect<void, StorageError>
    /** Records an entry, unless the target has had too many. The last one says so. */
    readonly writeSome: (entry: NewAuditEntry, some: Some) => Effect.Effect<void, StorageError>
    readonly list: (
      organizationId: string,
      filter?: Filter,
      page?: Page.Request
    ) => Effect.Effect<Page.ByTime<AuditEntry>, Page.UnknownCursor | StorageError>
    /**
     * Deletes changes that are older than this, and the oldest above {@link maxRows}. Returns their
     * number.
     */
    readonly purge: (age: Duration.Duration) => Effect.Effect<number, StorageError>
  }
>()("@model-gateway/server/audit/AuditLog") {}

/** The maximum number of stored changes. Beyond it, the oldest are deleted. */
export const maxRows = 1_000_000

/** Makes the log over the database in the context. `limit` is the maximum number of rows. */
export const make = Effect.fnUntraced(function* (limit: number) {
  const sql = yield* SqlClient
  const random = yield* SecureRandom

  const write = Effect.fn("AuditLog.write")(function* (entry: NewAuditEntry) {
    const row = table.insert({ ...entry, id: yield* random.uuidV7(), createdAt: yield* Clock.currentTimeMillis })
    yield* sql`INSERT INTO audit_log ${sql.insert(row)}`
  }, mapSqlError("AuditLog.write"))

  const writeSome = Effect.fn("AuditLog.writeSome")(function* (entry: NewAuditEntry, { limit, within }: Some) {
    const since = (yield* Clock.currentTimeMillis) - within
    const [row] = yield* sql`SELECT count(*) AS entries FROM (SELECT 1 FROM audit_log
      WHERE target_id = ${entry.targetId} AND created_at > ${since} LIMIT ${limit}) counted`
    const entries = row === undefined ? 0 : Dialect.int(row, "entries")
    if (entries >= limit) return
    const isLast = entries === limit - 1
    yield* write(isLast ? { ...entry, after: { ...entry.after, further_ones_omitted: true } } : entry)
  }, mapSqlError("AuditLog.writeSome"))

  const list = Effect.fn("AuditLog.list")(
    (organizationId: string, { action, actor, from, target, to }: Filter = {}, page?: Page.Request) =>
      Page.readByTime(
        sql,
        {
          table: "audit_log",
          time: "created_at",
          from,
          to,
          found: { target_id: target },
          equal: { actor, action },
          visible: sql`organization_id = ${organizationId}`,
          item: table.read
        },
        page
      ),
    mapSqlError("AuditLog.list")
  )

  const purge = Effect.fn("AuditLog.purge")(
    (age: Duration.Duration) => Purge.oldest(sql, { table: "audit_log", age, rows: limit }),
    mapSqlError("AuditLog.purge")
  )

  return AuditLog.of({ write, writeSome, list, purge })
})

/** The log in the database. */
export const layerSql: Layer.Layer<AuditLog, never, SqlClient | SecureRandom> = Layer.effect(AuditLog, make(maxRows))

/**
 * Deletes old changes in the background, at the start and then at an interval (default: 10
 * minutes). `retention.audit` of {@link GatewayServerConfig} says what is old.
 */
export const layerBackground = (options?: {
  readonly every?: Duration.Input | undefined
}): Layer.Layer<never, never, AuditLog> =>
  Background.layer({
    work: Effect.gen(function* () {
      const { retention } = yield* GatewayServerConfig
      return yield* (yield* AuditLog).purge(retention.audit)
    }),
    every: options?.every ?? "10 minutes",
    failure: "Old entries of the audit log could not be deleted"
  })
