import { describe, expect, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { Accounting } from "../../src/accounting/Accounting.ts"
import { fingerprintOf, Idempotency } from "../../src/admission/Idempotency.ts"
import { LedgerStore } from "../../src/accounting/LedgerStore.ts"
import { Outbox } from "../../src/events/Outbox.ts"
import * as TestOutbox from "../events/TestOutbox.ts"
import * as TestLedger from "./TestLedger.ts"
import { micro, outcome, payerWith, reserve } from "./TestPayer.ts"
import { databases } from "../TestDatabases.ts"
import { layerAt } from "../TestStorage.ts"
import * as TestProxy from "../storage/postgres/TestProxy.ts"

const request = { scope: "s", keyHash: "k", key: "once", fingerprint: fingerprintOf("body") }

const event = (id: string) => ({
  id,
  type: "rerank.completed" as const,
  workspace_id: "w",
  key_hash: "k",
  model: "m",
  generation_id: id,
  provider: "p",
  upstream_model: "u",
  error_status: null,
  cost_micro: 100,
  is_byok: false,
  input: {},
  usage: {},
  user: null,
  trace: null,
  started_at: 0,
  attempts: [],
  job: null,
  callback_url: null
})

/** Claims the idempotency key, and returns the row of an answer and of an event. */
const claimed = Effect.gen(function* () {
  const begun = yield* (yield* Idempotency).begin(request)
  if (begun._tag !== "First") return yield* Effect.die(new Error("the key has an answer"))
  return {
    answer: begun.claim.row({ status: 200, headers: {}, body: `{"n":"\\u0000 ä"}` }),
    event: yield* (yield* Outbox).row(event("gen-1"))
  }
})

describe.each(databases.filter(({ name }) => name === "postgres"))("the ledger on $name", ({ create }) => {
  it.live("takes one round trip to claim, one to reserve, and one to settle with the answer and the event", () =>
    Effect.gen(function* () {
      const proxy = yield* TestProxy.make(yield* create)
      yield* Effect.gen(function* () {
        const accounting = yield* Accounting
        const { payer } = yield* payerWith(1000)
        yield* TestOutbox.setDestination("w")
        const claim = yield* proxy.counted(claimed)
        const reserved = yield* proxy.counted(reserve("gen-1", payer, 400))
        const settled = yield* proxy.counted(accounting.settle(reserved.result, outcome(250), claim.result))
        expect(settled.result).toBe("done")
        expect([claim, reserved, settled].map(({ roundTrips }) => roundTrips)).toEqual([1, 1, 1])

        const failed = yield* proxy.counted(reserve("gen-2", payer, 400))
        const failure = { status: "failed", errorStatus: 502 } as const
        const rows = { event: yield* (yield* Outbox).row(event("gen-2")) }
        const released = yield* proxy.counted(accounting.release(failed.result, failure, rows))
        expect([failed.roundTrips, released.roundTrips]).toEqual([1, 1])
        expect((yield* TestOutbox.all).map(({ id }) => id)).toEqual(["gen-1", "gen-2"])
        const refused = yield* proxy.counted(Effect.flip(reserve("gen-3", payer, 751)))
        expect(refused).toMatchObject({ roundTrips: 1, result: { scope: "workspace", remaining: 750 } })
      }).pipe(Effect.provide(layerAt(proxy.url)))
    })
  )

  it.live("writes concurrent requests of a workspace in a few batches", () =>
    Effect.gen(function* () {
      const proxy = yield* TestProxy.make(yield* create)
      yield* Effect.gen(function* () {
        const accounting = yield* Accounting
        const { payer } = yield* payerWith(100_000)
        const ids = Array.from({ length: 80 }, (_, n) => `gen-${n}`)
        const all = { concurrency: "unbounded" } as const
        // The sums of the day have a row for the model before the batch.
        yield* accounting.settle(yield* reserve("gen", payer, 10), outcome(10))
        const reservations = yield* proxy.counted(Effect.forEach(ids, (id) => reserve(id, payer, 10), all))
        const ends = yield* proxy.counted(
          Effect.forEach(reservations.result, (reserved) => accounting.settle(reserved, outcome(10)), all)
        )
        expect(reservations.roundTrips).toBeLessThan(5)
        expect(ends.roundTrips).toBeLessThan(5)
        expect(yield* accounting.balanceOf(payer.workspaceId)).toMatchObject({ balance: 99_190, reserved: 0 })
        const sums = yield* (yield* SqlClient)`SELECT requests, cost_micro FROM usage_days`
        expect(sums.map((row) => [Number(row["requests"]), Number(row["cost_micro"])])).toEqual([
          [81, 810],
          [81, 810]
        ])
      }).pipe(Effect.provide(layerAt(proxy.url)))
    })
  )

  it.live("claims the idempotency keys of concurrent requests together, each for one process", () =>
    Effect.gen(function* () {
      const location = yield* create
      const proxy = yield* TestProxy.make(location)
      const other = yield* Layer.build(layerAt(location))
      yield* Effect.gen(function* () {
        const { begin } = yield* Idempotency
        const all = { concurrency: "unbounded" } as const
        const requests = Array.from({ length: 80 }, (_, n) => ({ ...request, key: `key-${n}` }))
        const first = yield* Effect.forEach(requests.slice(0, 3), Context.get(other, Idempotency).begin, all)
        expect(first.map(({ _tag }) => _tag)).toEqual(["First", "First", "First"])
        const claims = yield* proxy.counted(Effect.forEach(requests.slice(3), begin, all))
        expect(claims.result.every(({ _tag }) => _tag === "First")).toBe(true)
        expect(claims.roundTrips).toBeLessThan(5)
        const ledger = yield* LedgerStore
        const { fingerprint, keyHash, scope } = request
        const claimAgain = ({ key }: typeof request) =>
          ledger.claim({ scope, key, keyHash, fingerprint, owner: "proc_1", createdAt: 0, expiresAt: 1 }, false)
        const again = yield* Effect.forEach([{ ...request, key: "new" }, ...requests], claimAgain, all)
        expect(again).toEqual([true, ...requests.map(() => false)])
        const thrice = yield* Effect.forEach(
          Array.from({ length: 3 }, () => ({ ...request, key: "newer" })),
          claimAgain,
          all
        )
        expect(thrice.filter((isClaimed) => isClaimed)).toHaveLength(1)
      }).pipe(Effect.provide(layerAt(proxy.url)))
    })
  )

  it.live("charges once, with the answer and the event, when the confirmation of a settlement is lost", () =>
    Effect.gen(function* () {
      const proxy = yield* TestProxy.make(yield* create)
      yield* Effect.gen(function* () {
        const accounting = yield* Accounting
        const { payer } = yield* payerWith(1000)
        yield* TestOutbox.setDestination("w")
        const rows = yield* claimed
        const reserved = yield* reserve("gen-1", payer, 400)
        yield* proxy.loseAnswerTo("gen-1")
        // It is tried again, and finds that the first attempt was committed.
        expect(yield* accounting.settle(reserved, outcome(250), rows)).toBe("already")
        expect(yield* accounting.balanceOf(payer.workspaceId)).toMatchObject({ balance: 750, reserved: 0 })
        expect(yield* TestLedger.usageOf()).toMatchObject([{ id: "gen-1", cost: 250 }])
        const events = yield* TestOutbox.all
        expect(events.map(({ id }) => id)).toEqual(["gen-1"])
        const replay = yield* (yield* Idempotency).begin(request)
        expect(replay).toMatchObject({ _tag: "Replay", answer: { status: 200, body: `{"n":"\\u0000 ä"}` } })
      }).pipe(Effect.provide(layerAt(proxy.url)))
    })
  )

  it.live("releases the reservation whose confirmation was lost", () =>
    Effect.gen(function* () {
      const proxy = yield* TestProxy.make(yield* create)
      yield* Effect.gen(function* () {
        const accounting = yield* Accounting
        const { payer } = yield* payerWith(1000)
        yield* proxy.loseAnswerTo("gen-1")
        expect(yield* Effect.flip(reserve("gen-1", payer, 400))).toMatchObject({ _tag: "StorageError" })
        expect(yield* accounting.balanceOf(payer.workspaceId)).toMatchObject({ reserved: 400 })
        expect(yield* accounting.reap).toBe(1)
        expect(yield* accounting.balanceOf(payer.workspaceId)).toMatchObject({ balance: 1000, reserved: 0 })
      }).pipe(Effect.provide(layerAt(proxy.url)))
    })
  )

  it.live("fails only the request that the database cannot store, of those that are written together", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      const { payer } = yield* payerWith(1000)
      const results = yield* Effect.forEach(
        ["gen-1", "gen-\u0000", "gen-2"],
        (id) => Effect.map(Effect.result(reserve(id, payer, 10)), ({ _tag }) => _tag),
        { concurrency: "unbounded" }
      )
      expect(results).toEqual(["Success", "Failure", "Success"])
      expect(yield* accounting.balanceOf(payer.workspaceId)).toMatchObject({ reserved: 20 })
    }).pipe(Effect.provide(Layer.unwrap(Effect.map(create, (location) => layerAt(location)))))
  )

  it.live("delays no request of another lane while a workspace is locked", () =>
    Effect.gen(function* () {
      const location = yield* create
      const other = yield* Layer.build(layerAt(location))
      yield* Effect.gen(function* () {
        const { organizationId, payer } = yield* payerWith(1000)
        const workspaces = yield* WorkspaceStore
        const accounting = yield* Accounting
        const open = yield* Deferred.make<void>()
        const locked = yield* Deferred.make<void>()
        const lock = Effect.gen(function* () {
          const sql = yield* SqlClient
          const take = sql`SELECT id FROM workspaces WHERE id = ${payer.workspaceId} FOR UPDATE`
          yield* sql.withTransaction(
            Effect.andThen(take, Effect.andThen(Deferred.succeed(locked, undefined), Deferred.await(open)))
          )
        })
        const holder = yield* Effect.forkChild(Effect.provide(lock, other))
        yield* Deferred.await(locked)
        const waiting = yield* Effect.forkChild(reserve("waits", payer, 10))
        const keys = yield* KeyStore
        const others = yield* Effect.forEach(Array.from({ length: 8 }), (_, n) =>
          Effect.gen(function* () {
            const { id: workspaceId } = yield* workspaces.create(organizationId, { name: `w${n}`, slug: `w${n}` })
            yield* accounting.addCredits(workspaceId, micro(100))
            const { key } = yield* keys.create({ organizationId, workspaceId, name: "k" })
            return yield* Effect.forkChild(reserve(`gen-${n}`, { ...payer, keyHash: key.hash, workspaceId }, 10))
          })
        )
        yield* Effect.raceAll(others.map((fiber) => Fiber.join(fiber)))
        expect(waiting.pollUnsafe()).toBeUndefined()
        yield* Deferred.succeed(open, undefined)
        yield* Fiber.join(waiting)
        yield* Effect.forEach(others, (fiber) => Fiber.join(fiber))
        yield* Fiber.join(holder)
      }).pipe(Effect.provide(layerAt(location)))
    })
  )
})
