/**
 * The secrets that sign the webhooks of each workspace. They are encrypted by the vault.
 *
 * A workspace gets its first secret with its first webhook. A secret that was replaced signs along
 * with the new one for some time, so that receivers can be changed one after the other.
 */
import { Clock, Context, Duration, Effect, Layer, Redacted, Schema } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { SqlClient } from "effect/sql/SqlClient"
import * as SealedJson from "../access/SealedJson.ts"
import type { Vault } from "../access/Vault.ts"
import * as WebhookSignature from "../outbound/WebhookSignature.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"

/** A new secret. */
export interface Rotated {
  readonly secret: WebhookSignature.Secret
  /** Epoch milliseconds. */
  readonly createdAt: number
  /** Until when the secret before it signs too. Null if there was none, or it no longer signs. */
  readonly previousExpiresAt: number | null
}

/** The secrets. */
export class WebhookSecrets extends Context.Service<
  WebhookSecrets,
  {
    /** The secrets that sign now, newest first. A workspace without a secret gets one. */
    readonly signers: (workspaceId: string) => Effect.Effect<ReadonlyArray<WebhookSignature.Secret>, StorageError>
    /** Replaces the secret. Former secrets keep signing for at most `keepFor`. */
    readonly rotate: (workspaceId: string, keepFor: Duration.Duration) => Effect.Effect<Rotated, StorageError>
    /**
     * Encrypts the secrets under the current master key. Returns the number of workspaces whose
     * secrets were under another one.
     */
    readonly rewrap: Effect.Effect<number, StorageError>
  }
>()("@model-gateway/server/webhooks/WebhookSecrets") {}

/** The maximum number of secrets that sign at a time. Above it, the oldest ends early. */
const maxSigners = 5

/** Newest first. `expires_at` is null for the newest. */
const Secrets = Schema.Array(Schema.Struct({ secret: Schema.String, expires_at: Schema.NullOr(Schema.Int) }))
type Secrets = typeof Secrets.Type

const ownerOf = (workspaceId: string) => ({ workspaceId, purpose: "webhook secrets" })

const validAt = (now: number, secrets: Secrets): Secrets =>
  secrets.filter(({ expires_at }) => expires_at === null || expires_at > now)

/** The ids of the master keys that encrypted them. */
export const masterKeyIds = Effect.gen(function* () {
  const sql = yield* SqlClient
  const rows = yield* sql`SELECT secrets FROM webhook_secrets`
  return yield* SealedJson.masterKeyIds(rows.map((row) => Dialect.text(row, "secrets")))
}).pipe(mapSqlError("WebhookSecrets.masterKeyIds"))

/** Makes the service over the database in the context. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const random = yield* SecureRandom
  const column = yield* SealedJson.make(Secrets, "WebhookSecrets.vault")

  const generate = Effect.provideService(WebhookSignature.generate, SecureRandom, random)

  const read = Effect.fnUntraced(function* (workspaceId: string) {
    const [row] = yield* sql`SELECT secrets FROM webhook_secrets WHERE workspace_id = ${workspaceId}`
    return row === undefined ? undefined : Dialect.text(row, "secrets")
  })

  /** Stores the secrets unless another process changed them since `before` was read. */
  const replace = Effect.fnUntraced(function* (workspaceId: string, before: string | undefined, secrets: string) {
    const now = yield* Clock.currentTimeMillis
    const rows =
      before === undefined
        ? yield* sql`INSERT INTO webhook_secrets (workspace_id, secrets, updated_at)
            VALUES (${workspaceId}, ${secrets}, ${now}) ON CONFLICT (workspace_id) DO NOTHING RETURNING workspace_id`
        : yield* sql`UPDATE webhook_secrets SET secrets = ${secrets}, updated_at = ${now}
            WHERE workspace_id = ${workspaceId} AND secrets = ${before} RETURNING workspace_id`
    return rows.length > 0
  })

  const signers = Effect.fn("WebhookSecrets.signers")(function* (workspaceId: string) {
    while (true) {
      const now = yield* Clock.currentTimeMillis
      const stored = yield* read(workspaceId)
      if (stored !== undefined) {
        return validAt(now, yield* column.open(stored, ownerOf(workspaceId))).map(({ secret }) => Redacted.make(secret))
      }
      const secret = Redacted.value(yield* generate)
      const first = yield* column.seal([{ secret, expires_at: null }], ownerOf(workspaceId))
      yield* replace(workspaceId, undefined, first)
    }
  }, mapSqlError("WebhookSecrets.signers"))

  const rotate = Effect.fn("WebhookSecrets.rotate")(function* (workspaceId: string, keepFor: Duration.Duration) {
    const secret = yield* generate
    while (true) {
      const now = yield* Clock.currentTimeMillis
      const stored = yield* read(workspaceId)
      const present = stored === undefined ? [] : validAt(now, yield* column.open(stored, ownerOf(workspaceId)))
      const keepUntil = now + Math.floor(Duration.toMillis(keepFor))
      // An answer that was lost may have been followed by another rotation: the secret that
      // receivers know is then not the newest. It keeps its own end unless the new one is earlier.
      const former = validAt(
        now,
        present.map((one) => ({ ...one, expires_at: Math.min(one.expires_at ?? keepUntil, keepUntil) }))
      ).slice(0, maxSigners - 1)
      const next = [{ secret: Redacted.value(secret), expires_at: null }, ...former]
      if (yield* replace(workspaceId, stored, yield* column.seal(next, ownerOf(workspaceId)))) {
        return { secret, createdAt: now, previousExpiresAt: former[0]?.expires_at ?? null }
      }
    }
  }, mapSqlError("WebhookSecrets.rotate"))

  const rewrapped = Effect.fnUntraced(function* (workspaceId: string) {
    while (true) {
      const stored = yield* read(workspaceId)
      if (stored === undefined) return false
      const sealed = yield* column.rewrap(stored, ownerOf(workspaceId))
      if (sealed === undefined) return false
      if (yield* replace(workspaceId, stored, sealed)) return true
    }
  })

  return WebhookSecrets.of({
    signers,
    rotate,
    rewrap: Effect.gen(function* () {
      const rows = yield* sql`SELECT workspace_id FROM webhook_secrets ORDER BY workspace_id`
      const changes = yield* Effect.forEach(rows, (row) => rewrapped(Dialect.text(row, "workspace_id")))
      return changes.filter((changed) => changed).length
    }).pipe(mapSqlError("WebhookSecrets.rewrap"), Effect.withSpan("WebhookSecrets.rewrap"))
  })
})

/** The secrets in the database. */
export const layerSql: Layer.Layer<WebhookSecrets, never, SqlClient | SecureRandom | Vault> = Layer.effect(
  WebhookSecrets,
  make
)
