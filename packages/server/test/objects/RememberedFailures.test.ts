import { expect, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as ObjectStore from "../../src/objects/ObjectStore.ts"

const broken = new ObjectStore.ObjectStoreError({ operation: "put", reason: "unavailable", message: "No answer." })

/** A store whose puts fail while `isBroken`, although its check finds nothing. */
const make = Effect.gen(function* () {
  const state = { isBroken: false, checks: 0 }
  const memory = yield* ObjectStore.makeMemory
  const store = ObjectStore.ObjectStore.of({
    ...memory,
    put: (key, content, options) =>
      Effect.suspend(() => (state.isBroken ? Effect.fail(broken) : memory.put(key, content, options))),
    check: Effect.sync(() => {
      state.checks++
    })
  })
  const remembering = yield* ObjectStore.ObjectStore.pipe(
    Effect.provide(ObjectStore.layerRemembering(Layer.succeed(ObjectStore.ObjectStore, store)))
  )
  const put = remembering.put("files/a", Stream.make(new Uint8Array(1)))
  return { state, put, check: remembering.check }
})

it.effect("a store that failed a caller counts as failing for 15 seconds, whatever its own check finds", () =>
  Effect.gen(function* () {
    const { check, put, state } = yield* make
    state.isBroken = true
    expect(yield* Effect.flip(put)).toBe(broken)
    state.isBroken = false
    yield* TestClock.adjust("14 seconds")
    expect(yield* Effect.flip(check)).toBe(broken)
    yield* TestClock.adjust("1 second")
    yield* check
    expect(state.checks).toBe(1)
  })
)

it.effect("a store that has just stored something is not checked, nor more often than every 15 seconds", () =>
  Effect.gen(function* () {
    const { check, put, state } = yield* make
    yield* put
    yield* TestClock.adjust("14 seconds")
    yield* check
    expect(state.checks).toBe(0)
    yield* TestClock.adjust("1 second")
    yield* check
    yield* TestClock.adjust("14 seconds")
    yield* check
    expect(state.checks).toBe(1)
  })
)
