import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as ShortCache from "../../src/internal/ShortCache.ts"

/** A cache that counts its lookups. */
const counting = Effect.gen(function* () {
  let lookups = 0
  const cache = yield* ShortCache.make((key: string) =>
    Effect.sync(() => {
      lookups++
      return key === "none" ? null : `${key} ${lookups}`
    })
  )
  return { cache, lookups: () => lookups }
})

describe("ShortCache", () => {
  it.effect("keeps an entry for 3 seconds, and returns it without an effect to run", () =>
    Effect.gen(function* () {
      const { cache } = yield* counting
      expect(yield* cache.get("a")).toBe("a 1")
      expect(cache.get("a")).toEqual(Exit.succeed("a 1"))
      yield* TestClock.adjust(2999)
      expect(yield* cache.get("a")).toBe("a 1")
      yield* TestClock.adjust(1)
      expect(yield* cache.get("a")).toBe("a 2")
    })
  )

  it.effect("keeps no null and no failure", () =>
    Effect.gen(function* () {
      const { cache, lookups } = yield* counting
      expect([yield* cache.get("none"), yield* cache.get("none"), lookups()]).toEqual([null, null, 2])
      let tried = 0
      const failing = yield* ShortCache.make(() => (tried++ === 0 ? Effect.fail("down") : Effect.succeed("up")))
      expect(yield* Effect.flip(failing.get("a"))).toBe("down")
      expect(yield* failing.get("a")).toBe("up")
    })
  )

  it.effect("evicts one entry or all", () =>
    Effect.gen(function* () {
      const { cache } = yield* counting
      yield* Effect.forEach(["a", "b"], cache.get)
      yield* cache.evict("a")
      expect([yield* cache.get("a"), yield* cache.get("b")]).toEqual(["a 3", "b 2"])
      yield* cache.evictWhere((value) => value === "b 2")
      expect([yield* cache.get("a"), yield* cache.get("b")]).toEqual(["a 3", "b 4"])
      yield* cache.evictAll
      expect([yield* cache.get("a"), yield* cache.get("b")]).toEqual(["a 5", "b 6"])
    })
  )

  it.effect("shares a lookup that is under way, and does not keep what was read before an eviction", () =>
    Effect.gen(function* () {
      const first = yield* Deferred.make<string>()
      let lookups = 0
      const cache = yield* ShortCache.make(() => (lookups++ === 0 ? Deferred.await(first) : Effect.succeed("new")))
      const waiting = yield* Effect.forkChild(Effect.all([cache.get("a"), cache.get("a")], { concurrency: 2 }), {
        startImmediately: true
      })
      expect(lookups).toBe(1)
      yield* cache.evict("a")
      expect(yield* cache.get("a")).toBe("new")
      yield* Deferred.succeed(first, "old")
      expect(yield* Fiber.join(waiting)).toEqual(["old", "old"])
      expect([yield* cache.get("a"), lookups]).toEqual(["new", 2])
    })
  )
})
