import { expect, it } from "@effect/vitest"
import { Gateway } from "@model-gateway/core"
import { Faults, GatewayTest, Recorder, Samples } from "@model-gateway/testing"
import { Effect, Fiber, Redacted } from "effect"
import { HttpClient } from "effect/http"
import { inspect } from "node:util"

const gateway = Gateway.Gateway

it.effect("records the operation, path, headers and decoded parts of a request", () =>
  Effect.gen(function* () {
    const client = yield* gateway
    yield* client.listFiles({ limit: 2, after: "file a" })
    yield* client.assignKeys(Samples.guardrailId, Samples.assignRequest)
    yield* client.rerank({ model: "m", query: "q", documents: ["d"] }, { idempotencyKey: "order-17" })

    const [list, assign, rerank] = yield* Recorder.requests
    expect(list).toMatchObject({
      operation: "listFiles",
      method: "GET",
      path: `/api/v1/files?limit=2&after=file+a&workspace_id=${Samples.workspaceId}`,
      idempotencyKey: undefined,
      request: { query: { limit: 2, after: "file a", workspace_id: Samples.workspaceId } }
    })
    expect(assign).toMatchObject({
      method: "POST",
      request: { params: { id: Samples.guardrailId }, payload: Samples.assignRequest }
    })
    expect(rerank).toMatchObject({
      idempotencyKey: "order-17",
      headers: { "content-type": "application/json", accept: "application/json" }
    })
    // Comparing `operation` narrows the type of the request's parts.
    if (rerank?.operation === "rerank") expect(rerank.request?.payload.documents[0]).toBe("d")
    expect((yield* Recorder.of("assignKeys"))[0]?.request?.payload.key_hashes).toEqual(Samples.assignRequest.key_hashes)
  }).pipe(
    Effect.provide(
      GatewayTest.layer(
        {
          listFiles: Samples.fileList,
          assignKeys: Samples.assignResponse,
          rerank: Samples.rerankResponse
        },
        { workspaceId: Samples.workspaceId }
      )
    )
  )
)

it.effect("never records the credential", () =>
  Effect.gen(function* () {
    yield* (yield* gateway).currentKey
    const requests = yield* Recorder.requests
    expect(requests[0]?.headers["authorization"]).toBe("<redacted>")
    expect(inspect(requests, { depth: Infinity, showHidden: true })).not.toContain("secret")
  }).pipe(
    Effect.provide(
      GatewayTest.layer({ currentKey: Samples.currentKeyResponse }, { credential: Redacted.make("mg_sk_secret") })
    )
  )
)

it.effect("numbers the attempts of each call, also of concurrent calls", () =>
  Effect.gen(function* () {
    const client = yield* gateway
    yield* Effect.all([client.rerank(Samples.rerankRequest), client.rerank(Samples.rerankRequest)], {
      concurrency: "unbounded"
    })
    yield* client.currentKey
    yield* client.currentKey
    const rerank = yield* Recorder.of("rerank")
    const byKey = Map.groupBy(rerank, ({ idempotencyKey }) => idempotencyKey)
    expect(byKey.size).toBe(2)
    expect(Array.from(byKey.values(), (sent) => sent.map(({ attempt }) => attempt))).toEqual([
      [1, 2],
      [1, 2]
    ])
    expect((yield* Recorder.of("currentKey")).map(({ attempt }) => attempt)).toEqual([1, 2, 1])
  }).pipe(
    Effect.provide([
      GatewayTest.layer(
        { rerank: Samples.rerankResponse, currentKey: Samples.currentKeyResponse },
        { faults: { rerank: Faults.first(2, Faults.status(503)), currentKey: [Faults.cut] } }
      ),
      GatewayTest.layerNoWaits
    ])
  )
)

it.effect("records pending and abandoned requests, and can be cleared", () =>
  Effect.gen(function* () {
    const call = yield* Effect.forkChild((yield* gateway).currentKey, { startImmediately: true })
    yield* Effect.yieldNow
    expect((yield* Recorder.requests).map(({ outcome }) => outcome)).toEqual(["pending"])
    yield* Fiber.interrupt(call)
    expect((yield* Recorder.requests).map(({ outcome }) => outcome)).toEqual(["abandoned"])
    const recorder = yield* Recorder.Recorder
    yield* recorder.clear
    expect(yield* recorder.requests).toEqual([])
  }).pipe(Effect.provide(GatewayTest.layer({ currentKey: Effect.never })))
)

it.effect("returns snapshots, which do not change later", () =>
  Effect.gen(function* () {
    const call = yield* Effect.forkChild((yield* gateway).currentKey, { startImmediately: true })
    yield* Effect.yieldNow
    const before = yield* Recorder.requests
    yield* Fiber.interrupt(call)
    expect(before.map(({ outcome }) => outcome)).toEqual(["pending"])
  }).pipe(Effect.provide(GatewayTest.layer({ currentKey: Effect.never })))
)

it.effect("records requests that match no operation, too", () =>
  Effect.gen(function* () {
    const client = yield* HttpClient.HttpClient
    yield* client.get("http://gateway.test/api/v2/other?x=1")
    expect(yield* Recorder.requests).toMatchObject([
      {
        operation: undefined,
        request: undefined,
        method: "GET",
        path: "/api/v2/other?x=1",
        attempt: undefined,
        outcome: 404
      }
    ])
  }).pipe(Effect.provide(Recorder.layer), Effect.provide(GatewayTest.layerHttpClient({})))
)
