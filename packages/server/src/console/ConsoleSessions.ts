/**
 * Sessions of the console.
 *
 * A session ends 30 minutes after its last request, 8 hours after its start, or when the key that it
 * was started with can no longer be used. Its token is only in the cookie of a browser; the database
 * has the hash.
 */
import { Role } from "@model-gateway/core/Identifiers"
import { Clock, Context, type Duration, Effect, Layer, type Redacted, Schema } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { Model } from "effect/schema"
import { SqlClient } from "effect/sql/SqlClient"
import * as Background from "../internal/Background.ts"
import * as Page from "../storage/sql/Page.ts"
import * as Purge from "../storage/sql/Purge.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"
import * as Table from "../storage/sql/Table.ts"
import * as Token from "./Token.ts"

/** How it was started: with a management key, a one-time link, a provider of identities, or by a proxy. */
export const Kind = Schema.Literals(["link", "key", "oidc", "proxy"])

/** How a session was started. */
export type Kind = typeof Kind.Type

/** The table `console_sessions`. Times are epoch milliseconds. */
class StoredSession extends Model.Class<StoredSession>("ConsoleSession")({
  /** SHA-256 of the token in lowercase hex. */
  hash: Table.constant(Schema.String),
  /** A UUID v7, for lists and records. Null: an earlier version started it. */
  id: Table.constantOrNull(Schema.String),
  kind: Table.constant(Table.oneOf(Kind, "link")),
  /** The hash of the secret of the management key that it was started with. Null: of none. */
  secretHash: Table.constantOrNull(Schema.String),
  /** The hash of the management key, or another identifier of who it is. */
  actor: Table.constant(Schema.String),
  /** Who it is, in words. */
  label: Table.constant(Schema.String),
  organizationId: Table.constant(Schema.String),
  workspaceId: Table.constant(Schema.String),
  /** With a key, the key has the role and the workspaces. */
  role: Table.constant(Table.oneOf(Role, "viewer")),
  workspaceIds: Table.constantOrNull(Table.Texts),
  /** The network address that it was started from. Null: an earlier version started it. */
  address: Table.constantOrNull(Schema.String),
  createdAt: Table.constant(Table.Whole),
  /** The last request, with an error of {@link touchEvery}. */
  seenAt: Table.Whole,
  /** When it ends if there is no further request. */
  expiresAt: Table.Whole
}) {}

/** A session. */
export interface ConsoleSession extends StoredSession {}

/** Who starts a session. */
export type NewSession = Pick<
  ConsoleSession,
  "kind" | "secretHash" | "actor" | "label" | "organizationId" | "workspaceId" | "role" | "workspaceIds"
>

/** A new session. `plain` is for the cookie. */
export interface StartedSession {
  readonly plain: Redacted.Redacted<string>
  readonly session: ConsoleSession
}

/** The time without a request after which a session ends, in milliseconds. */
export const idleFor = 30 * 60_000

/** The longest time that a session lasts, in milliseconds. */
export const lastsFor = 8 * 3_600_000

/** Requests within this time of a recorded one are not recorded, so that few of them write. */
const touchEvery = 60_000

/** The sessions of one actor. Beyond it, the oldest end. */
export const maxPerActor = 100

/** All sessions. Beyond it, those end that would end first. */
export const maxSessions = 10_000

/** How many a statement deletes that are too many. */
const tooMany = 100

/** How many sessions a list has at most. */
const maxListed = 1000

/** The sessions. */
export class ConsoleSessions extends Context.Service<
  ConsoleSessions,
  {
    /** `address` is the network address of the browser. */
    readonly start: (session: NewSession, address: string) => Effect.Effect<StartedSession, StorageError>
    /** The session of a token that has not ended. Records that there was a request. */
    readonly find: (plain: Redacted.Redacted<string>) => Effect.Effect<ConsoleSession | undefined, StorageError>
    readonly end: (hash: string) => Effect.Effect<void, StorageError>
    /** The sessions of an organization that have not ended. Those that were used last are first. */
    readonly list: (organizationId: string) => Effect.Effect<Page.Page<ConsoleSession>, StorageError>
    /** The session with this id. Undefined: the organization has none, or it has ended. */
    readonly get: (organizationId: string, id: string) => Effect.Effect<ConsoleSession | undefined, StorageError>
    /** Ends the sessions of an organization. Returns their number. */
    readonly endAll: (organizationId: string) => Effect.Effect<number, StorageError>
    /** Deletes the sessions that have ended. Returns their number. */
    readonly purge: Effect.Effect<number, StorageError>
  }
>()("@model-gateway/server/console/ConsoleSessions") {}

const table = Table.make(StoredSession)

/** When a session ends that began and was last used at these times. */
const endOf = (createdAt: number, seenAt: number): number => Math.min(createdAt + lastsFor, seenAt + idleFor)

/** Makes the service over the database in the context. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const random = yield* SecureRandom
  const columns = sql.literal(table.columns)

  const start = Effect.fn("ConsoleSessions.start")(
    function* (input: NewSession, address: string) {
      const now = yield* Clock.currentTimeMillis
      const { hash, plain } = yield* Token.make(random)
      const id = yield* random.uuidV7()
      const session: ConsoleSession = {
        ...input,
        hash,
        id,
        address,
        createdAt: now,
        seenAt: now,
        expiresAt: endOf(now, now)
      }
      yield* sql`INSERT INTO console_sessions ${sql.insert(table.insert(session))}`
      yield* sql`DELETE FROM console_sessions WHERE hash IN (SELECT hash FROM console_sessions
        WHERE actor = ${input.actor} ORDER BY created_at DESC, hash DESC LIMIT ${tooMany} OFFSET ${maxPerActor})`
      yield* sql`DELETE FROM console_sessions WHERE hash IN (SELECT hash FROM console_sessions
        WHERE expires_at >= 0 ORDER BY expires_at DESC, hash DESC LIMIT ${tooMany} OFFSET ${maxSessions})`
      return { plain, session }
    },
    sql.withTransaction,
    mapSqlError("ConsoleSessions.start")
  )

  const find = Effect.fn("ConsoleSessions.find")(function* (plain: Redacted.Redacted<string>) {
    const hash = Token.hashOf(plain)
    if (hash === undefined) return undefined
    const [row] = yield* sql`SELECT ${columns} FROM console_sessions WHERE hash = ${hash}`
    if (row === undefined) return undefined
    const session = table.read(row)
    const now = yield* Clock.currentTimeMillis
    if (session.expiresAt <= now) return undefined
    if (now - session.seenAt < touchEvery) return session
    const change = { seenAt: now, expiresAt: endOf(session.createdAt, now) }
    yield* sql`UPDATE console_sessions SET ${sql.update(table.update(change))} WHERE hash = ${hash}`
    return { ...session, ...change }
  }, mapSqlError("ConsoleSessions.find"))

  const list = Effect.fn("ConsoleSessions.list")(function* (organizationId: string) {
    // An earlier version starts sessions without an id.
    const rows = yield* sql`SELECT ${columns} FROM console_sessions
      WHERE expires_at > ${yield* Clock.currentTimeMillis} AND organization_id = ${organizationId} AND id IS NOT NULL
      ORDER BY expires_at DESC, hash DESC LIMIT ${maxListed + 1}`
    return { items: yield* Page.itemsOf(rows.slice(0, maxListed), table.read), hasMore: rows.length > maxListed }
  }, mapSqlError("ConsoleSessions.list"))

  const get = Effect.fn("ConsoleSessions.get")(function* (organizationId: string, id: string) {
    const [row] = yield* sql`SELECT ${columns} FROM console_sessions
      WHERE id = ${id} AND organization_id = ${organizationId} AND expires_at > ${yield* Clock.currentTimeMillis}`
    return row === undefined ? undefined : table.read(row)
  }, mapSqlError("ConsoleSessions.get"))

  const endAll = Effect.fn("ConsoleSessions.endAll")(function* (organizationId: string) {
    const ended = yield* sql`DELETE FROM console_sessions
      WHERE expires_at > ${yield* Clock.currentTimeMillis} AND organization_id = ${organizationId} RETURNING hash`
    return ended.length
  }, mapSqlError("ConsoleSessions.endAll"))

  return ConsoleSessions.of({
    start,
    find,
    list,
    get,
    endAll,
    end: (hash) =>
      sql`DELETE FROM console_sessions WHERE hash = ${hash}`.pipe(Effect.asVoid, mapSqlError("ConsoleSessions.end")),
    purge: Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const some = sql`DELETE FROM console_sessions WHERE hash IN (
        SELECT hash FROM console_sessions WHERE expires_at <= ${now} LIMIT ${Purge.atOnce}) RETURNING hash`
      return yield* Purge.all(Effect.map(some, (rows) => rows.length))
    }).pipe(mapSqlError("ConsoleSessions.purge"))
  })
})

/** The sessions in the database. */
export const layerSql: Layer.Layer<ConsoleSessions, never, SqlClient | SecureRandom> = Layer.effect(
  ConsoleSessions,
  make
)

/** Purges in the background, at the start and then at an interval (default: 10 minutes). */
export const layerBackground = (options?: {
  readonly every?: Duration.Input | undefined
}): Layer.Layer<never, never, ConsoleSessions> =>
  Background.layer({
    work: Effect.flatMap(ConsoleSessions, ({ purge }) => purge),
    every: options?.every ?? "10 minutes",
    failure: "Sessions of the console that have ended could not be deleted"
  })
