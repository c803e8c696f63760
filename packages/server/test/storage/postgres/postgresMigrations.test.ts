import { expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import * as Migrations from "../../../src/storage/sql/Migrations.ts"
import * as Conflicts from "../../../src/storage/postgres/conflicts.ts"
import * as TestPostgres from "../../TestPostgres.ts"
import { layerClient } from "../../TestStorage.ts"

/** A database of the baseline, with an organization and a workspace. */
const earlier = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* Migrations.run
  yield* sql`INSERT INTO organizations (id, name, created_at) VALUES ('o', 'o', 0)`
  yield* sql`INSERT INTO workspaces (id, organization_id, name, is_default, file_shape, balance_micro, reserved_micro, created_at, updated_at)
    VALUES ('w', 'o', 'w', 1, 'native', 5, 0, 0, 0)`
  yield* entry("a", 2)
  yield* entry("b", 3)
})

/** Upgrades it: a later version adds up the ledger, and changes another table before. */
const upgrade = Effect.flatMap(SqlClient, (sql) =>
  Migrations.runAll({
    ...Migrations.migrations,
    "9000_sums": Effect.gen(function* () {
      yield* sql`ALTER TABLE organizations ADD COLUMN later TEXT`
      yield* sql`CREATE TABLE sums AS SELECT COUNT(*)::integer AS requests, SUM(cost_micro)::integer AS cost FROM usage_ledger`
      yield* sql`ALTER TABLE usage_ledger ADD COLUMN later TEXT`
    })
  })
)

const entry = (id: string, cost: number) =>
  Effect.flatMap(
    SqlClient,
    (sql) =>
      sql`INSERT INTO usage_ledger (id, key_hash, workspace_id, operation, model, provider, upstream_model, is_byok, is_late, reserved_micro, cost_micro, usage, reserved_at, settled_at)
        VALUES (${id}, 'k', 'w', 'rerank', 'm', 'p', 'm', 0, 0, 5, ${cost}, '{"total_tokens":7}', 86399999, 86400001)`
  )

/** Waits until the upgrade has waited for the lock of a table for a while. */
const upgradeWaits = Effect.gen(function* () {
  const sql = yield* SqlClient
  const waiting = sql`SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
    WHERE d.datname = current_database() AND l.locktype = 'relation' AND NOT l.granted`
  yield* Effect.repeat(Effect.delay(waiting, "10 millis"), { until: (rows) => rows.length > 0 })
  yield* Effect.sleep("300 millis")
})

it.live.skipIf(!TestPostgres.isInstalled)(
  "an upgrade and a request of the earlier version that wait for each other both succeed",
  () =>
    Effect.gen(function* () {
      const layer = Layer.fresh(layerClient(yield* TestPostgres.createEmpty))
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient
        yield* earlier
        const hasEntry = yield* Deferred.make<void>()
        const request = Conflicts.retry(
          sql.withTransaction(
            Effect.gen(function* () {
              yield* entry("c", 4)
              yield* Deferred.succeed(hasEntry, undefined)
              // Postgres ends the transaction that has waited longer: the upgrade.
              const isUpgraded = (yield* sql`SELECT FROM pg_class WHERE relname = 'sums'`).length > 0
              if (!isUpgraded) yield* upgradeWaits
              yield* sql`UPDATE organizations SET name = 'p' WHERE id = 'o'`
            })
          )
        )
        const requesting = yield* Effect.forkChild(request)
        yield* Effect.andThen(Deferred.await(hasEntry), upgrade)
        yield* Fiber.join(requesting)
        expect(yield* sql`SELECT * FROM sums`).toMatchObject([{ requests: 3, cost: 9 }])
        expect(yield* sql`SELECT name FROM organizations`).toMatchObject([{ name: "p" }])
      }).pipe(Effect.provide(layer))
    })
)

it.live.skipIf(!TestPostgres.isInstalled)(
  "an upgrade waits for paid requests in progress before it does any work",
  () =>
    Effect.gen(function* () {
      const statements: Array<string> = []
      const recording = (connection: Connection): Connection => ({
        ...connection,
        execute: (text, ...others) => {
          statements.push(text)
          return connection.execute(text, ...others)
        }
      })
      const layer = Layer.fresh(layerClient(yield* TestPostgres.createEmpty, recording))
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient
        yield* earlier
        const hasLocks = yield* Deferred.make<void>()
        const request = sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`SELECT FROM reservations FOR UPDATE`
            yield* sql`SELECT FROM workspaces FOR NO KEY UPDATE`
            yield* Deferred.succeed(hasLocks, undefined)
            yield* upgradeWaits
            yield* sql`UPDATE workspaces SET balance_micro = balance_micro - 4 WHERE id = 'w'`
            yield* entry("c", 4)
          })
        )
        const requesting = yield* Effect.forkChild(request)
        yield* Effect.andThen(Deferred.await(hasLocks), upgrade)
        yield* Fiber.join(requesting)
        expect(statements.filter((text) => text.startsWith("CREATE TABLE sums"))).toHaveLength(1)
        expect(yield* sql`SELECT requests FROM sums`).toMatchObject([{ requests: 3 }])
        expect(yield* sql`SELECT balance_micro FROM workspaces`).toMatchObject([{ balance_micro: 1 }])
      }).pipe(Effect.provide(layer))
    })
)
