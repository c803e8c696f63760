import { expect, it } from "@effect/vitest"
import { Effect, Fiber, Latch } from "effect"
import { TestClock } from "effect/testing"
import * as BodyMemory from "../../src/http/BodyMemory.ts"

const hold = (memory: BodyMemory.BodyMemory["Service"], key: string, bytes: number) =>
  Effect.gen(function* () {
    const held = yield* Latch.make()
    const fiber = yield* Effect.forkChild(
      memory.withRoom(key, bytes, () => Effect.andThen(held.open, Effect.never)),
      { startImmediately: true }
    )
    yield* held.await
    return fiber
  })

it.effect("rejects a body if memory is not available within two seconds", () =>
  Effect.gen(function* () {
    const memory = BodyMemory.make(8000)
    const holders = yield* Effect.forEach(["a", "b"], (key) => hold(memory, key, 1000))
    const refused = yield* Effect.forkChild(Effect.flip(memory.withRoom("c", 1, () => Effect.void)), {
      startImmediately: true
    })
    yield* TestClock.adjust("2 seconds")
    expect(yield* Fiber.join(refused)).toMatchObject({ _tag: "BodyMemoryFull", retryAfter: 1 })
    yield* Fiber.interruptAll(holders)
    expect(yield* memory.withRoom("c", 1000, () => Effect.succeed("served"))).toBe("served")
  })
)

it.effect("admits a waiting body as soon as memory is available", () =>
  Effect.gen(function* () {
    const memory = BodyMemory.make(8000)
    const [first] = yield* Effect.forEach(["a", "b"], (key) => hold(memory, key, 1000))
    const waiting = yield* Effect.forkChild(
      memory.withRoom("c", 1000, () => Effect.succeed("served")),
      { startImmediately: true }
    )
    yield* TestClock.adjust("1 second")
    if (first !== undefined) yield* Fiber.interrupt(first)
    expect(yield* Fiber.join(waiting)).toBe("served")
  })
)

it.effect("leaves half of the memory to other keys", () =>
  Effect.gen(function* () {
    const memory = BodyMemory.make(8000)
    yield* hold(memory, "a", 1000)
    const refused = yield* Effect.forkChild(Effect.flip(memory.withRoom("a", 1, () => Effect.void)), {
      startImmediately: true
    })
    expect(yield* memory.withRoom("b", 1000, () => Effect.succeed("served"))).toBe("served")
    yield* TestClock.adjust("2 seconds")
    expect(yield* Fiber.join(refused)).toMatchObject({ _tag: "BodyMemoryFull" })
  })
)

it.effect("counts the actual size of a body of unknown length", () =>
  Effect.gen(function* () {
    const memory = BodyMemory.make(8000)
    yield* Effect.forkChild(
      memory.withRoom("a", 100, ({ growTo }) => Effect.andThen(growTo(1000), Effect.never)),
      { startImmediately: true }
    )
    const refused = yield* Effect.forkChild(Effect.flip(memory.withRoom("a", 1, () => Effect.void)), {
      startImmediately: true
    })
    yield* TestClock.adjust("2 seconds")
    expect(yield* Fiber.join(refused)).toMatchObject({ _tag: "BodyMemoryFull" })
  })
)
