import { expect, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { layerWebCrypto, SecureRandom } from "effect/crypto/SecureRandom"
import * as Migrator from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import { EphemeralKeys } from "../../../src/access/EphemeralKeys.ts"
import * as KeyFormat from "../../../src/access/KeyFormat.ts"
import { KeyStore } from "../../../src/access/KeyStore.ts"
import * as Migrations from "../../../src/storage/sql/Migrations.ts"
import * as SqliteClient from "../../../src/storage/sqlite/SqliteClient.ts"
import { fromRow } from "../../../src/video/VideoJob.ts"
import { layer, layerAt, temporaryFolder } from "../../TestStorage.ts"

/** A database as an earlier release left it, with a key in it. */
const earlier = Effect.fnUntraced(function* (upTo: string) {
  const sql = yield* SqlClient
  const steps = Object.entries(Migrations.migrations).filter(([name]) => name <= upTo)
  yield* Migrator.make({})({ loader: Migrator.fromRecord(Object.fromEntries(steps)), table: "schema_migrations" })
  const { hash, key, label } = yield* KeyFormat.generate(yield* SecureRandom, "ordinary")
  yield* sql`INSERT INTO organizations (id, name, created_at) VALUES ('o', 'o', 0)`
  yield* sql`INSERT INTO workspaces (id, organization_id, name, is_default, file_shape, balance_micro, reserved_micro, created_at, updated_at)
    VALUES ('w', 'o', 'w', 1, 'native', 5, 0, 0, 0)`
  yield* sql`INSERT INTO keys (hash, organization_id, workspace_id, name, label, is_management, is_free_tier, disabled, free_daily_limit, created_at, updated_at)
    VALUES (${hash}, 'o', 'w', 'old', ${label}, 0, 0, 0, 200, 0, 0)`
  yield* sql`INSERT INTO budgets (id, kind, include_byok, usage) VALUES (${hash}, 'key', 0, 3)`
  return key
})

/** The tables and indexes of a migrated database. */
const schema = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* Migrations.run
  return yield* sql`SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name`
})

it.effect("a database of any earlier release gets the tables and indexes of a new one, and keeps its data", () =>
  Effect.gen(function* () {
    const fresh = Layer.fresh(Layer.merge(SqliteClient.layer({ filename: ":memory:" }), layerWebCrypto))
    const expected = yield* Effect.provide(schema, fresh)
    for (const release of Object.keys(Migrations.migrations)) {
      if (release < "0002") continue
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient
        yield* earlier(release)
        yield* sql`INSERT INTO usage_ledger (id, key_hash, workspace_id, operation, model, provider, upstream_model, is_byok, is_late, reserved_micro, cost_micro, reserved_at, settled_at)
          VALUES ('u', 'k', 'w', 'rerank', 'm', 'p', 'm', 0, 0, 2, 2, 0, 1)`
        expect({ release, schema: yield* schema }).toEqual({ release, schema: expected })
        expect(yield* sql`SELECT id, cost_micro FROM usage_ledger`).toMatchObject([{ id: "u", cost_micro: 2 }])
        expect(yield* sql`SELECT * FROM usage_days ORDER BY key_hash`).toMatchObject(
          ["", "k"].map((key_hash) => ({ workspace_id: "w", key_hash, model: "m", requests: 1, cost_micro: 2 }))
        )
        expect(yield* sql`SELECT name FROM keys`).toMatchObject([{ name: "old" }])
        const slug = release < "0026" ? "default" : ""
        expect(yield* sql`SELECT slug FROM workspaces`).toMatchObject([{ slug }])
      }).pipe(Effect.provide(Layer.fresh(fresh)))
    }
  })
)

it.effect("a database from before ephemeral keys is upgraded, and keeps its data", () =>
  Effect.gen(function* () {
    const filename = `${yield* temporaryFolder}/gateway.db`
    const plain = yield* earlier("0004_video_jobs").pipe(
      Effect.provide(Layer.fresh(Layer.merge(SqliteClient.layer({ filename }), layerWebCrypto)))
    )
    yield* Effect.gen(function* () {
      const keys = yield* KeyStore
      const { key: parent } = yield* keys.authenticate(plain)
      expect(parent).toMatchObject({ name: "old", organizationId: "o", workspaceId: "w" })
      const { plain: made } = yield* (yield* EphemeralKeys).create(parent, 1000)
      expect((yield* keys.authenticate(made)).key).toEqual(parent)
      expect(Redacted.value(made)).toMatch(/^mg_ek_/)
      const [budget] = yield* (yield* SqlClient)`SELECT usage FROM budgets WHERE id = ${parent.hash}`
      expect(budget?.usage).toBe(3)
    }).pipe(Effect.provide(layerAt(filename)))
    // A second start finds nothing to do.
    yield* Effect.flatMap(KeyStore, (keys) => keys.authenticate(plain)).pipe(Effect.provide(layerAt(filename)))
  })
)

it.effect("a key that had a guardrail before times were stored was assigned when it was last changed", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* earlier("0022_usage_days")
    yield* sql`INSERT INTO guardrails (id, organization_id, name, created_at, updated_at) VALUES ('g', 'o', 'g', 0, 0)`
    yield* sql`UPDATE keys SET guardrail_id = 'g', updated_at = 7`
    yield* Migrations.run
    expect(yield* sql`SELECT guardrail_assigned_at FROM keys`).toMatchObject([{ guardrail_assigned_at: 7 }])
  }).pipe(Effect.provide(Layer.fresh(Layer.merge(SqliteClient.layer({ filename: ":memory:" }), layerWebCrypto))))
)

it.effect("models with names that are too long today count as others, and the sums stay the same", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* earlier("0030_bounded_usage_days")
    for (const [id, model] of [
      ["u", "a".repeat(257)],
      ["v", "b".repeat(3000)],
      ["w", "other"],
      ["x", "c".repeat(256)]
    ] as const) {
      yield* sql`INSERT INTO usage_ledger (id, key_hash, workspace_id, operation, model, provider, upstream_model, is_byok, is_late, reserved_micro, cost_micro, reserved_at, settled_at)
        VALUES (${id}, 'k', 'w', 'rerank', ${model}, 'p', 'm', 0, 0, 2, 2, 0, 1)`
    }
    yield* Migrations.run
    const days = yield* sql`SELECT key_hash, model, requests, cost_micro FROM usage_days ORDER BY key_hash, model`
    expect(days).toMatchObject(
      ["", "k"].flatMap((key_hash) => [
        { key_hash, model: "c".repeat(256), requests: 1, cost_micro: 2 },
        { key_hash, model: "other", requests: 3, cost_micro: 6 }
      ])
    )
  }).pipe(Effect.provide(Layer.fresh(Layer.merge(SqliteClient.layer({ filename: ":memory:" }), layerWebCrypto))))
)

it.effect("an upstream's job id becomes a JSON string, which jobs read as their handle", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* earlier("0010_ephemeral_limits")
    for (const [id, upstreamId] of [
      ["video_1", 'up-"1"'],
      ["video_2", null]
    ] as const) {
      yield* sql`INSERT INTO video_jobs (id, workspace_id, key_hash, status, step, model, provider, upstream_model, upstream_job_id, intent_id, is_byok, cost_micro, created_at, updated_at, deadline_at)
        VALUES (${id}, 'w', 'k', 'in_progress', 1, 'm', 'p', 'm', ${upstreamId}, 'gen', 0, 5, 0, 0, 1)`
    }
    yield* Migrations.run
    const rows = yield* sql`SELECT * FROM video_jobs ORDER BY id`
    expect(rows.map((row) => fromRow(row).handle)).toEqual(['up-"1"', null])
    expect(rows.map((row) => fromRow(row).attempts)).toEqual([[], []])
  }).pipe(Effect.provide(Layer.fresh(Layer.merge(SqliteClient.layer({ filename: ":memory:" }), layerWebCrypto))))
)

it.effect("the list of tables has every table that the migrations create", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const rows =
      yield* sql`SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'schema_migrations' ORDER BY name`
    expect(Migrations.tables).toEqual(rows.map(({ name }) => name))
  }).pipe(Effect.provide(layer))
)

it.effect("a database that a newer version has upgraded is rejected with a clear error and not changed", () =>
  Effect.gen(function* () {
    const filename = `${yield* temporaryFolder}/gateway.db`
    yield* Effect.gen(function* () {
      const sql = yield* SqlClient
      yield* sql`INSERT INTO schema_migrations (migration_id, name) VALUES (9000, 'later')`
      yield* sql`ALTER TABLE guardrails RENAME TO policies`
    }).pipe(Effect.provide(layerAt(filename)))
    const error = yield* Effect.flip(Effect.scoped(Layer.build(layerAt(filename))))
    const known = Number.parseInt(Object.keys(Migrations.migrations).at(-1) ?? "", 10)
    expect(error).toMatchObject({
      _tag: "StorageError",
      retryable: false,
      message:
        `The database has schema 9000, and this version of Model Gateway knows schema ${known} and earlier ones. ` +
        "A newer version has upgraded it: run that version or a later one, or restore a backup from before the upgrade."
    })
  })
)
