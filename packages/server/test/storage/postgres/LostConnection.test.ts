/** The whole service over a Postgres that is killed, that hangs, and that comes back. */
import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Redacted, Schedule } from "effect"
import { hasPostgres, startPostgres } from "@model-gateway/test-services/Postgres"
import { Accounting } from "../../../src/accounting/Accounting.ts"
import * as TestLedger from "../../accounting/TestLedger.ts"
import { envelopeOf, post } from "../../TestEnvelope.ts"
import { layerAt, TestGateway } from "../../TestGateway.ts"
import { asTheyCame, scripted } from "../../TestProvider.ts"
import { temporaryFolder } from "../../TestStorage.ts"

/** Shorter than the default, so that the test is. */
const timeout = 1000

/** The driver gives up a connection that does not answer a cancellation either. */
const cancellation = 5000

const server = Effect.acquireRelease(
  Effect.promise(() => startPostgres()),
  (postgres) => Effect.promise(() => postgres.remove())
)

const gateway = Effect.fnUntraced(function* (url: string) {
  const folder = yield* temporaryFolder
  return layerAt(folder, {}, undefined, undefined, timeout, undefined, undefined, Redacted.make(url))
})

const rerank = { model: "sandbox/bm25", query: "a", documents: ["a", "b"] }

/**
 * The statuses of requests with a key that this process knows, and of one with a key that it does
 * not know yet.
 */
const statuses = Effect.fnUntraced(function* (unused: string) {
  const { ask, managementKey } = yield* TestGateway
  const answers = yield* Effect.all(
    {
      key: ask("/api/v1/key"),
      unusedKey: post("/api/v1/rerank", rerank, { key: unused }),
      rerank: post("/api/v1/rerank", rerank),
      files: ask("/api/v1/files"),
      keys: ask("/api/v1/keys", { key: managementKey }),
      video: post("/api/v1/videos", { model: "sandbox/title-card", prompt: "a" })
    },
    { concurrency: "unbounded" }
  )
  for (const answer of Object.values(answers)) if (answer.status >= 400) envelopeOf(answer)
  return Object.fromEntries(Object.entries(answers).map(([name, { status }]) => [name, status]))
})

const works = { key: 200, unusedKey: 200, rerank: 200, files: 200, keys: 200, video: 202 }

/**
 * 500 where the operation has no 503. Who the caller is, is not known without the database: never
 * 401.
 */
const fails = { key: 500, unusedKey: 503, rerank: 503, files: 503, keys: 500, video: 500 }

const newKey = Effect.gen(function* () {
  const { managementKey } = yield* TestGateway
  const { text } = yield* post("/api/v1/keys", { name: "unused" }, { key: managementKey })
  const made: unknown = JSON.parse(text)
  return typeof made === "object" && made !== null && "key" in made ? String(made.key) : ""
})

const untilWorking = (unused: string) =>
  statuses(unused).pipe(
    Effect.repeat({
      until: (found) => Object.values(found).every((status) => status < 300),
      schedule: Schedule.spaced("50 millis")
    }),
    Effect.timeout("15 seconds")
  )

describe.runIf(hasPostgres())("when the database", () => {
  it.live(
    "is killed, requests fail with 503 or 500, and work again by themselves when it is back",
    () =>
      Effect.gen(function* () {
        const postgres = yield* server
        yield* Effect.gen(function* () {
          const unused = yield* newKey
          expect(yield* statuses(yield* newKey)).toEqual(works)
          yield* Effect.promise(() => postgres.kill())
          const [lasted, found] = yield* Effect.timed(statuses(unused))
          expect(found).toEqual(fails)
          expect(Duration.toMillis(lasted)).toBeLessThan(5000)
          const { ask } = yield* TestGateway
          expect((yield* ask("/readyz")).status).toBe(503)
          yield* Effect.promise(() => postgres.start())
          expect(yield* untilWorking(unused)).toEqual(works)
        }).pipe(Effect.provide(yield* gateway(postgres.url)))
      }).pipe(Effect.scoped),
    60_000
  )

  it.live(
    "is restarted while an upstream works on a request, the request succeeds and is charged once",
    () =>
      Effect.gen(function* () {
        const postgres = yield* server
        const folder = yield* temporaryFolder
        const scope = yield* Effect.scope
        const provider = scripted({
          name: "slow",
          rerank: (request) =>
            Effect.promise(() => postgres.stop()).pipe(
              Effect.andThen(
                Effect.forkIn(
                  Effect.delay(
                    Effect.promise(() => postgres.start()),
                    "2 seconds"
                  ),
                  scope
                )
              ),
              Effect.as(asTheyCame(request))
            )
        })
        yield* Effect.gen(function* () {
          const { reconciliation } = yield* Accounting
          const { status } = yield* post("/api/v1/rerank", { ...rerank, model: "test/rank" })
          expect(status).toBe(200)
          expect(yield* TestLedger.usageOf()).toMatchObject([{ cost: 1000, provider: "slow", isLate: false }])
          expect(yield* TestLedger.openReservations).toEqual([])
          expect(yield* reconciliation).toEqual({ abandoned: [], overruns: [], late: [] })
          const { ask } = yield* TestGateway
          expect(JSON.parse((yield* ask("/api/v1/key")).text)).toMatchObject({ data: { usage: 0.001 } })
        }).pipe(
          Effect.provide(
            layerAt(folder, {}, [provider], undefined, undefined, undefined, undefined, Redacted.make(postgres.url))
          )
        )
      }).pipe(Effect.scoped),
    60_000
  )

  it.live(
    "hangs, requests fail within a bounded time, and work again by themselves when it goes on",
    () =>
      Effect.gen(function* () {
        const postgres = yield* server
        yield* Effect.gen(function* () {
          const unused = yield* newKey
          expect(yield* statuses(yield* newKey)).toEqual(works)
          postgres.pause()
          const [lasted, found] = yield* Effect.timed(statuses(unused))
          expect(found).toEqual(fails)
          // A new connection waits for 5 seconds, and a statement may run in a transaction that it
          // ends.
          expect(Duration.toMillis(lasted)).toBeLessThan(2 * (timeout + cancellation) + 3000)
          postgres.resume()
          expect(yield* untilWorking(unused)).toEqual(works)
        }).pipe(Effect.provide(yield* gateway(postgres.url)))
      }).pipe(Effect.scoped),
    90_000
  )
})
