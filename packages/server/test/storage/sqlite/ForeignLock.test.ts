/**
 * Another process has the write lock of the database: reads continue, writes wait and then fail.
 */
import { expect, it } from "@effect/vitest"
import { Job } from "@model-gateway/core/Video"
import { Duration, Effect, Fiber, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { Transactions } from "../../../src/storage/sql/Transactions.ts"
import { KeyStore } from "../../../src/access/KeyStore.ts"
import * as Migrations from "../../../src/storage/sql/Migrations.ts"
import * as SqliteClient from "../../../src/storage/sqlite/SqliteClient.ts"
import { form, formHeaders, layerAt, TestGateway } from "../../TestGateway.ts"
import { envelopeOf, inSet, post } from "../../TestEnvelope.ts"
import { whileLocked } from "../../Processes.ts"
import { temporaryFolder } from "../../TestStorage.ts"

const gateway = (busyTimeout: number) =>
  Layer.unwrap(Effect.map(temporaryFolder, (folder) => layerAt(folder, undefined, undefined, undefined, busyTimeout)))

const rerank = { model: "sandbox/bm25", query: "tea", documents: ["green tea"] }
const film = { model: "sandbox/title-card", prompt: "tea", duration: 1, resolution: "480p" }

const idOf = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Struct({ id: Schema.String })))
const jobOf = Schema.decodeUnknownEffect(Schema.fromJsonString(Job))

/**
 * Data to read: a file, a finished video, and a key that this process has not authenticated yet.
 */
const prepare = Effect.gen(function* () {
  const { ask, workspace } = yield* TestGateway
  const { organizationId, id: workspaceId } = workspace
  const file = yield* idOf(
    (yield* ask("/api/v1/files", {
      method: "POST",
      headers: formHeaders,
      body: form({ name: "purpose", value: "p" }, { name: "file", filename: "a", value: "contents" })
    })).text
  )
  const job = yield* idOf((yield* post("/api/v1/videos", film)).text)
  let { status } = yield* jobOf((yield* ask(`/api/v1/videos/${job.id}?wait=30`)).text)
  while (status !== "completed") {
    status = (yield* jobOf((yield* ask(`/api/v1/videos/${job.id}?wait=30`)).text)).status
  }
  const { plain } = yield* (yield* KeyStore).create({ organizationId, workspaceId, name: "new" })
  return { file: file.id, job: job.id, newKey: Redacted.value(plain) }
})

it.live(
  "reads and health answer while a write waits for another process, and the write succeeds after it",
  () =>
    Effect.gen(function* () {
      const { ask, folder, managementKey } = yield* TestGateway
      const { file, job, newKey } = yield* prepare
      yield* whileLocked(
        `${folder}/gateway.db`,
        Effect.fnUntraced(function* (release) {
          const writes = yield* Effect.forkChild(
            Effect.all([post("/api/v1/rerank", rerank), post("/api/v1/videos", film)], { concurrency: 2 })
          )
          const answers = yield* Effect.forEach(
            [
              ask("/healthz", { key: null }),
              ask("/api/v1/key"),
              ask("/api/v1/key", { key: newKey }),
              ask("/api/v1/models"),
              ask("/api/v1/files"),
              ask(`/api/v1/files/${file}`),
              ask(`/api/v1/files/${file}/content`),
              ask(`/api/v1/videos/${job}`),
              ask(`/api/v1/videos/${job}/content`),
              ask("/api/v1/keys", { key: managementKey })
            ],
            Effect.map(({ status }) => status)
          )
          expect(answers).toEqual(answers.map(() => 200))
          expect((yield* ask("/api/v1/key", { key: newKey.replace(/.$/, "!") })).status).toBe(401)
          yield* release
          expect((yield* Fiber.join(writes)).map(({ status }) => status)).toEqual([200, 202])
        })
      )
    }).pipe(Effect.provide(gateway(120_000))),
  60_000
)

it.live(
  "a write that waits longer than the timeout fails, and the service works again after the lock is released",
  () =>
    Effect.gen(function* () {
      const { ask, folder } = yield* TestGateway
      const job = yield* idOf((yield* post("/api/v1/videos", { ...film, duration: 3 })).text)
      yield* whileLocked(
        `${folder}/gateway.db`,
        Effect.fnUntraced(function* () {
          const refused = yield* Effect.all(
            [
              ...Array.from({ length: 10 }, () => post("/api/v1/rerank", rerank)),
              post("/api/v1/rerank", rerank, { headers: { "idempotency-key": "a" } })
            ],
            { concurrency: "unbounded" }
          )
          for (const answer of refused) {
            expect(answer.status).toBe(503)
            expect(envelopeOf(answer).error.metadata).toMatchObject({ retry_after: 1 })
          }
          const video = yield* post("/api/v1/videos", film)
          inSet("submitVideo", video)
          expect(video.status).toBe(500)
          expect((yield* ask("/healthz", { key: null })).status).toBe(200)
        })
      )
      expect((yield* post("/api/v1/rerank", rerank, { headers: { "idempotency-key": "a" } })).status).toBe(200)
      let { status } = yield* jobOf((yield* ask(`/api/v1/videos/${job.id}`)).text)
      while (status === "pending" || status === "in_progress") {
        status = (yield* jobOf((yield* ask(`/api/v1/videos/${job.id}?wait=30`)).text)).status
      }
      expect(status).toBe("completed")
    }).pipe(Effect.provide(gateway(300))),
  60_000
)

it.live("no request that waits for the database waits longer than the timeout", () =>
  Effect.gen(function* () {
    const filename = `${yield* temporaryFolder}/gateway.db`
    yield* Effect.gen(function* () {
      const sql = yield* SqlClient
      const transactions = yield* Transactions
      yield* sql`CREATE TABLE t (n INTEGER)`
      const insert = sql`INSERT INTO t (n) VALUES (1)`
      const writes = [
        ...Array.from({ length: 20 }, () => insert),
        ...Array.from({ length: 20 }, () => sql.withTransaction(insert)),
        ...Array.from({ length: 300 }, () => transactions.run(insert))
      ]
      const errors = yield* whileLocked(filename, () =>
        // If they waited one after another, they would take 41 times as long.
        Effect.all(writes.map(Effect.flip), { concurrency: "unbounded" }).pipe(Effect.timeout(Duration.seconds(15)))
      )
      expect(new Set(errors.map((error) => (error._tag === "SqlError" ? error.reason._tag : error._tag)))).toEqual(
        new Set(["LockTimeoutError"])
      )
      expect(yield* sql`SELECT COUNT(*) AS n FROM t`).toMatchObject([{ n: 0 }])
      yield* insert
    }).pipe(Effect.provide(Layer.fresh(SqliteClient.layer({ filename, busyTimeout: 1000 }))))
  })
)

it.live("a database that is locked when the service starts is opened after the lock is released", () =>
  Effect.gen(function* () {
    const filename = `${yield* temporaryFolder}/gateway.db`
    const database = Layer.fresh(Migrations.layer.pipe(Layer.provideMerge(SqliteClient.layer({ filename }))))
    yield* whileLocked(filename, (release) =>
      Effect.gen(function* () {
        let turns = 0
        const counter = yield* Effect.forkChild(
          Effect.forever(Effect.andThen(Effect.sleep("1 millis"), () => Effect.sync(() => turns++)))
        )
        const opened = yield* Effect.forkChild(Effect.scoped(Layer.build(database)), { startImmediately: true })
        while (turns < 20) yield* Effect.sleep("1 millis")
        yield* release
        yield* Fiber.join(opened)
        yield* Fiber.interrupt(counter)
      })
    )
  })
)
