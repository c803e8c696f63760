/**
 * The deliveries of webhooks. A delivery is one event for one URL, with its attempts.
 *
 * A delivery is written in the transaction that ends the job or changes the state of the alert, so
 * that neither exists without the other. Any process claims it when it is due. A claim lasts {@link
 * claimFor} unless it is extended, so the deliveries of a process that dies are taken over after
 * that time.
 */
import { DeliveryStatus, DeliveryType } from "@model-gateway/core/Webhooks"
import { Clock, Context, Data, Duration, Effect, Latch, Layer, Schema } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { Model } from "effect/schema"
import { SqlClient } from "effect/sql/SqlClient"
import type { Row } from "effect/sql/SqlConnection"
import type { SqlError } from "effect/sql/SqlError"
import * as Workspace from "../access/Workspace.ts"
import * as OutboundUrl from "../outbound/OutboundUrl.ts"
import * as Tracing from "../observability/Tracing.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import * as Page from "../storage/sql/Page.ts"
import * as Purge from "../storage/sql/Purge.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"
import * as Table from "../storage/sql/Table.ts"

/** The table `webhook_deliveries`. Times are epoch milliseconds. */
class StoredDelivery extends Model.Class<StoredDelivery>("Delivery")({
  /** The `webhook-id`. */
  id: Table.constant(Schema.String),
  workspaceId: Table.constant(Schema.String),
  /** The video job, or the firing of an alert. */
  jobId: Table.constant(Schema.String),
  type: Table.constant(DeliveryType),
  url: Table.constant(Schema.String),
  /** The host of the URL, for fairness among hosts. */
  host: Table.constant(Schema.String),
  /** What is sent, the same on every attempt. */
  body: Table.constant(Schema.String),
  status: DeliveryStatus,
  /** Failed attempts since the schedule started. */
  tries: Table.Whole,
  claim: Table.nullable(Schema.String),
  dueAt: Table.nullable(Table.Whole),
  createdAt: Table.constant(Table.Whole),
  /** The trace of what it reports, as a `traceparent`. */
  traceParent: Table.constantOrNull(Schema.String),
  /** When it was delivered or given up. */
  finishedAt: Table.nullable(Table.Whole)
}) {}

const deliveries = Table.make(StoredDelivery)

/** The table `webhook_attempts`. */
class StoredAttempt extends Model.Class<StoredAttempt>("DeliveryAttempt")({
  deliveryId: Table.constant(Schema.String),
  id: Table.constant(Schema.String),
  /** Epoch milliseconds. */
  attemptedAt: Table.constant(Table.Whole),
  /** The status of the response. Null if there was none. */
  status: Table.constantOrNull(Table.Whole),
  durationMillis: Table.constant(Table.Whole),
  /** Why it failed. Null if it did not. */
  error: Table.constantOrNull(Schema.String),
  /** The start of the response's body, if the attempt failed and it is fit to be shown. */
  excerpt: Table.constantOrNull(Schema.String)
}) {}

const attempts = Table.make(StoredAttempt, { durationMillis: "duration_ms" })

/** An event to deliver. */
export type NewDelivery = Pick<StoredDelivery, "id" | "workspaceId" | "jobId" | "type" | "url" | "body">

/** One attempt. */
export type DeliveryAttempt = Omit<StoredAttempt, "deliveryId" | "id">

/** A stored delivery. */
export interface Delivery extends NewDelivery, Pick<StoredDelivery, "status" | "tries" | "createdAt" | "finishedAt"> {
  /** When the next attempt is due. Null if there is none, or one is in progress. */
  readonly nextAttemptAt: number | null
  /** The latest {@link maxAttempts}, oldest first. */
  readonly attempts: ReadonlyArray<DeliveryAttempt>
}

/** A delivery that is due. */
export type Due = Pick<StoredDelivery, "id" | "workspaceId" | "host">

/** A delivery that this process sends now. */
export interface Claimed extends NewDelivery, Pick<StoredDelivery, "tries" | "traceParent"> {
  readonly claim: string
}

/** What happens after an attempt. */
export type Next =
  | { readonly status: "delivered" | "failed" }
  | { readonly status: "pending"; readonly after: Duration.Duration }

/** Selects deliveries of a list. */
export interface Filter {
  readonly status?: DeliveryStatus | undefined
  readonly type?: DeliveryType | undefined
  /** Those of one job. They are one page. */
  readonly jobId?: string | undefined
}

/** The organization has no such delivery (status 404). */
export class DeliveryNotFound extends Data.TaggedError("DeliveryNotFound")<{ readonly id: string }> {
  override readonly message = "There is no such delivery."
}

/** The deliveries. */
export class DeliveryStore extends Context.Service<
  DeliveryStore,
  {
    /** Writes a delivery as part of the current transaction. */
    readonly write: (delivery: NewDelivery) => Effect.Effect<void, StorageError>
    /**
     * Deliveries that are due, at most `limit`, oldest first, but none of these workspaces and none
     * of these workspaces' hosts.
     */
    readonly due: (
      limit: number,
      except: {
        readonly workspaces: ReadonlyArray<string>
        readonly hosts: ReadonlyArray<readonly [workspaceId: string, host: string]>
      }
    ) => Effect.Effect<ReadonlyArray<Due>, StorageError>
    /**
     * Postpones what is due to a host of a workspace, at most {@link maxPostponed} deliveries.
     * Returns their number.
     */
    readonly postpone: (
      receiver: Pick<Due, "workspaceId" | "host">,
      by: Duration.Duration
    ) => Effect.Effect<number, StorageError>
    /** Claims a delivery that is due. Undefined if another process was first. */
    readonly claim: (id: string) => Effect.Effect<Claimed | undefined, StorageError>
    /**
     * Waits until this process has made a delivery due since the last wait. Other processes notice
     * it at their next look.
     */
    readonly awaitDue: Effect.Effect<void>
    /** Extends claims. */
    readonly extend: (claimed: ReadonlyArray<Claimed>) => Effect.Effect<void, StorageError>
    /** Gives a claim up: the delivery is due again. */
    readonly release: (claimed: Claimed) => Effect.Effect<void, StorageError>
    /** Records an attempt and what follows. What follows is ignored if the claim was lost. */
    readonly record: (claimed: Claimed, attempt: DeliveryAttempt, next: Next) => Effect.Effect<void, StorageError>
    readonly get: (organizationId: string, id: string) => Effect.Effect<Delivery, DeliveryNotFound | StorageError>
    /** Those of these ids that there are, at most a few hundred. */
    readonly some: (ids: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<Delivery>, StorageError>
    /** Newest first. */
    readonly list: (
      workspaceId: string,
      filter: Filter,
      page: Page.Request
    ) => Effect.Effect<Page.Page<Delivery>, Page.UnknownCursor | StorageError>
    /** Makes a delivery due at once, and starts its schedule over. */
    readonly redeliver: (organizationId: string, id: string) => Effect.Effect<Delivery, DeliveryNotFound | StorageError>
    /** Deletes deliveries that were finished longer ago than this. Returns their number. */
    readonly purge: (age: Duration.Duration) => Effect.Effect<number, StorageError>
  }
>()("@model-gateway/server/webhooks/DeliveryStore") {}

/** How long a claim lasts. */
export const claimFor = Duration.seconds(10)

/** The maximum number of deliveries that one statement postpones. */
export const maxPostponed = 500

/** The number of attempts that are kept for each delivery. */
export const maxAttempts = 50

const hostOf = (text: string): string => {
  const url = URL.parse(text)
  return url === null ? "" : OutboundUrl.hostOf(url)
}

const fromRow = (row: Row, attempts: ReadonlyArray<DeliveryAttempt>): Delivery => {
  const { claim, dueAt, host: _host, traceParent: _traceParent, ...delivery } = deliveries.read(row)
  const nextAttemptAt = dueAt === null || claim !== null ? null : Math.max(dueAt, delivery.createdAt)
  return { ...delivery, nextAttemptAt, attempts }
}

const attemptFromRow = (row: Row): DeliveryAttempt => {
  const { deliveryId: _deliveryId, id: _id, ...attempt } = attempts.read(row)
  return attempt
}

/** Deletes the deliveries that the query finds and locks. Returns their number. */
export const deleteSome = (sql: SqlClient) => (found: Effect.Effect<ReadonlyArray<Row>, SqlError>) =>
  Effect.gen(function* () {
    const ids = (yield* found).map((row) => Dialect.text(row, "id"))
    if (ids.length === 0) return 0
    yield* sql`DELETE FROM webhook_attempts WHERE ${sql.in("delivery_id", ids)}`
    yield* sql`DELETE FROM webhook_deliveries WHERE ${sql.in("id", ids)}`
    return ids.length
  }).pipe(sql.withTransaction)

/** Makes the store over the database in the context. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const random = yield* SecureRandom
  /** Opened when this process writes a delivery, so that its worker looks at once. */
  const written = yield* Latch.make()

  const withAttempts = Effect.fnUntraced(function* (rows: ReadonlyArray<Row>) {
    if (rows.length === 0) return []
    const ids = rows.map((row) => Dialect.text(row, "id"))
    const byDelivery = new Map<string, Array<DeliveryAttempt>>(ids.map((id) => [id, []]))
    const found = yield* sql`SELECT * FROM webhook_attempts WHERE ${sql.in("delivery_id", ids)}
      ORDER BY delivery_id, id`
    for (const row of found) byDelivery.get(Dialect.text(row, "delivery_id"))?.push(attemptFromRow(row))
    return rows.map((row) => fromRow(row, byDelivery.get(Dialect.text(row, "id")) ?? []))
  })

  const find = Effect.fnUntraced(function* (organizationId: string, id: string) {
    const [row] =
      yield* sql`SELECT d.* FROM webhook_deliveries d ${Workspace.joinOf(sql, "d.workspace_id", organizationId)}
      WHERE d.id = ${id}`
    const [delivery] = yield* withAttempts(row === undefined ? [] : [row])
    return delivery ?? (yield* new DeliveryNotFound({ id }))
  })

  const write = Effect.fn("DeliveryStore.write")(function* (delivery: NewDelivery) {
    const now = yield* Clock.currentTimeMillis
    const columns = deliveries.insert({
      ...delivery,
      host: hostOf(delivery.url),
      status: "pending",
      tries: 0,
      // Due in any case: the clock may have been ahead when the job ended.
      dueAt: 0,
      createdAt: now,
      traceParent: yield* Tracing.current
    })
    yield* sql`INSERT INTO webhook_deliveries ${sql.insert(columns)}`
    yield* sql.afterCommit(Effect.asVoid(written.open))
  }, mapSqlError("DeliveryStore.write"))

  const due: DeliveryStore["Service"]["due"] = Effect.fnUntraced(function* (limit, { hosts, workspaces }) {
    const now = yield* Clock.currentTimeMillis
    const rows = yield* sql`SELECT id, workspace_id, host FROM webhook_deliveries WHERE ${sql.and([
      sql`due_at <= ${now}`,
      ...workspaces.map((workspace) => sql`workspace_id <> ${workspace}`),
      ...hosts.map(([workspace, host]) => sql`NOT (workspace_id = ${workspace} AND host = ${host})`)
    ])} ORDER BY due_at LIMIT ${limit}`
    return rows.map((row) => ({
      id: Dialect.text(row, "id"),
      workspaceId: Dialect.text(row, "workspace_id"),
      host: Dialect.text(row, "host")
    }))
  }, mapSqlError("DeliveryStore.due"))

  const postpone: DeliveryStore["Service"]["postpone"] = Effect.fnUntraced(function* ({ host, workspaceId }, by) {
    const now = yield* Clock.currentTimeMillis
    // A claim that is due is that of a dead process.
    const rows = yield* sql`UPDATE webhook_deliveries
      SET claim = NULL, due_at = ${now + Math.ceil(Duration.toMillis(by))}
      WHERE due_at <= ${now} AND id IN (SELECT id FROM webhook_deliveries
        WHERE workspace_id = ${workspaceId} AND host = ${host} AND due_at <= ${now} LIMIT ${maxPostponed})
      RETURNING id`
    return rows.length
  }, mapSqlError("DeliveryStore.postpone"))

  const claim = Effect.fnUntraced(function* (id: string) {
    const now = yield* Clock.currentTimeMillis
    const claim = yield* random.uuidV4()
    const [row] = yield* sql`UPDATE webhook_deliveries
      SET claim = ${claim}, due_at = ${now + Duration.toMillis(claimFor)}
      WHERE id = ${id} AND due_at <= ${now} RETURNING *`
    return row === undefined ? undefined : { ...deliveries.read(row), claim }
  }, mapSqlError("DeliveryStore.claim"))

  const extend = Effect.fnUntraced(function* (claimed: ReadonlyArray<Claimed>) {
    if (claimed.length === 0) return
    const now = yield* Clock.currentTimeMillis
    yield* sql`UPDATE webhook_deliveries SET due_at = ${now + Duration.toMillis(claimFor)} WHERE ${sql.and([
      sql.in(
        "id",
        claimed.map(({ id }) => id)
      ),
      sql.in(
        "claim",
        claimed.map(({ claim }) => claim)
      )
    ])}`
  }, mapSqlError("DeliveryStore.extend"))

  const release = Effect.fnUntraced(function* ({ claim, id }: Claimed) {
    const now = yield* Clock.currentTimeMillis
    yield* sql`UPDATE webhook_deliveries SET claim = NULL, due_at = ${now} WHERE id = ${id} AND claim = ${claim}`
  }, mapSqlError("DeliveryStore.release"))

  const record = Effect.fn("DeliveryStore.record")(
    function* ({ claim, id }: Claimed, attempt: DeliveryAttempt, next: Next) {
      const now = yield* Clock.currentTimeMillis
      const made = attempts.insert({ ...attempt, deliveryId: id, id: yield* random.uuidV7() })
      yield* sql`INSERT INTO webhook_attempts ${sql.insert(made)}`
      yield* sql`DELETE FROM webhook_attempts WHERE delivery_id = ${id} AND id NOT IN (
        SELECT id FROM webhook_attempts WHERE delivery_id = ${id} ORDER BY id DESC LIMIT ${maxAttempts})`
      const isPending = next.status === "pending"
      const columns = deliveries.update({
        status: next.status,
        claim: null,
        dueAt: isPending ? now + Math.ceil(Duration.toMillis(next.after)) : null,
        finishedAt: isPending ? null : now
      })
      yield* sql`UPDATE webhook_deliveries SET ${sql.update(columns)},
        tries = tries + ${next.status === "delivered" ? 0 : 1} WHERE id = ${id} AND claim = ${claim}`
    },
    sql.withTransaction,
    mapSqlError("DeliveryStore.record")
  )

  const rowsOf =
    (workspaceId: string, { status, type }: Filter) =>
    (place: Page.Place, limit: number) =>
      sql`SELECT * FROM webhook_deliveries WHERE ${sql.and([
        sql`workspace_id = ${workspaceId}`,
        ...(status === undefined ? [] : [sql`status = ${status}`]),
        ...(type === undefined ? [] : [sql`type = ${type}`]),
        sql`(created_at, id) < (${place.createdAt}, ${place.name})`
      ])} ORDER BY created_at DESC, id DESC LIMIT ${limit}`

  const ofJob = Effect.fnUntraced(function* (workspaceId: string, jobId: string, { status, type }: Filter) {
    const rows = yield* sql`SELECT * FROM webhook_deliveries WHERE job_id = ${jobId} ORDER BY id DESC`
    return rows.filter(
      (row) =>
        row.workspace_id === workspaceId &&
        (status === undefined || row.status === status) &&
        (type === undefined || row.type === type)
    )
  })

  const list = Effect.fn("DeliveryStore.list")(function* (workspaceId: string, filter: Filter, page: Page.Request) {
    if (filter.jobId !== undefined) {
      return { items: yield* withAttempts(yield* ofJob(workspaceId, filter.jobId, filter)), hasMore: false }
    }
    const { hasMore, items } = yield* Page.read(
      {
        start: Page.newestFirst,
        createdAt: (after) =>
          Page.createdAt(
            sql`SELECT created_at FROM webhook_deliveries WHERE id = ${after} AND workspace_id = ${workspaceId}`
          ),
        rows: rowsOf(workspaceId, filter),
        item: (row) => row
      },
      page
    )
    return { items: yield* withAttempts(items), hasMore }
  }, mapSqlError("DeliveryStore.list"))

  const redeliver = Effect.fn("DeliveryStore.redeliver")(
    function* (organizationId: string, id: string) {
      yield* find(organizationId, id)
      const columns = deliveries.update({ status: "pending", tries: 0, claim: null, dueAt: 0, finishedAt: null })
      yield* sql`UPDATE webhook_deliveries SET ${sql.update(columns)} WHERE id = ${id}`
      yield* sql.afterCommit(Effect.asVoid(written.open))
      return yield* find(organizationId, id)
    },
    sql.withTransaction,
    mapSqlError("DeliveryStore.redeliver")
  )

  const deleteDue = (end: number) =>
    deleteSome(sql)(sql`SELECT id FROM webhook_deliveries WHERE finished_at <= ${end}
      ORDER BY finished_at LIMIT ${Purge.atOnce} ${Dialect.locked(sql)}`)

  const some = Effect.fn("DeliveryStore.some")(function* (ids: ReadonlyArray<string>) {
    if (ids.length === 0) return []
    return yield* withAttempts(yield* sql`SELECT * FROM webhook_deliveries WHERE ${sql.in("id", ids)}`)
  }, mapSqlError("DeliveryStore.some"))

  return DeliveryStore.of({
    write,
    some,
    due,
    postpone,
    awaitDue: Effect.andThen(written.await, written.close),
    claim,
    extend,
    release,
    record,
    list,
    redeliver,
    get: (organizationId, id) => find(organizationId, id).pipe(mapSqlError("DeliveryStore.get")),
    purge: Effect.fn("DeliveryStore.purge")(function* (age: Duration.Duration) {
      const end = Math.floor((yield* Clock.currentTimeMillis) - Duration.toMillis(age))
      return yield* Purge.all(deleteDue(end))
    }, mapSqlError("DeliveryStore.purge"))
  })
})

/** The deliveries in the database. */
export const layerSql: Layer.Layer<DeliveryStore, never, SqlClient | SecureRandom> = Layer.effect(DeliveryStore, make)
