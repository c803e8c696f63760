/**
 * The gateway with a month of requests in its ledger. Arguments: how many, whether new requests
 * change the sums of their day (`sums` or `no sums`), and the URL of Postgres, where `no sums`
 * means that the function which adds to the sums does nothing. Without a URL it runs on SQLite,
 * where `no sums` means that the table of the sums ignores every change: the gateway still runs its
 * statements, which are few for a group of requests.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Sandbox from "@model-gateway/sandbox/Sandbox"
import { databaseFile } from "@model-gateway/server/GatewayServer"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { DatabaseSync } from "node:sqlite"
import { join } from "node:path"
import { serve } from "../service/serve.ts"

const [requests = "1000000", sums = "sums", databaseUrl] = process.argv.slice(2)

const dayMillis = 86_400_000

/** Milliseconds between two requests: all of them are within 31 days. */
const step = Math.floor((31 * dayMillis) / Number(requests))

/** Of 31 days, 25 models at 3 providers, and 1000 keys. Times are `now` and before. */
const entries = (workspaceId: string, now: number, series: string): string => `INSERT INTO usage_ledger
  (id, key_hash, workspace_id, operation, model, provider, upstream_model, is_byok, is_late, reserved_micro, cost_micro,
    usage, reserved_at, settled_at, status)
  SELECT 'bench-' || n, 'key-' || (n % 1000), '${workspaceId}', 'rerank', 'bench/model-' || (n % 25), 'provider-' || (n % 3),
    'model', 0, 0, 1000, 1000, '{"search_units":1,"total_tokens":400}', t, t + 100,
    CASE WHEN n % 50 = 0 THEN 'failed' ELSE 'completed' END
  FROM (SELECT n, ${now} - (${requests} - n) * CAST(${step} AS BIGINT) AS t FROM ${series}) AS s`

/** What the trigger would have written, faster. */
const days = (keyHash: string): string => `INSERT INTO usage_days
  SELECT workspace_id, ${keyHash}, reserved_at - reserved_at % ${dayMillis}, model, provider, COUNT(*),
    SUM(CASE status WHEN 'completed' THEN 0 ELSE 1 END), SUM(cost_micro), 0, 400 * COUNT(*), 0
  FROM usage_ledger GROUP BY 1, 2, 3, 4, 5`

const both = [days("''"), days("key_hash")]

const sqlite = (dataDir: string, workspaceId: string, now: number): void => {
  const db = new DatabaseSync(join(dataDir, databaseFile), { timeout: 60_000 })
  try {
    const trigger = db.prepare("SELECT sql FROM sqlite_schema WHERE name = 'usage_ledger_days'").get()?.["sql"]
    db.exec("DROP TRIGGER usage_ledger_days")
    const series = `(WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < ${requests}) SELECT n FROM s) AS r`
    for (const statement of [entries(workspaceId, now, series), ...both]) db.exec(statement)
    db.exec(String(trigger))
    for (const change of sums === "sums" ? [] : ["INSERT", "UPDATE"]) {
      db.exec(`CREATE TRIGGER ignore_${change} BEFORE ${change} ON usage_days BEGIN SELECT RAISE(IGNORE); END`)
    }
    db.exec("PRAGMA wal_checkpoint(TRUNCATE)")
  } finally {
    db.close()
  }
}

/** Replaces the function, whose name ends in the hash of its text. */
const addNothing = `DO $$ BEGIN
  EXECUTE format('CREATE OR REPLACE FUNCTION %I(changes usage_days[]) RETURNS void LANGUAGE plpgsql AS %L',
    (SELECT proname FROM pg_proc WHERE starts_with(proname, 'gateway_day_sums_')), 'BEGIN END');
END $$`

const postgres = (url: string, workspaceId: string, now: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql.unsafe("ALTER TABLE usage_ledger DISABLE TRIGGER usage_ledger_days")
    for (const statement of [entries(workspaceId, now, `generate_series(1, ${requests}) AS r(n)`), ...both]) {
      yield* sql.unsafe(statement)
    }
    yield* sql.unsafe(sums === "sums" ? "ALTER TABLE usage_ledger ENABLE TRIGGER usage_ledger_days" : addNothing)
    yield* sql.unsafe("VACUUM ANALYZE usage_ledger")
    yield* sql.unsafe("VACUUM ANALYZE usage_days")
  }).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 })))

serve(Sandbox.make(), {
  databaseUrl,
  prepare: ({ dataDir, now, workspaceId }) =>
    databaseUrl === undefined
      ? Effect.sync(() => sqlite(dataDir, workspaceId, now))
      : Effect.orDie(postgres(databaseUrl, workspaceId, now))
})
