/**
 * The broadcast destinations of workspaces, and how far each has been served. Their secrets are
 * encrypted by the vault, and so are their URLs, which may contain a token.
 *
 * A destination remembers the sequence of the last event that is done with: delivered, dropped or
 * not meant for it. One process at a time serves a destination: it writes its id into the row. When
 * that process is dead, another one takes over at that sequence, so every event is delivered at
 * least once.
 */
import type { DestinationType } from "@model-gateway/core/Destinations"
import { Clock, Context, Data, Effect, Layer, Redacted, Schema } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { SqlClient } from "effect/sql/SqlClient"
import type { Row } from "effect/sql/SqlConnection"
import * as Dialect from "../storage/sql/Dialect.ts"
import { Outbox } from "../events/Outbox.ts"
import * as Page from "../storage/sql/Page.ts"
import { ProcessInstance } from "../storage/sql/ProcessInstance.ts"
import * as SealedJson from "../access/SealedJson.ts"
import type { Vault } from "../access/Vault.ts"
import * as Workspace from "../access/Workspace.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"
import { type Delivery, type Destination, Secrets, type Settings, table, type WithDelivery } from "./Destination.ts"

/** The maximum number of destinations of one workspace. Each costs a reader of the outbox. */
export const maxPerWorkspace = 20

/** The organization has no such destination (status 404). */
export class DestinationNotFound extends Data.TaggedError("DestinationNotFound")<{ readonly id: string }> {
  override readonly message = "There is no such destination."
}

/** The workspace has {@link maxPerWorkspace} destinations (status 400). */
export class TooManyDestinations extends Data.TaggedError("TooManyDestinations")<{ readonly workspaceId: string }> {
  override readonly message = `A workspace has at most ${maxPerWorkspace} destinations.`
}

/** A new destination. */
export interface CreateDestination extends Settings {
  readonly organizationId: string
  readonly workspaceId: string
  readonly type: DestinationType
}

/** What became of events that were sent. */
export interface Sent {
  /** When some were accepted. Undefined: none were. */
  readonly acceptedAt?: number | undefined
  /** How many were given up or set aside. */
  readonly dropped: number
  /** Why some were not accepted. */
  readonly error?: { readonly message: string; readonly at: number } | undefined
  /** When the oldest one of those that are still to be sent was written. Null: there are none. */
  readonly waitingSince: number | null
}

/** A destination that this process serves. */
export interface Served {
  readonly id: string
  /** Changes whenever the destination does. */
  readonly revision: number
}

/** The destinations. */
export class DestinationStore extends Context.Service<
  DestinationStore,
  {
    /** The first event that the destination gets is the next one that is written. */
    readonly create: (
      input: CreateDestination
    ) => Effect.Effect<WithDelivery, TooManyDestinations | Workspace.WorkspaceNotFound | StorageError>
    readonly get: (
      organizationId: string,
      id: string
    ) => Effect.Effect<WithDelivery, DestinationNotFound | StorageError>
    /** Newest first. */
    readonly list: (
      workspaceId: string,
      request?: Page.OffsetRequest
    ) => Effect.Effect<Page.CountedPage<WithDelivery>, StorageError>
    /** `change` makes the new settings. A destination that is enabled again gets no old events. */
    readonly update: <E>(
      organizationId: string,
      id: string,
      change: (present: Destination) => Effect.Effect<Settings, E>
    ) => Effect.Effect<WithDelivery, E | DestinationNotFound | StorageError>
    readonly remove: (organizationId: string, id: string) => Effect.Effect<void, DestinationNotFound | StorageError>
    /** The enabled destinations that this process serves. It takes over those of dead processes. */
    readonly serve: Effect.Effect<ReadonlyArray<Served>, StorageError>
    /** A destination to serve, and its sequence. Undefined if another process serves it now. */
    readonly open: (
      id: string
    ) => Effect.Effect<{ readonly destination: Destination; readonly delivered: number } | undefined, StorageError>
    /** Records what was sent. Does nothing if another process serves the destination now. */
    readonly record: (id: string, sent: Sent) => Effect.Effect<void, StorageError>
    /**
     * Sets the sequence: nothing waits. `acceptedAt` is when an event was accepted since the last
     * record, if one was. False if another process serves the destination now.
     */
    readonly advance: (id: string, sequence: number, acceptedAt?: number) => Effect.Effect<boolean, StorageError>
    /**
     * Encrypts the secrets under the current master key. Returns the number of destinations that
     * were under another one.
     */
    readonly rewrap: Effect.Effect<number, StorageError>
  }
>()("@model-gateway/server/broadcast/DestinationStore") {}

/** What is encrypted. */
const Sealed = Schema.Struct({ ...Secrets.fields, url: Schema.String })

/** The ids of the master keys that encrypted their secrets. */
export const masterKeyIds = Effect.gen(function* () {
  const sql = yield* SqlClient
  const rows = yield* sql`SELECT secrets FROM destinations`
  return yield* SealedJson.masterKeyIds(rows.map((row) => Dialect.text(row, "secrets")))
}).pipe(mapSqlError("DestinationStore.masterKeyIds"))

const noDelivery: Delivery = { deliveredAt: null, waitingSince: null, dropped: 0, error: null, errorAt: null }

/** Makes the store over the database in the context. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const random = yield* SecureRandom
  const process = yield* ProcessInstance
  const secrets = yield* SealedJson.make(Sealed, "DestinationStore.secrets")
  const outbox = yield* Outbox

  /** What the secrets of a destination are encrypted for. */
  const ownerOf = (workspaceId: string, id: string) => ({ workspaceId, purpose: `destination ${id}` })

  const fromRow = Effect.fnUntraced(function* (row: Row) {
    const { id, organizationId, workspaceId, name, type, enabled, options, createdAt, updatedAt, ...stored } =
      table.read(row)
    const { deliveredAt, dropped, error, errorAt, waitingSince } = stored
    const { url, ...opened } = yield* secrets.open(stored.secrets, ownerOf(workspaceId, id))
    return {
      id,
      organizationId,
      workspaceId,
      name,
      type,
      enabled,
      options: { ...options, url },
      secrets: Redacted.make(opened),
      createdAt,
      updatedAt,
      delivery: { deliveredAt, waitingSince, dropped, error, errorAt }
    } satisfies WithDelivery
  })

  /** What is stored of the settings. */
  const storedOf = Effect.fnUntraced(function* (settings: Settings, workspaceId: string, id: string) {
    const { url, ...options } = settings.options
    return {
      name: settings.name,
      enabled: settings.enabled,
      options,
      secrets: yield* secrets.seal({ ...Redacted.value(settings.secrets), url }, ownerOf(workspaceId, id))
    }
  })

  const lock = (id: string) => Dialect.lock(sql, sql`SELECT 1 FROM destinations WHERE id = ${id}`)

  const find = Effect.fnUntraced(function* (organizationId: string, id: string) {
    const [row] = yield* sql`SELECT * FROM destinations WHERE id = ${id} AND organization_id = ${organizationId}`
    return row === undefined ? yield* new DestinationNotFound({ id }) : row
  })

  const count = (workspaceId: string) =>
    Effect.map(sql`SELECT COUNT(*) AS total FROM destinations WHERE workspace_id = ${workspaceId}`, ([row]) =>
      row === undefined ? 0 : Dialect.int(row, "total")
    )

  const insert = Effect.fnUntraced(function* (
    id: string,
    { organizationId, type, workspaceId, ...settings }: CreateDestination,
    stored: Effect.Success<ReturnType<typeof storedOf>>
  ) {
    yield* Workspace.lock(sql, workspaceId)
    if ((yield* count(workspaceId)) >= maxPerWorkspace) return yield* new TooManyDestinations({ workspaceId })
    const now = yield* Clock.currentTimeMillis
    const destination = table.insert({
      ...stored,
      id,
      organizationId,
      workspaceId,
      type,
      revision: 1,
      delivered: yield* outbox.newest,
      dropped: 0,
      createdAt: now,
      updatedAt: now
    })
    yield* sql`INSERT INTO destinations ${sql.insert(destination)}`
    return { id, organizationId, workspaceId, type, ...settings, createdAt: now, updatedAt: now, delivery: noDelivery }
  }, sql.withTransaction)

  const create = Effect.fn("DestinationStore.create")(function* (input: CreateDestination) {
    const id = yield* random.uuidV7()
    // Before the transaction: the vault may need another connection, and the workspace must not
    // wait for it.
    const stored = yield* storedOf(input, input.workspaceId, id)
    return yield* insert(id, input, stored)
  }, mapSqlError("DestinationStore.create"))

  const list = Effect.fn("DestinationStore.list")(function* (workspaceId: string, request?: Page.OffsetRequest) {
    // At most maxPerWorkspace rows.
    const rows = yield* sql`SELECT * FROM destinations WHERE workspace_id = ${workspaceId}
      ORDER BY created_at DESC, id DESC`
    const { items, totalCount } = Page.ofAll(rows, request)
    return { items: yield* Effect.forEach(items, fromRow), totalCount }
  }, mapSqlError("DestinationStore.list"))

  const update = <E>(
    organizationId: string,
    id: string,
    change: (present: Destination) => Effect.Effect<Settings, E>
  ): Effect.Effect<WithDelivery, E | DestinationNotFound | StorageError> =>
    Effect.gen(function* () {
      yield* lock(id)
      const row = yield* find(organizationId, id)
      const present = yield* fromRow(row)
      const settings = yield* change(present)
      const updatedAt = yield* Clock.currentTimeMillis
      const isEnabledAgain = settings.enabled && !present.enabled
      const { delivered, revision } = table.read(row)
      const columns = table.update({
        ...(yield* storedOf(settings, present.workspaceId, id)),
        revision: revision + 1,
        delivered: isEnabledAgain ? yield* outbox.newest : delivered,
        // What waits is sent again under the new settings, or not at all.
        waitingSince: null,
        updatedAt
      })
      yield* sql`UPDATE destinations SET ${sql.update(columns)} WHERE id = ${id}`
      return { ...present, ...settings, updatedAt, delivery: { ...present.delivery, waitingSince: null } }
    }).pipe(sql.withTransaction, mapSqlError("DestinationStore.update"), Effect.withSpan("DestinationStore.update"))

  const remove = Effect.fn("DestinationStore.remove")(
    function* (organizationId: string, id: string) {
      yield* lock(id)
      yield* find(organizationId, id)
      yield* sql`DELETE FROM destinations WHERE id = ${id}`
    },
    sql.withTransaction,
    mapSqlError("DestinationStore.remove")
  )

  const serve = Effect.gen(function* () {
    const rows = yield* sql`SELECT id, revision, process_id FROM destinations WHERE enabled = 1`
    // Read at most once, and not at all while no other process serves a destination.
    const alive = yield* Effect.cached(process.alive)
    const served: Array<Served> = []
    for (const row of rows) {
      const id = Dialect.text(row, "id")
      const owner = Dialect.textOrNull(row, "process_id")
      if (owner !== process.id) {
        if (owner !== null && (yield* alive).has(owner)) continue
        const previous = owner === null ? sql`process_id IS NULL` : sql`process_id = ${owner}`
        const taken = yield* sql`UPDATE destinations SET process_id = ${process.id}
          WHERE id = ${id} AND ${previous} RETURNING id`
        if (taken.length === 0) continue
      }
      served.push({ id, revision: Dialect.int(row, "revision") })
    }
    return served
  }).pipe(mapSqlError("DestinationStore.serve"))

  const rewrapped = Effect.fnUntraced(function* (id: string) {
    yield* lock(id)
    const [row] = yield* sql`SELECT id, workspace_id, secrets FROM destinations WHERE id = ${id}`
    if (row === undefined) return false
    const owner = ownerOf(Dialect.text(row, "workspace_id"), id)
    const sealed = yield* secrets.rewrap(Dialect.text(row, "secrets"), owner)
    if (sealed === undefined) return false
    yield* sql`UPDATE destinations SET secrets = ${sealed} WHERE id = ${id}`
    return true
  }, sql.withTransaction)

  const rewrap = Effect.gen(function* () {
    const rows = yield* sql`SELECT id FROM destinations ORDER BY id`
    const changes = yield* Effect.forEach(rows, (row) => rewrapped(Dialect.text(row, "id")))
    return changes.filter((changed) => changed).length
  }).pipe(mapSqlError("DestinationStore.rewrap"), Effect.withSpan("DestinationStore.rewrap"))

  return DestinationStore.of({
    create,
    get: (organizationId, id) =>
      Effect.flatMap(find(organizationId, id), fromRow).pipe(mapSqlError("DestinationStore.get")),
    list,
    update,
    remove,
    serve,
    rewrap,
    open: Effect.fn("DestinationStore.open")(function* (id: string) {
      const [row] = yield* sql`SELECT * FROM destinations WHERE id = ${id} AND process_id = ${process.id}`
      if (row === undefined) return undefined
      return { destination: yield* fromRow(row), delivered: Dialect.int(row, "delivered") }
    }, mapSqlError("DestinationStore.open")),
    record: Effect.fn("DestinationStore.record")(function* (id: string, sent: Sent) {
      const columns = {
        waiting_since: sent.waitingSince,
        ...(sent.acceptedAt === undefined ? {} : { delivered_at: sent.acceptedAt }),
        ...(sent.error === undefined ? {} : { error: sent.error.message, error_at: sent.error.at })
      }
      yield* sql`UPDATE destinations SET ${sql.update(columns)}, dropped = dropped + ${sent.dropped}
        WHERE id = ${id} AND process_id = ${process.id}`
    }, mapSqlError("DestinationStore.record")),
    advance: Effect.fn("DestinationStore.advance")(function* (id: string, sequence: number, acceptedAt?: number) {
      const accepted = acceptedAt === undefined ? {} : { delivered_at: acceptedAt }
      const rows =
        yield* sql`UPDATE destinations SET ${sql.update({ delivered: sequence, waiting_since: null, ...accepted })}
        WHERE id = ${id} AND process_id = ${process.id} RETURNING id`
      return rows.length > 0
    }, mapSqlError("DestinationStore.advance"))
  })
})

/** The store over the database. */
export const layerSql: Layer.Layer<
  DestinationStore,
  never,
  SqlClient | Outbox | SecureRandom | ProcessInstance | Vault
> = Layer.effect(DestinationStore, make)
