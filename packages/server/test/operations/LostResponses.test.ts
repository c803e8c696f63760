/** The service with the client of core: calls whose response is lost, and that are repeated. */
import { expect, layer } from "@effect/vitest"
import type { TimeoutError } from "@model-gateway/core/ClientError"
import type { CallOptions } from "@model-gateway/core/GatewayClient"
import * as Gateway from "@model-gateway/core/Gateway"
import * as GatewayConfig from "@model-gateway/core/GatewayConfig"
import * as RetryPolicy from "@model-gateway/core/RetryPolicy"
import { Effect, Layer, Redacted, Schedule } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import * as TestGateway from "../TestGateway.ts"
import { asTheyCame, scripted } from "../TestProvider.ts"

/** A client that receives the first response with an idempotency key, and never passes it on. */
const losing = Layer.effect(
  HttpClient.HttpClient,
  Effect.map(HttpClient.HttpClient, (client) => {
    const lost = new Set<string>()
    return HttpClient.transform(client, (response, request) => {
      const key = request.headers["idempotency-key"]
      if (key === undefined || lost.has(key)) return response
      lost.add(key)
      return Effect.flatMap(response, ({ text }) => Effect.andThen(text, Effect.never))
    })
  })
).pipe(Layer.provide(FetchHttpClient.layer))

const clientOf = (key: "ordinaryKey" | "managementKey") =>
  Effect.gen(function* () {
    const gateway = yield* TestGateway.TestGateway
    const config = GatewayConfig.layer({
      baseUrl: `http://127.0.0.1:${gateway.port}/api/v1`,
      credential: Redacted.make(gateway[key])
    })
    return yield* Effect.provide(Gateway.Gateway, Gateway.layer.pipe(Layer.provide([config, losing])))
  })

/** Enough for the service to do its work, most often. */
const impatient = RetryPolicy.make({ maxRetries: 0, attemptTimeout: "500 millis" })

const patient = RetryPolicy.make({ schedule: () => Schedule.spaced("0 millis") })

/** Loses the response of a call, and repeats it with the idempotency key of its error. */
const repeated = Effect.fnUntraced(function* <A, E extends { readonly _tag: string }>(
  call: (options?: CallOptions) => Effect.Effect<A, E>
) {
  const error = yield* Effect.flip(Effect.provideService(call(), RetryPolicy.RetryPolicy, impatient))
  if (!isTimeout(error)) throw new Error(`unexpected ${error._tag}`)
  const { idempotencyKey } = error
  expect(idempotencyKey).toMatch(/^[\da-f]{32}-/)
  return yield* Effect.provideService(call({ idempotencyKey }), RetryPolicy.RetryPolicy, patient)
})

const isTimeout = (error: { readonly _tag: string }): error is TimeoutError => error._tag === "TimeoutError"

const offers = [scripted({ name: "one", rerank: (request) => Effect.succeed(asTheyCame(request)) })]

layer(TestGateway.layer(undefined, offers), { excludeTestServices: true })(
  "a call that timed out, repeated with the idempotency key of its error,",
  (it) => {
    it.effect("is charged once", () =>
      Effect.gen(function* () {
        const client = yield* clientOf("ordinaryKey")
        const before = (yield* client.currentKey).usage
        const response = yield* repeated((options) =>
          client.rerank({ model: "test/rank", query: "q", documents: ["d"] }, options)
        )
        expect(response.results).toHaveLength(1)
        expect((yield* client.currentKey).usage).toBeCloseTo(before + 0.001, 9)
      })
    )

    it.effect("stores one file", () =>
      Effect.gen(function* () {
        const client = yield* clientOf("ordinaryKey")
        const stored = yield* repeated((options) =>
          client.uploadFile({ file: new TextEncoder().encode("notes"), purpose: "p" }, options)
        )
        expect((yield* client.listFiles()).data).toEqual([stored])
      })
    )

    it.effect("creates one key", () =>
      Effect.gen(function* () {
        const client = yield* clientOf("managementKey")
        const created = yield* repeated((options) => client.createKey({ name: "once" }, options))
        const { data } = yield* client.listKeys()
        expect(data.filter(({ name }) => name === "once")).toEqual([created.data])
      })
    )
  }
)
