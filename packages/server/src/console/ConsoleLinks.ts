/** One-time links that sign in to the console without a key: their tokens. */
import { Role } from "@model-gateway/core/Identifiers"
import { Clock, Context, Data, type Duration, Effect, Layer, type Redacted, Schema } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { Model } from "effect/schema"
import { SqlClient } from "effect/sql/SqlClient"
import { AuditLog } from "../audit/AuditLog.ts"
import * as Background from "../internal/Background.ts"
import * as Timestamp from "../internal/Timestamp.ts"
import * as Purge from "../storage/sql/Purge.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"
import * as Table from "../storage/sql/Table.ts"
import * as Token from "./Token.ts"

/** The table `console_links`. Times are epoch milliseconds. */
class StoredLink extends Model.Class<StoredLink>("ConsoleLink")({
  /** SHA-256 of the token in lowercase hex. */
  hash: Table.constant(Schema.String),
  organizationId: Table.constant(Schema.String),
  workspaceId: Table.constant(Schema.String),
  role: Table.constant(Table.oneOf(Role, "viewer")),
  /** The workspaces that it is restricted to. Null: none. */
  workspaceIds: Table.constantOrNull(Table.Texts),
  createdAt: Table.constant(Table.Whole),
  expiresAt: Table.constant(Table.Whole),
  /** Null: not yet. */
  usedAt: Table.nullable(Table.Whole)
}) {}

/** A link. */
export interface ConsoleLink extends StoredLink {}

/** A link to make. */
export interface NewLink extends Pick<ConsoleLink, "organizationId" | "workspaceId" | "role" | "workspaceIds"> {
  /** In milliseconds. */
  readonly lifetime: number
  /** Who makes it: the command line, or the gateway at its first start. */
  readonly by: "operator" | "gateway"
}

/** What records have in place of the key of who signed in with a link. */
export const linkActor = (hash: string): string => `link:${hash.slice(0, 16)}`

/** Why a token does not sign in (status 401). */
export class InvalidLink extends Data.TaggedError("InvalidLink")<{ readonly reason: string }> {
  override readonly message = `${this.reason}. The command "model-gateway console link" prints another one.`
}

/** The default lifetime of a link, in milliseconds. */
export const defaultLifetime = 5 * 60_000

/** The longest lifetime of a link, in milliseconds. */
export const maxLifetime = 24 * 3_600_000

/** How long a link is kept after its end, so that a late user learns why it does not work. */
const keptFor = 24 * 3_600_000

/** The links. */
export class ConsoleLinks extends Context.Service<
  ConsoleLinks,
  {
    readonly create: (link: NewLink) => Effect.Effect<Token.Token & { readonly link: ConsoleLink }, StorageError>
    /** Uses the link of a token, which works once. */
    readonly use: (plain: Redacted.Redacted<string>) => Effect.Effect<ConsoleLink, InvalidLink | StorageError>
    /** Deletes links a day after their end. Returns their number. */
    readonly purge: Effect.Effect<number, StorageError>
  }
>()("@model-gateway/server/console/ConsoleLinks") {}

const table = Table.make(StoredLink)

const unknown = new InvalidLink({ reason: "there is no such link, or it expired more than a day ago" })

/** Makes the service over the database in the context. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const random = yield* SecureRandom
  const log = yield* AuditLog
  const columns = sql.literal(table.columns)

  const create = Effect.fn("ConsoleLinks.create")(
    function* ({ by, lifetime, ...input }: NewLink) {
      const now = yield* Clock.currentTimeMillis
      const token = yield* Token.make(random)
      const link: ConsoleLink = {
        ...input,
        hash: token.hash,
        createdAt: now,
        expiresAt: now + Math.min(lifetime, maxLifetime),
        usedAt: null
      }
      yield* sql`INSERT INTO console_links ${sql.insert(table.insert(link))}`
      yield* log.write({
        organizationId: link.organizationId,
        actor: by,
        actorLabel: by,
        actorRole: "admin",
        address: null,
        action: "createConsoleLink",
        targetKind: "console_link",
        targetId: linkActor(link.hash),
        before: null,
        after: { role: link.role, workspace_ids: link.workspaceIds, expires_at: Timestamp.fromMillis(link.expiresAt) },
        requestId: ""
      })
      return { ...token, link }
    },
    sql.withTransaction,
    mapSqlError("ConsoleLinks.create")
  )

  const use = Effect.fn("ConsoleLinks.use")(function* (plain: Redacted.Redacted<string>) {
    const hash = Token.hashOf(plain)
    if (hash === undefined) return yield* new InvalidLink({ reason: "the link is cut off or mistyped" })
    const now = yield* Clock.currentTimeMillis
    const [used] = yield* sql`UPDATE console_links SET used_at = ${now}
      WHERE hash = ${hash} AND used_at IS NULL AND expires_at > ${now} RETURNING ${columns}`
    if (used !== undefined) return table.read(used)
    const [row] = yield* sql`SELECT ${columns} FROM console_links WHERE hash = ${hash}`
    if (row === undefined) return yield* unknown
    const { expiresAt, usedAt } = table.read(row)
    return yield* new InvalidLink({
      reason:
        usedAt === null
          ? `the link expired at ${Timestamp.fromMillis(expiresAt)}`
          : `the link was used at ${Timestamp.fromMillis(usedAt)}, and it works once`
    })
  }, mapSqlError("ConsoleLinks.use"))

  return ConsoleLinks.of({
    create,
    use,
    purge: Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const some = sql`DELETE FROM console_links WHERE hash IN (
        SELECT hash FROM console_links WHERE expires_at <= ${now - keptFor} LIMIT ${Purge.atOnce}) RETURNING hash`
      return yield* Purge.all(Effect.map(some, (rows) => rows.length))
    }).pipe(mapSqlError("ConsoleLinks.purge"))
  })
})

/** The links in the database. */
export const layerSql: Layer.Layer<ConsoleLinks, never, AuditLog | SqlClient | SecureRandom> = Layer.effect(
  ConsoleLinks,
  make
)

/** Purges in the background, at the start and then at an interval (default: 1 hour). */
export const layerBackground = (options?: {
  readonly every?: Duration.Input | undefined
}): Layer.Layer<never, never, ConsoleLinks> =>
  Background.layer({
    work: Effect.flatMap(ConsoleLinks, ({ purge }) => purge),
    every: options?.every ?? "1 hour",
    failure: "Old links to the console could not be deleted"
  })
