/**
 * `pnpm bench capacity`: what one paid request costs each part, for docs/operate/capacity.md. First
 * on Postgres, which writes each commit to the disk, and Redis, counted by proxies in front of
 * them. Then the CPU time with and without traces, and that of a scrape of `/metrics`.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import { type Postgres, startPostgres } from "@model-gateway/test-services/Postgres"
import { startRedis } from "@model-gateway/test-services/Redis"
import { Effect, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { once } from "node:events"
import { createServer } from "node:http"
import { setTimeout } from "node:timers/promises"
import { Pool } from "undici"
import { rerankRequest } from "../client/messages.ts"
import { cpuOf, type Executable, metricsOf, startExecutable, threadsOf } from "../executable.ts"
import { caller } from "../load.ts"
import { inRounds, spread, table } from "../rounds.ts"
import { ratios } from "../targets.ts"
import { startMeter } from "./meter.ts"

const DatabaseCounts = Schema.Struct({
  commits: Schema.Finite,
  inserted: Schema.Finite,
  updated: Schema.Finite,
  deleted: Schema.Finite,
  wal: Schema.Finite
})

const TableSize = Schema.Struct({ name: Schema.String, bytes: Schema.Finite, rows: Schema.Finite })

/** Asks Postgres itself, without the proxy. */
const query = <A>(postgres: Postgres, schema: Schema.Decoder<A>, text: string): Promise<ReadonlyArray<A>> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const sql = yield* SqlClient
      return yield* Schema.decodeUnknownEffect(Schema.Array(schema))(yield* sql.unsafe(text))
    }).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(postgres.url), maxConnections: 1 })))
  )

/** Milliseconds after which an idle connection of Postgres adds what it did to the counts. */
const counted = 11_000

const countsOf = async (postgres: Postgres): Promise<typeof DatabaseCounts.Type> => {
  await setTimeout(counted)
  const [counts] = await query(
    postgres,
    DatabaseCounts,
    `SELECT xact_commit::float8 AS commits, tup_inserted::float8 AS inserted, tup_updated::float8 AS updated,
      tup_deleted::float8 AS deleted, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 AS wal
      FROM pg_stat_database WHERE datname = current_database()`
  )
  if (counts === undefined) throw new Error("Postgres has no counts")
  return counts
}

const sizesOf = (postgres: Postgres): Promise<ReadonlyArray<typeof TableSize.Type>> =>
  query(
    postgres,
    TableSize,
    ["usage_ledger", "events", "idempotency"]
      .map(
        (name) =>
          `SELECT '${name}' AS name, pg_total_relation_size('${name}')::float8 AS bytes, (SELECT COUNT(*) FROM ${name})::float8 AS rows`
      )
      .join(" UNION ALL ")
  )

const body = JSON.stringify(rerankRequest)

const headersOf = ({ key }: Executable) => ({ authorization: `Bearer ${key}`, "content-type": "application/json" })

let keys = 0

/** Sends a number of paid requests, some at once. */
const send = async (gateway: Executable, count: number, atOnce: number, withKey: boolean): Promise<void> => {
  const pool = new Pool(gateway.origin, { connections: atOnce, pipelining: 1 })
  let left = count
  const worker = async () => {
    while (left-- > 0) {
      const headers = { ...headersOf(gateway), ...(withKey && { "idempotency-key": `bench-${++keys}` }) }
      const response = await pool.request({ path: "/api/v1/rerank", method: "POST", headers, body })
      const text = await response.body.text()
      if (response.statusCode !== 200) throw new Error(`${response.statusCode}: ${text}`)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  await pool.close()
}

/** Makes the workspace broadcast, so that its events are written. It sends none of them. */
const broadcast = async ({ managementKey, origin }: Executable): Promise<void> => {
  const response = await fetch(`${origin}/api/v1/observability/destinations`, {
    method: "POST",
    headers: { authorization: `Bearer ${managementKey}`, "content-type": "application/json" },
    body: JSON.stringify({
      name: "bench",
      type: "webhook",
      api_key_hashes: ["0".repeat(64)],
      config: { url: "https://hooks.example" }
    })
  })
  if (response.status !== 201) throw new Error(`${response.status}: ${await response.text()}`)
}

/** The table of counts for each request, and that of bytes of each row. */
const costs = async (quick: boolean): Promise<ReadonlyArray<string>> => {
  // The first change of a page after a checkpoint writes all of it to the WAL, whatever the
  // request.
  const postgres = await startPostgres({ durable: true, settings: { checkpoint_timeout: "1h" } })
  const redis = await startRedis()
  const database = await startMeter(Number(new URL(postgres.url).port), true)
  const shared = await startMeter(redis.port, false)
  const url = new URL(postgres.url)
  url.port = String(database.port)
  const gateway = await startExecutable({ DATABASE_URL: url.href, REDIS_URL: `redis://127.0.0.1:${shared.port}` })
  const all = async () => {
    const counts = await countsOf(postgres)
    return { ...counts, database: database.counts(), shared: shared.counts(), cpu: await cpuOf(gateway.pid) }
  }
  try {
    await send(gateway, quick ? 200 : 3000, 32, true)
    const columns: Array<readonly [string, ReadonlyArray<string>]> = []
    for (const [title, count, atOnce, withKey] of [
      ["one at a time", 400, 1, false],
      ["32 at a time", 4000, 32, false],
      ["with `Idempotency-Key`, one at a time", 400, 1, true],
      ["with `Idempotency-Key`, 32 at a time", 4000, 32, true]
    ] as const) {
      const requests = quick ? count / 10 : count
      const before = await all()
      const startedAt = performance.now()
      await send(gateway, requests, atOnce, withKey)
      const seconds = (performance.now() - startedAt) / 1000
      const after = await all()
      const each = (value: number) => value / requests
      const kilobytes = (value: number) => `${(each(value) / 1000).toFixed(1)} KB`
      columns.push([
        title,
        [
          each(after.database.roundTrips - before.database.roundTrips).toFixed(2),
          each(after.commits - before.commits).toFixed(2),
          [after.inserted - before.inserted, after.updated - before.updated, after.deleted - before.deleted]
            .map((rows) => each(rows).toFixed(1))
            .join(", "),
          kilobytes(after.wal - before.wal),
          [after.database.sent - before.database.sent, after.database.received - before.database.received]
            .map(kilobytes)
            .join(", "),
          [after.shared.sent - before.shared.sent, after.shared.received - before.shared.received]
            .map(kilobytes)
            .join(", "),
          `${(each(after.cpu - before.cpu) / 1000).toFixed(2)} ms`,
          `${seconds.toFixed(0)} s`
        ]
      ])
    }
    await broadcast(gateway)
    await send(gateway, quick ? 400 : 4000, 32, false)
    const sizes = await sizesOf(postgres)
    const idleSeconds = quick ? 5 : 30
    const before = await all()
    await setTimeout(idleSeconds * 1000)
    const after = await all()
    const aSecond = (value: number) => value / (idleSeconds + counted / 1000)
    return [
      table(
        "One paid rerank of 20 documents, on Postgres and Redis",
        columns.map(([title]) => title),
        [
          "round trips to Postgres",
          "transactions",
          "rows inserted, updated, deleted",
          "WAL",
          "bytes to and from Postgres",
          "bytes to and from Redis",
          "CPU time of the gateway",
          "time of all requests"
        ].map((name, i) => [name, ...columns.map(([, cells]) => cells[i] ?? "")])
      ),
      table(
        "Stored in Postgres, with indexes",
        ["bytes", "rows", "bytes a row"],
        sizes.map(({ bytes, name, rows }) => [
          name,
          bytes.toLocaleString("en"),
          rows.toLocaleString("en"),
          (bytes / rows).toFixed(0)
        ])
      ),
      `An idle gateway: ${aSecond(after.database.roundTrips - before.database.roundTrips).toFixed(1)} round trips a second, ${(
        aSecond(after.database.sent + after.database.received - before.database.sent - before.database.received) / 1000
      ).toFixed(1)} KB a second, ${(aSecond(after.cpu - before.cpu) / 10_000).toFixed(1)} % of a core\n`
    ]
  } finally {
    await gateway.remove()
    database.close()
    shared.close()
    await redis.dispose()
    await postgres.remove()
  }
}

/** A collector that accepts all spans, and counts the requests that bring them. */
const startCollector = async () => {
  let requests = 0
  const server = createServer((request, response) => {
    requests++
    request.resume().on("end", () => response.writeHead(200, { "content-type": "application/json" }).end("{}"))
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  return {
    url: `http://127.0.0.1:${address !== null && typeof address === "object" ? address.port : 0}`,
    requests: () => requests,
    close: () => {
      server.close()
      server.closeAllConnections()
    }
  }
}

/**
 * The CPU milliseconds of a scrape: those of a moment with one, less those of as long a moment
 * without. What needs the database is read at most every 5 seconds.
 */
const scrapeMillis = async (gateway: Executable, quick: boolean): Promise<ReadonlyArray<number>> => {
  const during = async (act: () => Promise<unknown>): Promise<number> => {
    const before = await threadsOf(gateway.pid)
    await Promise.all([act(), setTimeout(300)])
    return ((await threadsOf(gateway.pid)) - before) / 1000
  }
  const scrapes: Array<number> = []
  for (let scraped = 0; scraped < (quick ? 3 : 10); scraped++) {
    await setTimeout(5100)
    const idle = await during(() => Promise.resolve())
    scrapes.push((await during(() => metricsOf(gateway))) - idle)
  }
  return scrapes
}

/** The CPU time of a request with and without traces, and of a scrape, on SQLite. */
const observed = async (quick: boolean): Promise<ReadonlyArray<string>> => {
  const collector = await startCollector()
  const without = await startExecutable()
  const traced = await startExecutable({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })
  const contenders = [
    { name: "without traces", gateway: without },
    { name: "all traces sent", gateway: traced }
  ]
  try {
    const lines: Array<ReadonlyArray<string>> = []
    for (const connections of [32, 1]) {
      const callers = contenders.map(({ gateway }) =>
        caller(
          {
            child: { origin: gateway.origin, usage: async () => ({ cpu: await cpuOf(gateway.pid) }) },
            call: { path: "/api/v1/rerank", method: "POST", body, headers: () => headersOf(gateway) }
          },
          connections
        )
      )
      for (const { measure } of callers) await measure(quick ? 500 : 3000)
      const rounds = await inRounds(callers, quick ? 3 : 15, ({ measure }) => measure(quick ? 500 : 1000))
      await Promise.all(callers.map(({ close }) => close()))
      const cpus = rounds.map((own) => own.map(({ cpu }) => cpu))
      for (const [i, { name }] of contenders.entries()) {
        const cpu = spread(cpus[i] ?? [])
        const ratio = spread(ratios(cpus[i] ?? [], cpus[0] ?? []))
        lines.push([
          `${name}, ${connections} at once`,
          ...[cpu.median, cpu.lower, cpu.min].map((value) => value.toFixed(0)),
          ...[ratio.lower, ratio.median, ratio.upper].map((value) => value.toFixed(2))
        ])
      }
    }
    if (collector.requests() === 0) throw new Error("no spans were sent")
    const scrape = spread(await scrapeMillis(without, quick))
    return [
      table(
        "CPU time of a paid rerank on SQLite",
        ["µs median", "lower quartile", "least", "× without lower quartile", "median", "upper quartile"],
        lines
      ),
      `A scrape of /metrics: ${scrape.lower.toFixed(1)} to ${scrape.upper.toFixed(1)} ms of CPU time, the median ${scrape.median.toFixed(1)}\n`
    ]
  } finally {
    await without.remove()
    await traced.remove()
    collector.close()
  }
}

/** The tables. */
export const run = async (quick: boolean): Promise<ReadonlyArray<string>> => [
  ...(await costs(quick)),
  ...(await observed(quick))
]
