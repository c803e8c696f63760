import { expect, it } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import * as GatewayServerConfig from "../../src/GatewayServerConfig.ts"
import * as AccessLog from "../../src/requests/AccessLog.ts"
import { perSource } from "../../src/requests/FailureSampling.ts"
import * as RejectedRequests from "../../src/requests/RejectedRequests.ts"
import * as TestStorage from "../TestStorage.ts"

const minute = 60_000

const failure = (n: number): AccessLog.EndedRequest => ({
  id: `req_${n}`,
  operation: "rerank",
  status: 402,
  durationMs: 3,
  address: "203.0.113.7",
  message: "insufficient credits",
  model: "m",
  keyHash: "k",
  workspaceId: "w",
  organizationId: "o",
  generationId: undefined
})

it.effect("records failures of the next minute although the system clock was set back", () =>
  Effect.gen(function* () {
    const store = yield* RejectedRequests.RejectedRequests
    let wall = 10_000_000
    let monotonic = 0
    const clock: Clock.Clock = {
      currentTimeMillisUnsafe: () => wall,
      currentTimeMillis: Effect.sync(() => wall),
      currentTimeNanosUnsafe: () => BigInt(wall) * 1_000_000n,
      currentTimeNanos: Effect.sync(() => BigInt(wall) * 1_000_000n),
      monotonicTimeNanosUnsafe: () => BigInt(monotonic) * 1_000_000n,
      monotonicTimeNanos: Effect.sync(() => BigInt(monotonic) * 1_000_000n),
      sleep: () => Effect.never
    }
    yield* Effect.gen(function* () {
      const log = yield* AccessLog.make
      for (let n = 0; n < perSource + 5; n++) yield* log.ended(failure(n))
      wall -= 60 * minute
      monotonic += minute
      yield* log.ended(failure(100))
    }).pipe(Effect.scoped, Effect.provideService(Clock.Clock, clock))
    const { items } = yield* store.list("o", {})
    expect(items).toHaveLength(perSource + 1)
    expect(items.find(({ requestId }) => requestId === "req_100")?.createdAt).toBe(wall)
    expect(items.find(({ requestId }) => requestId === `req_${perSource - 1}`)?.omitted).toBe(5)
  }).pipe(
    Effect.provide(
      RejectedRequests.layerSql.pipe(
        Layer.provideMerge(TestStorage.layer),
        Layer.provideMerge(GatewayServerConfig.layer({ accessLog: "none" }))
      )
    )
  )
)
