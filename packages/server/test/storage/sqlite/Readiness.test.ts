import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Ref } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { TestClock } from "effect/testing"
import * as Readiness from "../../../src/storage/sqlite/Readiness.ts"
import { StorageError } from "../../../src/storage/sql/StorageError.ts"
import { layer as layerGateway, TestGateway } from "../../TestGateway.ts"
import { envelopeOf } from "../../TestEnvelope.ts"
import { whileLocked } from "../sql/Processes.ts"
import { layer, layerAt, temporaryFolder } from "../../TestStorage.ts"

const broken = new StorageError({ operation: "test", message: "The disk is full.", retryable: false })

describe("Readiness.shared", () => {
  it.effect("runs one check for all requests of a second, and another one after it", () =>
    Effect.gen(function* () {
      const runs = yield* Ref.make(0)
      const check = yield* Readiness.shared(
        Effect.flatMap(
          Ref.updateAndGet(runs, (n) => n + 1),
          (n) => (n === 2 ? Effect.fail(broken) : Effect.void)
        )
      )
      const ask = (times: number) =>
        Effect.all(
          Array.from({ length: times }, () => Effect.exit(check)),
          { concurrency: "unbounded" }
        )
      expect((yield* ask(100)).every(Exit.isSuccess)).toBe(true)
      yield* TestClock.adjust("999 millis")
      expect((yield* ask(10)).every(Exit.isSuccess)).toBe(true)
      expect(yield* Ref.get(runs)).toBe(1)
      yield* TestClock.adjust("1 millis")
      expect(yield* ask(2)).toEqual([Exit.fail(broken), Exit.fail(broken)])
      yield* TestClock.adjust("1 second")
      expect((yield* ask(1)).every(Exit.isSuccess)).toBe(true)
      expect(yield* Ref.get(runs)).toBe(3)
    })
  )

  it.effect("answers after 2 seconds when the check hangs, and starts no second check meanwhile", () =>
    Effect.gen(function* () {
      const runs = yield* Ref.make(0)
      const check = yield* Readiness.shared(
        Effect.andThen(
          Ref.update(runs, (n) => n + 1),
          Effect.uninterruptible(Effect.sleep("1 minute"))
        )
      )
      const first = yield* Effect.forkChild(Effect.flip(check), { startImmediately: true })
      yield* TestClock.adjust("2 seconds")
      const late = "The database did not answer within 2000 milliseconds."
      expect((yield* Fiber.join(first)).message).toBe(late)
      const next = yield* Effect.forkChild(Effect.flip(check), { startImmediately: true })
      yield* TestClock.adjust("1 millis")
      expect((yield* Fiber.join(next)).message).toBe(late)
      expect(yield* Ref.get(runs)).toBe(1)
      yield* TestClock.adjust("1 minute")
      const last = yield* Effect.forkChild(check, { startImmediately: true })
      yield* TestClock.adjust("1 minute")
      expect(yield* Ref.get(runs)).toBe(2)
      yield* Fiber.interrupt(last)
    })
  )
})

describe("Readiness of a database", () => {
  /** Every request runs a new check. */
  const make = Readiness.make({ every: 0 })

  it.effect("detects a missing table, a read-only database and a full disk, and their recovery", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const check = yield* make
      const result = Effect.match(check, { onSuccess: () => "ready", onFailure: ({ message }) => message })
      expect(yield* result).toBe("ready")

      yield* sql`ALTER TABLE usage_ledger RENAME TO elsewhere`
      expect(yield* result).toBe("The database did not answer as expected.")
      yield* sql`ALTER TABLE elsewhere RENAME TO usage_ledger`
      expect(yield* result).toBe("ready")

      yield* sql`PRAGMA query_only = 1`
      expect(yield* result).toBe("The database is read-only.")
      yield* sql`PRAGMA query_only = 0`
      expect(yield* result).toBe("ready")

      // SQLite uses free pages before the file grows.
      yield* sql`VACUUM`
      yield* sql`PRAGMA max_page_count = 1`
      expect(yield* result).toBe("The disk holding the database is full.")
      yield* sql`PRAGMA max_page_count = 1000000`
      expect(yield* result).toBe("ready")
      expect(yield* sql`SELECT name FROM milestones`).toEqual([])
    }).pipe(Effect.provide(layer))
  )

  it.live("detects a lock of another process, and its release", () =>
    Effect.gen(function* () {
      const filename = `${yield* temporaryFolder}/gateway.db`
      yield* Effect.gen(function* () {
        const check = yield* Readiness.make({ every: 0, limit: "300 millis" })
        const error = yield* whileLocked(filename, () => Effect.flip(check))
        expect(error.message).toBe("The database did not answer within 300 milliseconds.")
        yield* Effect.retry(check, { times: 1000 })
      }).pipe(Effect.scoped, Effect.provide(layerAt(filename)))
    })
  )
})

it.live("/readyz answers 503 without the reason while a table is missing", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const { ask } = yield* TestGateway
    yield* sql`ALTER TABLE usage_ledger RENAME TO elsewhere`
    const refused = yield* ask("/readyz", { key: null })
    expect(refused.status).toBe(503)
    expect(envelopeOf(refused).error.message).toBe(
      "service temporarily unavailable: the database cannot serve requests"
    )
    expect((yield* ask("/healthz", { key: null })).status).toBe(200)
  }).pipe(Effect.provide(layerGateway()))
)
