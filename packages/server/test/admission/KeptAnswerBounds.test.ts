import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { TestClock } from "effect/testing"
import { randomBytes } from "node:crypto"
import * as GatewayServerConfig from "../../src/GatewayServerConfig.ts"
import { fingerprintOf, Idempotency, pack } from "../../src/admission/Idempotency.ts"
import { ProcessInstance } from "../../src/storage/sql/ProcessInstance.ts"
import { type Database, databases } from "../TestDatabases.ts"
import { layerAt } from "../TestStorage.ts"

const kibibyte = 1024

const bounded = (keptAnswers: Partial<GatewayServerConfig.KeptAnswers>) => GatewayServerConfig.layer({ keptAnswers })

/** Text of this many characters that compresses to about three quarters. */
const noise = (length: number) => randomBytes((length * 3) / 4).toString("base64")

interface Ask {
  readonly key: string
  readonly body?: string
  readonly keyHash?: string
  readonly scope?: string
}

/** Asks once: the body of the answer, and whether it was kept from before. */
const ask = Effect.fnUntraced(function* ({ body = "{}", key, keyHash = "key-hash", scope = keyHash }: Ask) {
  const begun = yield* (yield* Idempotency).begin({ scope, keyHash, key, fingerprint: fingerprintOf("x") })
  if (begun._tag === "Replay") return { body: begun.answer.body, replayed: true }
  yield* begun.claim.complete(yield* pack({ status: 200, headers: {}, body }))
  // Bounds are kept in the background.
  for (let turn = 0; turn < 100; turn++) yield* Effect.yieldNow
  return { body, replayed: false }
})

/** What is stored, and what the counter says. */
const stored = Effect.gen(function* () {
  const sql = yield* SqlClient
  // One statement, because answers are deleted at the same time.
  const [rows] = yield* sql`SELECT COUNT(*) AS total, SUM(bytes) AS bytes, SUM(LENGTH(packed)) AS packed,
      (SELECT SUM(bytes) FROM idempotency_bytes) AS counted FROM idempotency`
  return {
    rows: Number(rows?.total),
    bytes: Number(rows?.bytes),
    packed: Number(rows?.packed),
    counted: Number(rows?.counted)
  }
})

/** Writes answers that were stored before, and counts them. They expire one after the other. */
const insertAnswers = Effect.fnUntraced(function* (answers: {
  readonly count: number
  readonly bytes: number
  readonly keyHash: string
  readonly expiresAt?: number
}) {
  const { bytes, count, expiresAt = -count, keyHash } = answers
  const sql = yield* SqlClient
  yield* sql`INSERT INTO idempotency (scope, idempotency_key, key_hash, fingerprint, status, bytes, created_at, expires_at)
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
    SELECT ${keyHash}, 'stored ' || i, ${keyHash}, '', 200, ${bytes}, 0, ${expiresAt} + i FROM n`
  yield* sql`INSERT INTO idempotency_bytes (key_hash, bytes) VALUES (${keyHash}, ${count * bytes})`
})

/**
 * What is stored when it is below the bound. Answers are deleted in the background, which takes no
 * time on SQLite and a few round trips on Postgres.
 */
const storedBelow = Effect.fnUntraced(function* (bound: number, name: Database["name"]) {
  let now = yield* stored
  for (let reads = 0; name === "postgres" && now.bytes >= bound && reads < 1000; reads++) now = yield* stored
  expect(now.bytes).toBeLessThan(bound)
  return now
})

describe.each(databases)("kept answers on $name", ({ create, layer, name }) => {
  it.effect("are compressed where they are large, and given again as they were", () =>
    Effect.gen(function* () {
      const text = JSON.stringify({ documents: Array.from({ length: 20_000 }, (_, n) => ({ text: `døcument ${n}` })) })
      yield* ask({ key: "large", body: text })
      yield* ask({ key: "small", body: "{}" })
      const { counted, packed } = yield* stored
      expect(packed).toBeLessThan(text.length / 4)
      expect(counted - packed).toBeLessThan(2 * kibibyte)
      expect(yield* ask({ key: "large" })).toEqual({ body: text, replayed: true })
      expect(yield* ask({ key: "small" })).toEqual({ body: "{}", replayed: true })
    }).pipe(Effect.provide(layer))
  )

  it.effect("of one API key stay within its bound: the oldest go first, those of others stay", () =>
    Effect.gen(function* () {
      yield* ask({ key: "other's", keyHash: "other" })
      for (let n = 0; n < 40; n++) {
        yield* ask({ key: `${n}`, body: noise(64 * kibibyte) })
        yield* TestClock.adjust("1 second")
        const { bytes, counted } = yield* storedBelow(512 * kibibyte + 2 * kibibyte, name)
        expect(counted).toBe(bytes)
      }
      expect(yield* ask({ key: "39" })).toMatchObject({ replayed: true })
      expect(yield* ask({ key: "35" })).toMatchObject({ replayed: true })
      expect(yield* ask({ key: "other's", keyHash: "other" })).toMatchObject({ replayed: true })
      expect(yield* ask({ key: "0" })).toMatchObject({ replayed: false })
    }).pipe(Effect.provide(layer), Effect.provide(bounded({ perKey: 512 * kibibyte })))
  )

  it.effect("of ephemeral keys count for the key that they were made from, while each has keys of its own", () =>
    Effect.gen(function* () {
      for (let n = 0; n < 20; n++) {
        const { replayed } = yield* ask({ key: "same", scope: `ephemeral ${n}`, body: noise(64 * kibibyte) })
        expect(replayed).toBe(false)
      }
      yield* storedBelow(256 * kibibyte, name)
    }).pipe(Effect.provide(layer), Effect.provide(bounded({ perKey: 256 * kibibyte })))
  )

  it.effect("stay within the bound in all: the API keys that use the most give up first", () =>
    Effect.gen(function* () {
      yield* ask({ key: "small", keyHash: "modest" })
      for (let n = 0; n < 40; n++) yield* ask({ key: `${n}`, keyHash: `greedy ${n % 4}`, body: noise(64 * kibibyte) })
      const { bytes, counted } = yield* storedBelow(1.25 * 1024 * kibibyte, name)
      expect(counted).toBe(bytes)
      expect(bytes).toBeGreaterThan(512 * kibibyte)
      expect(yield* ask({ key: "small", keyHash: "modest" })).toMatchObject({ replayed: true })
    }).pipe(Effect.provide(layer), Effect.provide(bounded({ total: 1024 * kibibyte })))
  )

  it.effect("are bounded across processes, and no claim in flight is deleted", () =>
    Effect.gen(function* () {
      const location = yield* create
      const other = yield* Layer.build(layerAt(location))
      yield* Effect.gen(function* () {
        const idempotency = yield* Idempotency
        const request = { scope: "key-hash", keyHash: "key-hash", key: "in flight", fingerprint: fingerprintOf("x") }
        const begun = yield* idempotency.begin(request)
        for (let n = 0; n < 20; n++) {
          yield* ask({ key: `here ${n}`, body: noise(64 * kibibyte) })
          yield* ask({ key: `there ${n}`, body: noise(64 * kibibyte) }).pipe(Effect.provide(other))
        }
        const { bytes, counted } = yield* storedBelow(256 * kibibyte, name)
        expect(counted).toBe(bytes)
        // Once it is stored, it is as old as the others and may be deleted with them.
        expect(yield* idempotency.isUsed(request)).toBe(true)
        if (begun._tag === "First") yield* begun.claim.complete({ status: 200, headers: {}, body: "done" })
      }).pipe(Effect.provide(layerAt(location)))
    }).pipe(Effect.provide(bounded({ perKey: 256 * kibibyte })))
  )

  it.effect("say so where one was too large to be kept, so that a retry is not charged again", () =>
    Effect.gen(function* () {
      yield* ask({ key: "large", body: noise(64 * kibibyte) })
      const error = yield* Effect.flip(ask({ key: "large" }))
      expect(error._tag).toBe("IdempotencyConflict")
      expect(error.message).toMatch(/too large to be kept/)
      yield* storedBelow(kibibyte, name)
    }).pipe(Effect.provide(layer), Effect.provide(bounded({ perKey: 16 * kibibyte })))
  )

  it.effect("are counted no longer when they have expired", () =>
    Effect.gen(function* () {
      for (let n = 0; n < 20; n++) yield* ask({ key: `${n}`, body: noise(64 * kibibyte) })
      yield* TestClock.adjust("1 day")
      // One is asked for again, the others are purged.
      expect(yield* ask({ key: "7" })).toMatchObject({ replayed: false })
      expect(yield* (yield* Idempotency).purge).toBe(19)
      const { bytes, counted, rows } = yield* stored
      expect([rows, counted]).toEqual([1, bytes])
    }).pipe(Effect.provide(layer))
  )

  it.effect("are all deleted when they have expired, and so are claims of dead processes only", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { id } = yield* ProcessInstance
      // More rows and more bytes than one transaction deletes.
      yield* insertAnswers({ count: 1200, bytes: 10 * kibibyte, keyHash: "a" })
      yield* insertAnswers({ count: 3, bytes: kibibyte, keyHash: "b" })
      for (const owner of [id, "dead"]) {
        yield* sql`INSERT INTO idempotency (scope, idempotency_key, key_hash, fingerprint, owner, bytes, created_at, expires_at)
          VALUES ('claims', ${owner}, 'a', '', ${owner}, 0, 0, 0)`
      }
      expect(yield* (yield* Idempotency).purge).toBe(1204)
      expect(yield* sql`SELECT owner FROM idempotency`).toEqual([{ owner: id }])
      expect(yield* stored).toMatchObject({ counted: 0 })
    }).pipe(Effect.provide(layer))
  )

  it.effect("are freed up to the slack by processes that delete at the same time", () =>
    Effect.gen(function* () {
      const location = yield* create
      const processes = yield* Effect.all(Array.from({ length: 4 }, () => Layer.build(layerAt(location))))
      yield* Effect.gen(function* () {
        yield* insertAnswers({ count: 1024, bytes: kibibyte, keyHash: "key-hash", expiresAt: 86_400_000 })
        yield* Effect.forEach(
          processes,
          (context, n) => ask({ key: `of process ${n}`, body: noise(kibibyte) }).pipe(Effect.provide(context)),
          { concurrency: "unbounded", discard: true }
        )
        const { bytes, counted } = yield* storedBelow(1024 * kibibyte, name)
        expect(counted).toBe(bytes)
        expect(bytes).toBeGreaterThan(890 * kibibyte)
      }).pipe(Effect.provide(layerAt(location)))
    }).pipe(Effect.provide(bounded({ perKey: 1024 * kibibyte })))
  )
})

describe.each(databases.filter(({ name }) => name === "postgres"))(
  "a purge of kept answers on $name",
  ({ create, layer }) => {
    it.live("and a transaction that counts answers of the same API keys do not wait for each other in a circle", () =>
      Effect.gen(function* () {
        const idempotency = yield* Idempotency
        const sql = yield* SqlClient
        // The answer of the second key expired first.
        yield* sql`INSERT INTO idempotency_bytes (key_hash, bytes) VALUES ('a', 1), ('b', 1)`
        yield* sql`INSERT INTO idempotency (scope, idempotency_key, key_hash, fingerprint, status, bytes, created_at, expires_at)
        VALUES ('s', '1', 'b', '', 200, 1, 0, 1), ('s', '2', 'a', '', 200, 1, 0, 2)`
        const count = (key: string) => sql`UPDATE idempotency_bytes SET bytes = bytes + 1 WHERE key_hash = ${key}`
        const isFirstCounted = yield* Deferred.make<void>()
        const isPurgeWaiting = yield* Deferred.make<void>()
        const counting = yield* Effect.forkChild(
          count("a").pipe(
            Effect.andThen(Deferred.succeed(isFirstCounted, undefined)),
            Effect.andThen(Deferred.await(isPurgeWaiting)),
            // So that Postgres would end this transaction, which is not run again.
            Effect.andThen(sql`SET LOCAL deadlock_timeout = '10ms'`),
            Effect.andThen(count("b")),
            sql.withTransaction
          )
        )
        yield* Deferred.await(isFirstCounted)
        const purge = yield* Effect.forkChild(idempotency.purge)
        yield* sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`.pipe(
          Effect.repeat({ until: (rows) => rows.length > 0 })
        )
        yield* Deferred.succeed(isPurgeWaiting, undefined)
        yield* Fiber.join(counting)
        expect(yield* Fiber.join(purge)).toBe(2)
        expect(yield* sql`SELECT key_hash, bytes FROM idempotency_bytes ORDER BY key_hash`).toEqual([
          { key_hash: "a", bytes: 1 },
          { key_hash: "b", bytes: 1 }
        ])
      }).pipe(Effect.provide(layer))
    )

    it.live("leaves the answers that another process is deleting to it", () =>
      Effect.gen(function* () {
        const location = yield* create
        const other = yield* Layer.build(layerAt(location))
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient
          const { purge } = yield* Idempotency
          const expiresAt = 2 ** 50
          yield* insertAnswers({ count: 1100, bytes: kibibyte, keyHash: "a", expiresAt })
          const isCounterLocked = yield* Deferred.make<void>()
          const isOtherDone = yield* Deferred.make<void>()
          const counting = yield* Effect.forkChild(
            sql`UPDATE idempotency_bytes SET bytes = bytes + 1`.pipe(
              Effect.andThen(Deferred.succeed(isCounterLocked, undefined)),
              Effect.andThen(Deferred.await(isOtherDone)),
              sql.withTransaction
            )
          )
          yield* Deferred.await(isCounterLocked)
          const first = yield* Effect.forkChild(purge)
          yield* sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`.pipe(
            Effect.repeat({ until: (rows) => rows.length > 0 })
          )
          // It waits for nothing.
          yield* Effect.flatMap(Idempotency, (idempotency) => idempotency.purge).pipe(Effect.provide(other))
          yield* Deferred.succeed(isOtherDone, undefined)
          yield* Fiber.join(counting)
          yield* Fiber.join(first)
          const { bytes, counted } = yield* stored
          expect(counted).toBe(bytes + 1)
          expect(bytes).toBeLessThan(1024 * kibibyte)
          expect(bytes).toBeGreaterThan(890 * kibibyte)
        }).pipe(Effect.provide(layerAt(location)))
      }).pipe(Effect.provide(bounded({ total: 1024 * kibibyte })))
    )
  }
)
