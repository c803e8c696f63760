// The six operations of the specification as Effects: each fails with one class of error for each
// status that the specification lists for it, and with InvalidResponse for any other.
import { describe, expect, it } from "@effect/vitest"
import { Gateway, GatewayError, RetryPolicy } from "@model-gateway/core"
import { Effect } from "effect"
import * as Stub from "./stub.ts"

type Client = Gateway.Gateway["Service"]

type Call = (client: Client) => Effect.Effect<unknown, { readonly _tag: string }>

const guardrail = "7d9d1f9e-3a55-4f0c-9a35-0e4d1b9f6a10"

/** A call of each, and the statuses that the specification lists for it. */
const six: Readonly<Record<string, readonly [call: Call, statuses: ReadonlyArray<number>]>> = {
  deleteFile: [(client) => client.deleteFile("file_1"), [401, 403, 404, 429, 500, 502, 503]],
  currentKey: [(client) => client.currentKey, [401, 500]],
  rerank: [
    (client) => client.rerank({ model: "m", query: "q", documents: ["d"] }),
    [400, 401, 402, 403, 404, 413, 429, 500, 502, 503, 524, 529]
  ],
  transcribe: [
    (client) => client.transcribe({ model: "m", input_audio: { data: "AAAA", format: "wav" } }),
    [400, 401, 402, 403, 404, 413, 429, 500, 502, 503, 504, 524, 529]
  ],
  submitVideo: [(client) => client.submitVideo({ model: "m", prompt: "p" }), [400, 401, 402, 403, 404, 413, 429, 500]],
  assignKeys: [(client) => client.assignKeys(guardrail, { key_hashes: ["h"] }), [400, 401, 403, 404, 500]]
}

/** The tag of the error of each status. */
const tags: Readonly<Record<number, GatewayError.GatewayError["_tag"]>> = {
  400: "BadRequest",
  401: "Unauthorized",
  402: "PaymentRequired",
  403: "Forbidden",
  404: "NotFound",
  413: "PayloadTooLarge",
  429: "TooManyRequests",
  500: "InternalServerError",
  502: "BadGateway",
  503: "ServiceUnavailable",
  504: "GatewayTimeout",
  524: "UpstreamTimeout",
  529: "ProviderOverloaded"
}

describe.each(Object.entries(six))("%s", (name, [call, statuses]) => {
  it.effect("is an Effect, which sends nothing until it runs [spec V1]", () => {
    const stub = Stub.make(() => Stub.failure(500))
    return Effect.gen(function* () {
      const effect = call(yield* Gateway.Gateway)
      expect(Effect.isEffect(effect)).toBe(true)
      expect(stub.sent).toEqual([])
      yield* Effect.flip(effect)
      expect(stub.sent).toHaveLength(1)
    }).pipe(Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.none), stub.run())
  })

  it.effect.each(Object.entries(tags))(
    "status %s fails with its own class, or as no response of it: %s [spec V2]",
    ([status, tag]) => {
      const stub = Stub.make(() => Stub.failure(Number(status)))
      return Effect.gen(function* () {
        const error = yield* Effect.flip(call(yield* Gateway.Gateway))
        expect(error).toMatchObject({
          _tag: statuses.includes(Number(status)) ? tag : "InvalidResponse",
          operation: name
        })
        expect(error instanceof GatewayError.EnvelopeError).toBe(statuses.includes(Number(status)))
      }).pipe(Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.none), stub.run())
    }
  )
})
