import { expect, it } from "@effect/vitest"
import { Context, Effect, Layer, Record } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { KeyStore } from "../../../src/access/KeyStore.ts"
import { WorkspaceStore } from "../../../src/access/WorkspaceStore.ts"
import * as Migrations from "../../../src/storage/sql/Migrations.ts"
import { createSqlite, layer, layerAt, layerClient, temporaryFolder } from "../../TestStorage.ts"

it.effect("a database is opened again with its data", () =>
  Effect.gen(function* () {
    const filename = `${yield* temporaryFolder}/gateway.db`
    const plain = yield* Effect.gen(function* () {
      const sql = yield* SqlClient
      yield* sql`INSERT INTO organizations (id, name, created_at) VALUES ('o', 'o', 0)`
      yield* sql`INSERT INTO workspaces (id, organization_id, name, is_default, file_shape, balance_micro, reserved_micro, created_at, updated_at)
        VALUES ('w', 'o', 'w', 1, 'native', 5, 0, 0, 0)`
      const keys = yield* KeyStore
      return (yield* keys.create({ organizationId: "o", workspaceId: "w", name: "kept" })).plain
    }).pipe(Effect.provide(layerAt(filename)))
    const { key } = yield* Effect.flatMap(KeyStore, (keys) => keys.authenticate(plain)).pipe(
      Effect.provide(layerAt(filename))
    )
    expect(key).toMatchObject({ name: "kept", workspaceId: "w" })
  })
)

it.effect("a later migration runs once, on a new database and on one that has the earlier ones", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const run = sql`SELECT migration_id, name FROM schema_migrations ORDER BY migration_id`
    const earlier = yield* run
    const next = earlier.length + 1
    const later = {
      ...Migrations.migrations,
      [`${String(next).padStart(4, "0")}_later`]: Effect.asVoid(sql`ALTER TABLE files ADD COLUMN later TEXT`)
    }
    const names = Object.keys(later).slice(-1)
    expect(yield* Migrations.inspectAll(later)).toEqual({ current: next - 1, newest: next, pending: names })
    expect(yield* Migrations.runAll(later)).toEqual(names)
    expect(yield* Migrations.runAll(later)).toEqual([])
    expect(yield* sql`SELECT later FROM files`).toEqual([])
    expect(yield* run).toEqual([...earlier, { migration_id: next, name: "later" }])
    expect(yield* Migrations.inspectAll(later)).toEqual({ current: next, newest: next, pending: [] })
  }).pipe(Effect.provide(layer))
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
      yield* sql`INSERT INTO schema_migrations (migration_id, name) VALUES (9000, 'later'), (9001, 'rename_needs_9000')`
      yield* sql`ALTER TABLE guardrails RENAME TO policies`
    }).pipe(Effect.provide(layerAt(filename)))
    const error = yield* Effect.flip(Effect.scoped(Layer.build(layerAt(filename))))
    const known = Number.parseInt(Object.keys(Migrations.migrations).at(-1) ?? "", 10)
    expect(error).toMatchObject({
      _tag: "StorageError",
      retryable: false,
      message:
        "The database has schema 9001, which versions of Model Gateway can use that know schema 9000. " +
        `This version knows schema ${known} and earlier ones. ` +
        "A newer version has upgraded the database: run that version or a later one, or restore a backup from before the upgrade."
    })
  })
)

it.effect("a process starts on the schema of a newer version if the migrations do not need a newer one", () =>
  Effect.gen(function* () {
    const filename = `${yield* temporaryFolder}/gateway.db`
    yield* Effect.gen(function* () {
      const sql = yield* SqlClient
      yield* sql`ALTER TABLE files ADD COLUMN later TEXT`
      yield* sql`INSERT INTO schema_migrations (migration_id, name) VALUES (9000, 'later'), (9001, 'drop_needs_0001')`
    }).pipe(Effect.provide(layerAt(filename)))
    const workspaces = yield* Effect.flatMap(WorkspaceStore, (store) => store.ensureDefault()).pipe(
      Effect.provide(layerAt(filename))
    )
    expect(workspaces.id).not.toBe("")
  })
)

it.effect("without migrations, a database that lacks one is rejected and not changed", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql`DELETE FROM schema_migrations`
    const error = yield* Effect.flip(Layer.build(Migrations.layerNever))
    expect(error.message).toContain("The database has schema 0, and this version of Model Gateway needs schema")
    yield* sql`DROP TABLE schema_migrations`
    expect(yield* Migrations.inspect).toMatchObject({ current: 0, pending: Object.keys(Migrations.migrations) })
    yield* Effect.flip(Layer.build(Migrations.layerNever))
    expect(yield* sql`SELECT name FROM sqlite_schema WHERE name = 'schema_migrations'`).toEqual([])
  }).pipe(Effect.scoped, Effect.provide(layer))
)

it.effect("a database from before the first release is rejected with a clear error and not changed", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const message =
      "The database was made by a version of Model Gateway from before its first release, which no released version can upgrade. " +
      "Start with a new database."
    yield* sql`UPDATE schema_migrations SET name = 'tenancy'`
    yield* sql`INSERT INTO schema_migrations (migration_id, name) VALUES (33, 'request_ids')`
    expect(yield* Effect.flip(Migrations.run)).toMatchObject({ _tag: "StorageError", retryable: false, message })
    // One with fewer migrations than this version is not migrated further either.
    const later = { ...Migrations.migrations, "0040_later": Effect.asVoid(sql`DROP TABLE files`) }
    expect(yield* Effect.flip(Migrations.runAll(later))).toMatchObject({ message })
    expect(yield* sql`SELECT migration_id FROM schema_migrations WHERE migration_id > 33`).toEqual([])
    expect(yield* sql`SELECT id FROM files`).toEqual([])
  }).pipe(Effect.provide(layer))
)

it.effect("a process of the version before finds every answer and claim again after the answers were copied", () =>
  Effect.gen(function* () {
    const location = yield* createSqlite
    const open = Effect.map(Layer.build(Layer.fresh(layerClient(location))), Context.get(SqlClient))
    const [before, after] = yield* Effect.all([open, open])
    const earlier = Record.filter(Migrations.migrations, (_, name) => name < "0005")
    yield* Effect.provideService(Migrations.runAll(earlier), SqlClient, before)
    const row = { scope: "k", key_hash: "k", fingerprint: "f", created_at: 1, expires_at: 2 }
    const claim = (key: string) =>
      before`INSERT INTO idempotency ${before.insert({ ...row, idempotency_key: key, owner: "proc_1" })}`
    const all = before`SELECT * FROM idempotency ORDER BY idempotency_key`
    const indexes = before`SELECT name, sql FROM sqlite_schema
      WHERE type = 'index' AND tbl_name = 'idempotency' AND sql IS NOT NULL ORDER BY name`
    yield* claim("answered")
    yield* claim("large")
    yield* claim("claimed")
    yield* before`UPDATE idempotency SET owner = NULL, status = 200, headers = '{}', body = 'b', bytes = 513
      WHERE idempotency_key = 'answered'`
    yield* before`UPDATE idempotency SET owner = NULL, status = 200, headers = '{}', packed = ${new Uint8Array([1, 2])},
      bytes = 514 WHERE idempotency_key = 'large'`
    const stored = { rows: yield* all, indexes: yield* indexes }
    expect(stored.rows.length).toBe(3)
    yield* Effect.provideService(Migrations.run, SqlClient, after)
    expect({ rows: yield* all, indexes: yield* indexes }).toEqual(stored)
    // The table has the order in which rows arrive, and each key once.
    yield* claim("a later one")
    expect((yield* before`SELECT rowid FROM idempotency WHERE idempotency_key = 'a later one'`)[0]).toEqual({
      rowid: 4
    })
    yield* Effect.flip(claim("claimed"))
  })
)
