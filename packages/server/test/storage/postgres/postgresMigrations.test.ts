import { expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import * as Migrator from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import * as Migrations from "../../../src/storage/sql/Migrations.ts"
import * as Conflicts from "../../../src/storage/postgres/conflicts.ts"
import * as TestPostgres from "../../TestPostgres.ts"
import { layerClient } from "../../TestStorage.ts"

/** A database as the release before the sums of each day left it, with a charge and a failure. */
const earlier = Effect.gen(function* () {
  const sql = yield* SqlClient
  const steps = Object.entries(Migrations.migrations).filter(([name]) => name < "0022")
  yield* Migrator.make({})({ loader: Migrator.fromRecord(Object.fromEntries(steps)), table: "schema_migrations" })
  yield* sql`INSERT INTO organizations (id, name, created_at) VALUES ('o', 'o', 0)`
  yield* sql`INSERT INTO workspaces (id, organization_id, name, is_default, file_shape, balance_micro, reserved_micro, created_at, updated_at)
    VALUES ('w', 'o', 'w', 1, 'native', 5, 0, 0, 0)`
  yield* entry("a", 2)
  yield* entry("b", 3)
})

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
              const isUpgraded = (yield* sql`SELECT FROM pg_class WHERE relname = 'usage_days'`).length > 0
              if (!isUpgraded) yield* upgradeWaits
              yield* sql`UPDATE organizations SET name = 'p' WHERE id = 'o'`
            })
          )
        )
        const upgrade = Effect.andThen(Deferred.await(hasEntry), Migrations.run)
        const requesting = yield* Effect.forkChild(request)
        yield* upgrade
        yield* Fiber.join(requesting)
        const sums = { day_start: 0, requests: 3, failed: 0, cost_micro: 9, prompt_tokens: 21, completion_tokens: 0 }
        const days = yield* sql`SELECT * FROM usage_days ORDER BY key_hash`
        expect(days).toMatchObject(["", "k"].map((key_hash) => ({ workspace_id: "w", key_hash, model: "m", ...sums })))
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
            yield* sql`SELECT FROM intents FOR UPDATE`
            yield* sql`SELECT FROM workspaces FOR NO KEY UPDATE`
            yield* Deferred.succeed(hasLocks, undefined)
            yield* upgradeWaits
            yield* sql`UPDATE workspaces SET balance_micro = balance_micro - 4 WHERE id = 'w'`
            yield* entry("c", 4)
          })
        )
        const requesting = yield* Effect.forkChild(request)
        yield* Effect.andThen(Deferred.await(hasLocks), Migrations.run)
        yield* Fiber.join(requesting)
        expect(statements.filter((text) => text.startsWith("CREATE TABLE usage_days"))).toHaveLength(1)
        expect(yield* sql`SELECT requests FROM usage_days`).toMatchObject([{ requests: 3 }, { requests: 3 }])
        expect(yield* sql`SELECT balance_micro FROM workspaces`).toMatchObject([{ balance_micro: 1 }])
      }).pipe(Effect.provide(layer))
    })
)
