import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Latch, Queue, References, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as BodyMemory from "../../src/http/BodyMemory.ts"

type Memory = BodyMemory.BodyMemory["Service"]

const owner = (keyHash: string, isManagement = false): BodyMemory.Owner => ({ keyHash, isManagement })

const lengthOf = (announced: number | undefined): BodyMemory.Length => ({
  announced,
  inMemory: Number.MAX_SAFE_INTEGER
})

/** Acquires the memory for a body of this length, which has arrived. */
const acquire = (memory: Memory, key: string, bytes: number, isManagement?: boolean) =>
  Effect.gen(function* () {
    const hasMemory = yield* Latch.make()
    const arrived = Stream.make(new Uint8Array(bytes))
    const fiber = yield* Effect.forkChild(
      memory.withRoom(owner(key, isManagement), lengthOf(bytes), ({ arriving }) =>
        Stream.runDrain(arriving(arrived)).pipe(Effect.andThen(hasMemory.open), Effect.andThen(Effect.never))
      ),
      { startImmediately: true }
    )
    yield* hasMemory.await
    return fiber
  })

/** Asks for memory for a body of this length, which has arrived. */
const ask = (memory: Memory, key: string, bytes: number, isManagement?: boolean) =>
  Effect.forkChild(
    memory.withRoom(owner(key, isManagement), lengthOf(bytes), ({ arriving }) =>
      Effect.as(Stream.runDrain(arriving(Stream.make(new Uint8Array(bytes)))), "served")
    ),
    { startImmediately: true }
  )

/** A body that announces a length and arrives as the test sends it. */
const slow = (memory: Memory, key: string, announced: number | undefined) =>
  Effect.gen(function* () {
    const body = yield* Queue.unbounded<Uint8Array>()
    const reads = yield* Latch.make()
    const fiber = yield* Effect.forkChild(
      memory.withRoom(owner(key), lengthOf(announced), ({ arriving }) =>
        Stream.runForEach(arriving(Stream.fromQueue(body)), () => reads.open)
      ),
      { startImmediately: true }
    )
    const send = (bytes: number) =>
      Effect.gen(function* () {
        yield* reads.close
        yield* Queue.offer(body, new Uint8Array(bytes))
        yield* reads.await
      })
    return { fiber, send }
  })

const mebibyte = 1024 * 1024

/** For a body of 1 MiB of each of two keys. */
const budget = 8 * mebibyte

const full = { _tag: "BodyMemoryFull", retryAfter: 1 }

describe("bodies that have arrived", () => {
  it.effect("make another one wait for two seconds, and then it is rejected", () =>
    Effect.gen(function* () {
      const memory = BodyMemory.make(budget)
      const bodies = yield* Effect.forEach(["a", "b"], (key) => acquire(memory, key, mebibyte))
      const refused = yield* ask(memory, "c", 2 * BodyMemory.firstRoom)
      yield* TestClock.adjust("2 seconds")
      expect(yield* Effect.flip(Fiber.join(refused))).toMatchObject(full)
      yield* Fiber.interruptAll(bodies)
      expect(yield* Fiber.join(yield* ask(memory, "c", mebibyte))).toBe("served")
    })
  )

  it.effect("admit a waiting one as soon as one of them ends", () =>
    Effect.gen(function* () {
      const memory = BodyMemory.make(budget)
      const [first] = yield* Effect.forEach(["a", "b"], (key) => acquire(memory, key, mebibyte))
      const waiting = yield* ask(memory, "c", mebibyte)
      yield* TestClock.adjust("1 second")
      if (first !== undefined) yield* Fiber.interrupt(first)
      expect(yield* Fiber.join(waiting)).toBe("served")
    })
  )

  it.effect("of one key leave half of the memory to other keys", () =>
    Effect.gen(function* () {
      const memory = BodyMemory.make(budget)
      yield* acquire(memory, "a", mebibyte)
      const refused = yield* ask(memory, "a", 1)
      expect(yield* Fiber.join(yield* ask(memory, "b", mebibyte))).toBe("served")
      yield* TestClock.adjust("2 seconds")
      expect(yield* Effect.flip(Fiber.join(refused))).toMatchObject(full)
    })
  )

  it.effect("leave short ones an eighth as much, half of it to one key", () =>
    Effect.gen(function* () {
      const memory = BodyMemory.make(budget)
      yield* Effect.forEach(["a", "b"], (key) => acquire(memory, key, mebibyte))
      const parts = budget / 8 / 4 / BodyMemory.firstRoom
      const bodies = Array.from({ length: parts / 2 }, () => acquire(memory, "c", BodyMemory.firstRoom))
      yield* Effect.all(bodies)
      const refused = yield* ask(memory, "c", 1)
      expect(yield* Fiber.join(yield* ask(memory, "d", 1))).toBe("served")
      yield* TestClock.adjust("2 seconds")
      expect(yield* Effect.flip(Fiber.join(refused))).toMatchObject(full)
    })
  )

  it.effect("leave management operations an eighth as much", () =>
    Effect.gen(function* () {
      const memory = BodyMemory.make(budget)
      yield* Effect.forEach(["a", "b"], (key) => acquire(memory, key, mebibyte))
      expect(yield* Fiber.join(yield* ask(memory, "m", mebibyte / 8, true))).toBe("served")
      yield* acquire(memory, "m", mebibyte / 8, true)
      yield* acquire(memory, "n", mebibyte / 8, true)
      const refused = yield* ask(memory, "m", 1, true)
      yield* TestClock.adjust("2 seconds")
      expect(yield* Effect.flip(Fiber.join(refused))).toMatchObject(full)
    })
  )
})

describe("a body that arrives", () => {
  it.effect("takes the memory of what has arrived, not of what it announces", () =>
    Effect.gen(function* () {
      const memory = BodyMemory.make(budget)
      for (const key of ["a", "b"]) yield* (yield* slow(memory, key, 100 * mebibyte)).send(1000)
      expect(yield* Fiber.join(yield* ask(memory, "c", mebibyte / 2))).toBe("served")
    })
  )

  it.effect("takes more than it has announced, if it has announced nothing", () =>
    Effect.gen(function* () {
      const memory = BodyMemory.make(budget)
      const { send } = yield* slow(memory, "a", undefined)
      yield* send(1000)
      yield* send(mebibyte - 1000)
      const refused = yield* ask(memory, "a", 1)
      yield* TestClock.adjust("2 seconds")
      expect(yield* Effect.flip(Fiber.join(refused))).toMatchObject(full)
    })
  )

  it.effect("makes further ones of its key wait, if they would announce more than the key may use", () =>
    Effect.gen(function* () {
      const memory = BodyMemory.make(budget)
      const { fiber } = yield* slow(memory, "a", mebibyte)
      const waiting = yield* ask(memory, "a", mebibyte / 2)
      yield* TestClock.adjust("1 second")
      expect(waiting.pollUnsafe()).toBeUndefined()
      yield* Fiber.interrupt(fiber)
      expect(yield* Fiber.join(waiting)).toBe("served")
    })
  )

  it.effect("gives way after a second if another key's body waits and its own key uses more", () =>
    Effect.gen(function* () {
      const memory = BodyMemory.make(budget)
      const [older, newer] = [yield* slow(memory, "a", mebibyte), yield* slow(memory, "b", mebibyte)]
      for (const { send } of [older, newer]) yield* send(mebibyte - 1)
      const waiting = yield* ask(memory, "c", mebibyte / 2)
      yield* TestClock.adjust("750 millis")
      expect([older.fiber, newer.fiber, waiting].map((fiber) => fiber.pollUnsafe())).toEqual(Array(3).fill(undefined))
      yield* TestClock.adjust("250 millis")
      expect(yield* Fiber.join(waiting)).toBe("served")
      expect(yield* Effect.flip(Fiber.join(older.fiber))).toMatchObject(full)
      expect(newer.fiber.pollUnsafe()).toBeUndefined()
    })
  )

  it.effect("gives way while it is short, too", () =>
    Effect.gen(function* () {
      const memory = BodyMemory.make(budget)
      const short = yield* Effect.forEach(["a", "b"], (key) =>
        Effect.forEach(Array.from({ length: mebibyte / BodyMemory.firstRoom }), () =>
          Effect.forkChild(
            memory.withRoom(owner(key), lengthOf(BodyMemory.firstRoom), ({ reading }) => reading(Effect.never)),
            { startImmediately: true }
          )
        )
      )
      yield* TestClock.adjust("1 second")
      expect(yield* Fiber.join(yield* ask(memory, "c", 2 * BodyMemory.firstRoom))).toBe("served")
      const ended = short.flat().filter((fiber) => fiber.pollUnsafe() !== undefined)
      expect(ended).toHaveLength(1)
    })
  )

  it.effect("does not give way to its own key, nor to a key that uses as much", () =>
    Effect.gen(function* () {
      const memory = BodyMemory.make(budget)
      const bodies = [yield* slow(memory, "a", mebibyte), yield* slow(memory, "b", mebibyte)]
      for (const { send } of bodies) yield* send(mebibyte - 1)
      const own = yield* ask(memory, "a", 1000)
      yield* TestClock.adjust("2 seconds")
      expect(yield* Effect.flip(Fiber.join(own))).toMatchObject(full)
      expect(bodies.map(({ fiber }) => fiber.pollUnsafe())).toEqual([undefined, undefined])
    })
  )

  it.effect("is released if its body is interrupted at any moment", () =>
    Effect.gen(function* () {
      const memory = BodyMemory.make(budget)
      for (let operations = 2; operations < 12; operations++) {
        const fiber = yield* memory
          .withRoom(owner("a"), lengthOf(mebibyte), () => Effect.never)
          .pipe(
            Effect.provideService(References.MaxOpsBeforeYield, operations),
            Effect.forkChild({ startImmediately: true })
          )
        yield* Fiber.interrupt(fiber)
        expect(yield* Fiber.join(yield* ask(memory, "a", mebibyte))).toBe("served")
      }
    })
  )
})
