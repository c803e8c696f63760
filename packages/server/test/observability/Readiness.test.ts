import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Ref } from "effect"
import { TestClock } from "effect/testing"
import * as Readiness from "../../src/observability/Readiness.ts"

const broken: Readiness.Failure = { message: "The disk is full." }

describe("Readiness.shared", () => {
  it.effect("runs one check for all requests of a second, and another one after it", () =>
    Effect.gen(function* () {
      const runs = yield* Ref.make(0)
      const check = yield* Readiness.shared(
        "The mail server",
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
        "The mail server",
        Effect.andThen(
          Ref.update(runs, (n) => n + 1),
          Effect.uninterruptible(Effect.sleep("1 minute"))
        )
      )
      const first = yield* Effect.forkChild(Effect.flip(check), { startImmediately: true })
      yield* TestClock.adjust("2 seconds")
      const late = "The mail server did not answer within 2000 milliseconds."
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

describe("Readiness", () => {
  const part = (name: string, isRequired: boolean, works: Ref.Ref<boolean>) =>
    Readiness.layerPart(
      Effect.succeed({
        name,
        isRequired,
        check: Effect.flatMap(Ref.get(works), (works) => (works ? Effect.void : Effect.fail(broken)))
      })
    )

  it.effect("is that of its worst part, and shows each part with the reason", () =>
    Effect.gen(function* () {
      const database = yield* Ref.make(true)
      const mail = yield* Ref.make(true)
      yield* Effect.gen(function* () {
        const { report } = yield* Readiness.Readiness
        const ready = { status: "ready" }
        expect(yield* report).toEqual({ status: "ready", parts: { database: ready, mail: ready } })

        yield* Ref.set(mail, false)
        yield* TestClock.adjust("1 second")
        const degraded = { status: "degraded", message: "The disk is full." }
        expect(yield* report).toEqual({ status: "degraded", parts: { database: ready, mail: degraded } })

        yield* Ref.set(database, false)
        yield* TestClock.adjust("1 second")
        const unavailable = { status: "unavailable", message: "The disk is full." }
        expect(yield* report).toEqual({ status: "unavailable", parts: { database: unavailable, mail: degraded } })

        yield* Ref.set(database, true)
        yield* Ref.set(mail, true)
        yield* TestClock.adjust("1 second")
        expect((yield* report).status).toBe("ready")
      }).pipe(
        Effect.provide(
          Layer.mergeAll(part("database", true, database), part("mail", false, mail)).pipe(
            Layer.provideMerge(Readiness.layer)
          )
        )
      )
    })
  )

  it.effect("does not let a part that hangs delay the others", () =>
    Effect.gen(function* () {
      const works = yield* Ref.make(true)
      const hangs = Readiness.layerPart(
        Effect.succeed({ name: "object_store", isRequired: false, check: Effect.never })
      )
      const report = yield* Effect.flatMap(Readiness.Readiness, ({ report }) => Effect.forkChild(report)).pipe(
        Effect.flatMap((fiber) => Effect.andThen(TestClock.adjust("2 seconds"), Fiber.join(fiber))),
        Effect.provide(Layer.mergeAll(part("database", true, works), hangs).pipe(Layer.provideMerge(Readiness.layer)))
      )
      expect(report).toEqual({
        status: "degraded",
        parts: {
          database: { status: "ready" },
          object_store: {
            status: "degraded",
            message: "The object store did not answer within 2000 milliseconds."
          }
        }
      })
    })
  )
})
