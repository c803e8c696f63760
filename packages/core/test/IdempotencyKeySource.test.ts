import { describe, expect, it } from "@effect/vitest"
import { Gateway, IdempotencyKeySource, RetryPolicy } from "@model-gateway/core"
import { Effect, Fiber, Random, Redacted } from "effect"
import { TestClock } from "effect/testing"
import * as Stub from "./stub.ts"

const gateway = Gateway.Gateway

const rerank = Effect.flatMap(gateway, (client) => client.rerank({ model: "m", query: "q", documents: ["d"] }))

/** The idempotency key of the only request of a client of its own. */
const keyOfNewClient = Effect.suspend(() => {
  const stub = Stub.make(() => Stub.json(Stub.ranking))
  return rerank.pipe(
    stub.run(),
    Effect.map(() => stub.sent[0]?.headers["idempotency-key"])
  )
})

describe("generated idempotency keys", () => {
  it.effect("do not come from Random: a second process with the same seed has other keys", () =>
    Effect.gen(function* () {
      const first = yield* Random.withSeed(keyOfNewClient, "seed")
      const second = yield* Random.withSeed(keyOfNewClient, "seed")
      expect(first).toMatch(/^[\da-f]{32}-0$/)
      expect(second).not.toBe(first)
    })
  )

  it.effect("begin with the time, so that a database's index has them in the order of the calls", () =>
    Effect.gen(function* () {
      const now = Date.UTC(2026, 10, 29)
      yield* TestClock.setTime(now)
      const first = yield* IdempotencyKeySource.makeKey
      expect(Number.parseInt(first.slice(0, 12), 16)).toBe(now)
      yield* TestClock.adjust("1 milli")
      const second = yield* IdempotencyKeySource.makeKey
      expect(second > first).toBe(true)
      expect(second.slice(12)).not.toBe(first.slice(12))
    })
  )

  it.effect("come from the source in the context, for a test that compares them", () =>
    Effect.gen(function* () {
      const key = keyOfNewClient.pipe(
        Effect.provideService(IdempotencyKeySource.IdempotencyKeySource, (size) => new Uint8Array(size).fill(7))
      )
      expect(yield* key).toBe("07".repeat(16) + "-0")
    })
  )
})

describe("every error has the idempotency key of its requests:", () => {
  const answers: { readonly [name: string]: () => Stub.Answer } = {
    "an error of the service": () => Stub.failure(402),
    "a closed connection": () => "cut",
    "a response that is not JSON": () => new Response("<html>"),
    "a response of another shape": () => Stub.json({}),
    "a page of a proxy": () => new Response("<html>", { status: 404 }),
    "no response in time": () => Effect.never
  }

  for (const [name, answer] of Object.entries(answers)) {
    it.effect(name, () => {
      const stub = Stub.make(answer)
      return Effect.gen(function* () {
        for (const call of [
          rerank,
          Effect.flatMap(gateway, (client) => client.createKey({ name: "n" })),
          Effect.flatMap(gateway, (client) => client.uploadFile({ file: new Uint8Array(1), purpose: "p" }))
        ]) {
          const fiber = yield* Effect.forkChild(Effect.flip<unknown, unknown, Gateway.Gateway>(call))
          yield* TestClock.adjust("1 hour")
          const error = yield* Fiber.join(fiber)
          const idempotencyKey = stub.sent.at(-1)?.headers["idempotency-key"]
          expect(idempotencyKey).toBeDefined()
          expect(error).toMatchObject({ idempotencyKey })
        }
      }).pipe(stub.run(), Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.none))
    })
  }

  it.effect("no token", () => {
    const stub = Stub.make(() => Stub.json({}))
    return Effect.gen(function* () {
      const client = yield* gateway
      const call = client.rerank({ model: "m", query: "q", documents: ["d"] }, { idempotencyKey: "order 17" })
      expect(yield* Effect.flip(call)).toMatchObject({ idempotencyKey: "order 17", attempts: 0 })
    }).pipe(stub.run({ credential: Redacted.make("") }))
  })
})
