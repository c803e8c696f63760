import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as RateLimiter from "effect/persistence/RateLimiter"
import * as RateLimiterStore from "../../../src/storage/memory/RateLimiterStore.ts"

const consume = (key: string) =>
  Effect.flatMap(RateLimiter.RateLimiter, (limiter) =>
    limiter.consume({ algorithm: "token-bucket", key, limit: 1, window: "1 minute" })
  )

const refused = (key: string) => Effect.map(Effect.flip(consume(key)), ({ reason }) => reason._tag)

describe("RateLimiterStore", () => {
  it.effect("keeps a bounded number of keys, the latest used, and addresses do not evict keys", () =>
    Effect.gen(function* () {
      yield* consume("request:old")
      yield* consume("request:kept")
      yield* Effect.forEach(
        Array.from({ length: 10 }, (_, i) => `authentication:192.0.2.${i}`),
        consume
      )
      expect(yield* refused("request:kept")).toBe("RateLimitExceeded")
      yield* consume("request:new")
      expect(yield* refused("request:kept")).toBe("RateLimitExceeded")
      expect((yield* consume("request:old")).remaining).toBe(0)
    }).pipe(Effect.provide(RateLimiter.layer.pipe(Layer.provide(RateLimiterStore.layer({ capacity: 2 })))))
  )
})
