import { describe, expect, it } from "@effect/vitest"
import { type Context, Deferred, Duration, Effect, Exit, Fiber, Layer, type Scope } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { TestClock } from "effect/testing"
import { Accounting } from "../../src/accounting/Accounting.ts"
import {
  type Answer,
  fingerprintOf,
  Idempotency,
  type IdempotentRequest,
  keeps
} from "../../src/admission/Idempotency.ts"
import { claimLost, type ClaimRow } from "../../src/accounting/LedgerStore.ts"
import { micro, outcome, payerWith, reserve } from "../accounting/TestPayer.ts"
import { databases } from "../TestDatabases.ts"
import { clockAhead, layerAt } from "../TestStorage.ts"

const answer = (status = 200, body = "{}"): Answer => ({
  status,
  headers: { "content-type": "application/json" },
  body
})
const request = (key = "once", body = "a", scope = "key-hash") => ({
  scope,
  keyHash: scope,
  key,
  fingerprint: fingerprintOf("POST /x", body)
})

const begin = (wanted: IdempotentRequest) => Effect.flatMap(Idempotency, ({ begin }) => begin(wanted))

/** Claims the key. */
const claimKey = Effect.fnUntraced(function* (wanted: IdempotentRequest) {
  const begun = yield* begin(wanted)
  return begun._tag === "First" ? begun.claim : yield* Effect.die(new Error("the key has an answer"))
})

/**
 * As the service does: the first request works and stores its answer. If it fails or is
 * interrupted, it releases the key.
 */
const once = <E>(wanted: IdempotentRequest, work: Effect.Effect<Answer, E>) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const idempotency = yield* Idempotency
      const begun = yield* idempotency.begin(wanted)
      if (begun._tag === "Replay") return { answer: begun.answer, replayed: true }
      const { claim } = begun
      const worked = restore(work).pipe(
        Effect.tap(claim.complete),
        Effect.onError(() => Effect.ignore(claim.abandon))
      )
      return { answer: yield* worked, replayed: false }
    })
  )

/**
 * Moves the clock until the fiber ends, and returns its result. A read in between gives a fiber
 * that waits for Postgres the time to get there.
 */
const joinMoving = Effect.fnUntraced(function* <A, E>(fiber: Fiber.Fiber<A, E>) {
  const sql = yield* SqlClient
  while (fiber.pollUnsafe() === undefined) {
    yield* TestClock.adjust("100 millis")
    yield* sql`SELECT 1`
  }
  return yield* Fiber.join(fiber)
})

type Stores = Layer.Success<ReturnType<typeof layerAt>>

describe.each(databases)("Idempotency on $name", ({ create, layer }) => {
  /**
   * Runs a test in one of two processes that share a database, with the stores of the other one.
   */
  const inTwoProcesses = <E>(test: (other: Context.Context<Stores>) => Effect.Effect<void, E, Stores | Scope.Scope>) =>
    Effect.gen(function* () {
      const location = yield* create
      const other = yield* Layer.build(layerAt(location))
      yield* Effect.provide(test(other), layerAt(location))
    })

  it.effect("does it once and gives the first answer again", () =>
    Effect.gen(function* () {
      let done = 0
      const work = Effect.sync(() => answer(202, `{"n":${++done}}`))
      const first = yield* once(request(), work)
      const second = yield* once(request(), work)
      expect(first).toEqual({ answer: answer(202, `{"n":1}`), replayed: false })
      expect(second).toEqual({ answer: answer(202, `{"n":1}`), replayed: true })
    }).pipe(Effect.provide(layer))
  )

  it.effect("refuses another body, also while the first request is still under way", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const first = yield* Effect.forkChild(once(request(), Effect.as(Deferred.await(gate), answer())), {
        startImmediately: true
      })
      const other = once(request("once", "b"), Effect.succeed(answer()))
      expect((yield* Effect.flip(other))._tag).toBe("IdempotencyConflict")
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(first)
      expect((yield* Effect.flip(other))._tag).toBe("IdempotencyConflict")
    }).pipe(Effect.provide(layer))
  )

  it.effect("does it once for many that come at once, and all get the same answer", () =>
    Effect.gen(function* () {
      let done = 0
      const work = Effect.andThen(
        Effect.yieldNow,
        Effect.sync(() => answer(200, String(++done)))
      )
      const results = yield* Effect.all(
        Array.from({ length: 50 }, () => once(request(), work)),
        { concurrency: "unbounded" }
      )
      expect(done).toBe(1)
      expect(new Set(results.map((result) => result.answer.body))).toEqual(new Set(["1"]))
      expect(results.filter((result) => !result.replayed).length).toBe(1)
    }).pipe(Effect.provide(layer))
  )

  it.effect("keeps the keys of one API key from another's", () =>
    Effect.gen(function* () {
      yield* once(request("once", "a", "one"), Effect.succeed(answer(200, "one")))
      const other = yield* once(request("once", "b", "two"), Effect.succeed(answer(200, "two")))
      expect(other).toEqual({ answer: answer(200, "two"), replayed: false })
    }).pipe(Effect.provide(layer))
  )

  it.effect("keeps no answer that a retry could better, no failure, no interruption", () =>
    Effect.gen(function* () {
      for (const status of [402, 429, 500, 503]) {
        expect((yield* once(request(), Effect.succeed(answer(status)))).replayed).toBe(false)
      }
      expect(yield* Effect.flip(once(request(), Effect.fail("broke")))).toBe("broke")
      expect(Exit.isFailure(yield* Effect.exit(once(request(), Effect.die("broke"))))).toBe(true)
      const hanging = yield* Effect.forkChild(once(request(), Effect.never), { startImmediately: true })
      yield* Fiber.interrupt(hanging)
      expect((yield* once(request(), Effect.succeed(answer(400)))).replayed).toBe(false)
      expect(yield* once(request(), Effect.succeed(answer()))).toEqual({
        answer: answer(400),
        replayed: true
      })
    }).pipe(Effect.provide(layer))
  )

  it.effect("lets the next of those that wait go ahead when the first fails", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      let done = 0
      const failing = Effect.andThen(Deferred.await(gate), Effect.fail("broke"))
      const first = yield* Effect.forkChild(Effect.flip(once(request(), failing)), {
        startImmediately: true
      })
      const work = Effect.sync(() => answer(200, String(++done)))
      const waiting = yield* Effect.forkChild(
        Effect.all([once(request(), work), once(request(), work)], { concurrency: 2 }),
        { startImmediately: true }
      )
      yield* Deferred.succeed(gate, undefined)
      expect(yield* Fiber.join(first)).toBe("broke")
      expect((yield* Fiber.join(waiting)).filter((result) => result.replayed).length).toBe(1)
      expect(done).toBe(1)
    }).pipe(Effect.provide(layer))
  )

  it.effect("lets those that wait be interrupted", () =>
    Effect.gen(function* () {
      const first = yield* Effect.forkChild(once(request(), Effect.never), { startImmediately: true })
      const waiting = yield* Effect.forkChild(once(request(), Effect.succeed(answer())), {
        startImmediately: true
      })
      yield* Fiber.interrupt(waiting)
      yield* Fiber.interrupt(first)
      expect((yield* once(request(), Effect.succeed(answer()))).replayed).toBe(false)
    }).pipe(Effect.provide(layer))
  )

  it.effect("forgets after 24 hours, and not before", () =>
    Effect.gen(function* () {
      const idempotency = yield* Idempotency
      yield* once(request(), Effect.succeed(answer()))
      yield* TestClock.adjust("86399999 millis")
      expect(yield* idempotency.purge).toBe(0)
      expect((yield* once(request(), Effect.succeed(answer()))).replayed).toBe(true)
      yield* TestClock.adjust("1 millis")
      expect((yield* once(request("once", "b"), Effect.succeed(answer()))).replayed).toBe(false)
      yield* TestClock.adjust("1 day")
      expect(yield* idempotency.purge).toBe(1)
    }).pipe(Effect.provide(layer))
  )

  it.effect("forgets any number, and none that is due later", () =>
    Effect.gen(function* () {
      const idempotency = yield* Idempotency
      const ask = (n: number) => once(request(`key ${n}`), Effect.succeed(answer()))
      yield* Effect.forEach(Array.from({ length: 250 }).keys(), ask)
      yield* TestClock.adjust("23 hours")
      yield* ask(250)
      yield* TestClock.adjust("1 hour")
      expect(yield* idempotency.purge).toBe(250)
      expect((yield* ask(250)).replayed).toBe(true)
    }).pipe(Effect.provide(layer))
  )

  it.effect("waits for a request of another process and replays its answer", () =>
    inTwoProcesses((other) =>
      Effect.gen(function* () {
        const claimed = yield* Deferred.make<void>()
        const gate = yield* Deferred.make<void>()
        const work = Effect.andThen(Deferred.succeed(claimed, undefined), Deferred.await(gate))
        const first = yield* Effect.forkChild(
          once(request(), Effect.as(work, answer(200, "theirs"))).pipe(Effect.provide(other)),
          { startImmediately: true }
        )
        yield* Deferred.await(claimed)
        const waiting = yield* Effect.forkChild(once(request(), Effect.succeed(answer(200, "ours"))), {
          startImmediately: true
        })
        yield* TestClock.adjust("1 second")
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.join(first)
        expect(yield* joinMoving(waiting)).toEqual({ answer: answer(200, "theirs"), replayed: true })
      })
    )
  )

  it.effect("claims a held key with a reservation, and reserves nothing if another process has the key", () =>
    inTwoProcesses((other) =>
      Effect.gen(function* () {
        const idempotency = yield* Idempotency
        const accounting = yield* Accounting
        const sql = yield* SqlClient
        const { payer } = yield* payerWith(2000)
        const reserving = (id: string) => (claim: ClaimRow) =>
          accounting.claimAndReserve(claim, { id, payer, operation: "rerank", model: "m", amount: micro(1000) })
        const reservations = Effect.map(sql`SELECT id FROM reservations`, (rows) => rows.map(({ id }) => id))
        const theirs = yield* Effect.provide(claimKey(request()), other)

        const hold = yield* idempotency.hold(request())
        expect(yield* Effect.flip(hold.claiming(reserving("gen-1")))).toMatchObject({ _tag: "KeyTaken" })
        expect(hold.isClaimed()).toBe(false)
        yield* hold.claim.abandon
        expect(yield* reservations).toEqual([])
        yield* Effect.provide(theirs.complete(answer(200, "theirs")), other)
        expect(yield* idempotency.begin(request())).toMatchObject({ _tag: "Replay", answer: { body: "theirs" } })

        const second = yield* idempotency.hold(request("second"))
        yield* second.claiming(reserving("gen-2"))
        expect(second.isClaimed()).toBe(true)
        expect(yield* reservations).toEqual(["gen-2"])
        const again = yield* Effect.forkChild(Effect.provide(begin(request("second")), other), {
          startImmediately: true
        })
        yield* accounting.settle({ id: "gen-2" }, outcome(1000), { answer: second.claim.row(answer(200, "ours")) })
        expect(yield* joinMoving(again)).toMatchObject({ _tag: "Replay", answer: { body: "ours" } })
      })
    )
  )

  it.effect("leaves nothing of a held key whose reservation is refused or never tried", () =>
    Effect.gen(function* () {
      const idempotency = yield* Idempotency
      const accounting = yield* Accounting
      const { payer } = yield* payerWith(10)
      const refused = yield* idempotency.hold(request())
      const amount = micro(1000)
      const reserving = (claim: ClaimRow) =>
        accounting.claimAndReserve(claim, { id: "gen-1", payer, operation: "rerank", model: "m", amount })
      expect(yield* Effect.flip(refused.claiming(reserving))).toMatchObject({ _tag: "InsufficientCredits" })
      expect(yield* idempotency.isUsed(request())).toBe(false)
      yield* refused.claim.abandon
      yield* (yield* idempotency.hold(request())).claim.abandon
      expect((yield* once(request("once", "b"), Effect.succeed(answer()))).replayed).toBe(false)
    }).pipe(Effect.provide(layer))
  )

  it.effect(
    "a request waits for the one that holds its key, and is refused once that has claimed it with another body",
    () =>
      Effect.gen(function* () {
        const idempotency = yield* Idempotency
        const accounting = yield* Accounting
        const { payer } = yield* payerWith(2000)
        const amount = micro(1000)
        const hold = yield* idempotency.hold(request())
        const others = yield* Effect.forEach(["a", "b"], (body) =>
          Effect.forkChild(Effect.exit(idempotency.hold(request("once", body))), { startImmediately: true })
        )
        const [same, different] = others
        yield* TestClock.adjust("1 second")
        expect(others.map((fiber) => fiber.pollUnsafe())).toEqual([undefined, undefined])
        yield* hold.claiming((claim) =>
          accounting.claimAndReserve(claim, { id: "gen-1", payer, operation: "rerank", model: "m", amount })
        )
        expect(different && Exit.findErrorOption(yield* Fiber.join(different))).toMatchObject({
          value: { _tag: "IdempotencyConflict" }
        })
        expect(same?.pollUnsafe()).toBeUndefined()
        yield* hold.claim.abandon
        expect(same && Exit.isSuccess(yield* Fiber.join(same))).toBe(true)
      }).pipe(Effect.provide(layer))
  )

  it.effect("does it once across two processes, of which one has a clock that is an hour ahead or behind", () =>
    Effect.gen(function* () {
      const hour = Duration.toMillis("1 hour")
      for (const [holderOff, otherOff] of [
        [0, hour],
        [0, -hour],
        [hour, 0],
        [-hour, 0]
      ] as const) {
        const location = yield* create
        const holder = yield* Layer.build(layerAt(location, {})).pipe(clockAhead(holderOff))
        const other = yield* Layer.build(layerAt(location, {})).pipe(clockAhead(otherOff))
        const claimed = yield* Deferred.make<void>()
        const gate = yield* Deferred.make<void>()
        const work = Effect.andThen(Deferred.succeed(claimed, undefined), Deferred.await(gate))
        const first = yield* Effect.forkChild(
          once(request(), Effect.as(work, answer(200, "theirs"))).pipe(Effect.provide(holder), clockAhead(holderOff)),
          { startImmediately: true }
        )
        yield* Deferred.await(claimed)
        const again = yield* Effect.forkChild(
          once(request(), Effect.succeed(answer(200, "ours"))).pipe(Effect.provide(other), clockAhead(otherOff)),
          { startImmediately: true }
        )
        yield* TestClock.adjust("2 minutes")
        expect(again.pollUnsafe()).toBeUndefined()
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.join(first)
        expect(yield* joinMoving(again).pipe(Effect.provide(other))).toEqual({
          answer: answer(200, "theirs"),
          replayed: true
        })
      }
    })
  )

  it.effect("purges no claim of a live process, however far ahead the clock of the purging process is", () =>
    inTwoProcesses((other) =>
      Effect.gen(function* () {
        const ahead = clockAhead(Duration.toMillis("30 days"))
        const idempotency = yield* Idempotency
        const sql = yield* SqlClient
        const claim = yield* claimKey(request())
        yield* sql`INSERT INTO idempotency (scope, idempotency_key, fingerprint, owner, created_at, expires_at)
          VALUES ('key-hash', 'of the dead', '', 'proc_dead', 0, 86400000)`
        const purge = Effect.flatMap(Idempotency, ({ purge }) => purge).pipe(Effect.provide(other), ahead)
        expect(yield* purge).toBe(1)
        yield* claim.complete(answer(200, "kept"))
        expect(yield* idempotency.begin(request())).toMatchObject({ _tag: "Replay", answer: answer(200, "kept") })
      })
    )
  )

  it.effect("takes over from a process that has died, once", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { fingerprint, key, scope } = request()
      yield* sql`INSERT INTO idempotency (scope, idempotency_key, fingerprint, owner, created_at, expires_at)
        VALUES (${scope}, ${key}, ${fingerprint}, 'proc_dead', 0, 86400000)`
      let done = 0
      const work = Effect.sync(() => answer(200, String(++done)))
      const results = yield* Effect.all([once(request(), work), once(request(), work)], {
        concurrency: 2
      })
      expect(results.map((result) => result.answer.body)).toEqual(["1", "1"])
      expect(done).toBe(1)
    }).pipe(Effect.provide(layer))
  )

  it.effect("stores no answer, and charges nothing for it, when another process took its key over", () =>
    inTwoProcesses((other) =>
      Effect.gen(function* () {
        const accounting = yield* Accounting
        const sql = yield* SqlClient
        const { payer } = yield* payerWith(1000)
        const reserved = yield* reserve("gen-1", payer, 400)
        const claim = yield* claimKey(request())
        // As though this process had been silent for so long that it counts as dead.
        yield* sql`DELETE FROM processes WHERE id IN (SELECT owner FROM idempotency)`
        const theirs = Effect.provide(once(request(), Effect.succeed(answer(200, "theirs"))), other)
        expect(yield* theirs).toMatchObject({ replayed: false })

        const late = accounting.settle(reserved, outcome(300), { answer: claim.row(answer(200, "late")) })
        expect(yield* Effect.flip(late)).toEqual(claimLost)
        expect(yield* Effect.flip(claim.complete(answer(200, "late")))).toEqual(claimLost)
        yield* claim.abandon
        expect(yield* once(request(), Effect.succeed(answer(200, "again")))).toEqual({
          answer: answer(200, "theirs"),
          replayed: true
        })
        // What the upstream may bill is listed.
        expect(yield* accounting.reap).toBe(1)
        expect(yield* accounting.balanceOf(reserved.workspaceId)).toMatchObject({ balance: 1000, reserved: 0 })
        expect(yield* accounting.reconciliation).toMatchObject({ abandoned: [{ id: "gen-1" }], late: [] })
      })
    )
  )

  it.effect("takes a charge and its answer as done that a commit without confirmation has written", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      const idempotency = yield* Idempotency
      const { payer } = yield* payerWith(1000)
      const reserved = yield* reserve("gen-1", payer, 400)
      const claim = yield* claimKey(request())
      const settle = accounting.settle(reserved, outcome(300), { answer: claim.row(answer(200, "kept")) })
      expect(yield* settle).toBe("done")
      expect(yield* settle).toBe("already")
      expect(yield* idempotency.begin(request())).toMatchObject({ _tag: "Replay", answer: answer(200, "kept") })
      expect(yield* accounting.balanceOf(reserved.workspaceId)).toMatchObject({ balance: 700, reserved: 0 })
    }).pipe(Effect.provide(layer))
  )

  it.effect("releases a claim for other processes as soon as the database works again", () =>
    inTwoProcesses((other) =>
      Effect.gen(function* () {
        const idempotency = yield* Idempotency
        const sql = yield* SqlClient
        const claim = yield* claimKey(request())
        yield* sql`ALTER TABLE idempotency RENAME TO elsewhere`
        expect((yield* Effect.flip(claim.abandon))._tag).toBe("StorageError")
        expect((yield* Effect.flip(idempotency.begin(request("another"))))._tag).toBe("StorageError")
        yield* TestClock.adjust("3 seconds")
        yield* sql`ALTER TABLE elsewhere RENAME TO idempotency`
        const claims = sql`SELECT * FROM idempotency`
        const left = Effect.andThen(TestClock.adjust("1 second"), claims)
        for (let second = 0; second < 30 && (yield* left).length > 0; second++);
        expect(yield* claims).toEqual([])
        const theirs = Effect.provide(once(request(), Effect.succeed(answer(200, "theirs"))), other)
        expect(yield* theirs).toMatchObject({ replayed: false })
      })
    )
  )

  it.effect("keeps an answer together with what was done, or neither", () =>
    Effect.gen(function* () {
      const idempotency = yield* Idempotency
      const sql = yield* SqlClient
      const insert = sql`INSERT INTO milestones (name, reached_at) VALUES ('job', 0)`
      const claim = yield* claimKey(request())
      const broken = sql.withTransaction(
        Effect.andThen(Effect.andThen(insert, claim.complete(answer(202))), Effect.fail("disk full"))
      )
      expect(yield* Effect.flip(broken)).toBe("disk full")
      yield* claim.abandon
      expect(yield* sql`SELECT * FROM milestones`).toEqual([])

      const again = yield* claimKey(request())
      yield* sql.withTransaction(Effect.andThen(insert, again.complete(answer(202))))
      expect(yield* idempotency.begin(request())).toMatchObject({ _tag: "Replay", answer: answer(202) })
    }).pipe(Effect.provide(layer))
  )

  it("knows a fingerprint and an answer to keep", () => {
    expect(fingerprintOf("a", "bc")).not.toBe(fingerprintOf("ab", "c"))
    expect(fingerprintOf("a", new TextEncoder().encode("bc"))).toBe(fingerprintOf("a", "bc"))
    expect([200, 202, 400, 403, 404, 413].every(keeps)).toBe(true)
    expect([402, 429, 500, 502, 503, 504, 524, 529].some(keeps)).toBe(false)
  })
})
