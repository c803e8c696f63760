/** How much of a response is read, and how. */
import { describe, expect, it } from "@effect/vitest"
import { Gateway, type GatewayConfig, RetryPolicy } from "@model-gateway/core"
import { Effect, Stream } from "effect"
import * as Stub from "./stub.ts"

const request = { model: "m", query: "q", documents: ["d"] } as const

const rerank = (answer: () => Stub.Answer, options?: Partial<GatewayConfig.Options>) => {
  const stub = Stub.make(answer)
  return Effect.flatMap(Gateway.Gateway, (gateway) => gateway.rerank(request)).pipe(
    Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.none),
    stub.run(options)
  )
}

/** A body of endless chunks that counts how many were read and whether reading stopped. */
const endless = () => {
  const state = { chunks: 0, cancelled: false }
  const body = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        state.chunks++
        controller.enqueue(new Uint8Array(1024).fill(32))
      },
      cancel: () => {
        state.cancelled = true
      }
    },
    { highWaterMark: 0 }
  )
  return { state, body }
}

const tooLong = (limit: number) => ({
  _tag: "InvalidResponse",
  operation: "rerank",
  description: `a body of more than ${limit} bytes (maxResponseBytes in the configuration)`
})

describe("a JSON response", () => {
  it.effect("keeps what the provider ignored of a rerank, a transcription and a video [spec N33 N34]", () =>
    Effect.gen(function* () {
      const warnings = ["seed: the model takes none, and ignored it."]
      const bodies: Readonly<Record<string, object>> = {
        "/api/v1/rerank": { ...Stub.ranking, warnings },
        "/api/v1/audio/transcriptions": { text: "hello", warnings },
        "/api/v1/videos": { id: "video_1", polling_url: "/api/v1/videos/video_1", status: "pending", warnings }
      }
      const stub = Stub.make(({ url }) => Response.json(bodies[url.pathname]))
      const answers = yield* Effect.gen(function* () {
        const gateway = yield* Gateway.Gateway
        return [
          yield* gateway.rerank(request),
          yield* gateway.transcribe({ model: "m", file: new Uint8Array([1]), filename: "a.wav" }),
          yield* gateway.submitVideo({ model: "m", prompt: "a harbor" })
        ]
      }).pipe(stub.run())
      expect(answers.map((answer) => answer.warnings)).toEqual([warnings, warnings, warnings])
    })
  )

  it.effect("may begin with a byte order mark", () =>
    Effect.gen(function* () {
      const text = `\uFEFF${JSON.stringify(Stub.ranking)}`
      const length = String(new TextEncoder().encode(text).length)
      expect(yield* rerank(() => new Response(text))).toEqual(Stub.ranking)
      expect(yield* rerank(() => new Response(text, { headers: { "content-length": length } }))).toEqual(Stub.ranking)
      // Some HTTP layers keep the mark in the text.
      const kept = new Response(null, { headers: { "content-length": length } })
      expect(
        yield* rerank(() =>
          Object.assign(kept, { arrayBuffer: () => Promise.resolve(new TextEncoder().encode(`\uFEFF${text}`).buffer) })
        )
      ).toEqual(Stub.ranking)
    })
  )

  it.effect("of unknown length may come in pieces that cut a character", () =>
    Effect.gen(function* () {
      const ranking = { ...Stub.ranking, model: "Größe ☃ 𝄞" }
      const bytes = new TextEncoder().encode(JSON.stringify(ranking))
      const pieces = () =>
        Stream.toReadableStream(Stream.fromIterable(Array.from(bytes, (byte) => Uint8Array.of(byte))))
      expect(yield* rerank(() => new Response(pieces()))).toEqual(ranking)
      // A browser joins the values of a header that was sent twice.
      const headers = { "content-length": `${bytes.length}, ${bytes.length}` }
      expect(yield* rerank(() => new Response(pieces(), { headers }))).toEqual(ranking)
    })
  )

  it.effect("longer than the limit is not read when its head says so", () => {
    const { body, state } = endless()
    return Effect.gen(function* () {
      const error = yield* Effect.flip(
        rerank(() => new Response(body, { headers: { "content-length": "5001" } }), { maxResponseBytes: 5000 })
      )
      expect(error).toMatchObject({ ...tooLong(5000), status: 200, isRetryable: false })
      expect(error.message).toContain("5000 bytes")
      expect(state).toEqual({ chunks: 0, cancelled: true })
    })
  })

  it.effect("of unknown length is read up to the limit and then canceled", () => {
    const { body, state } = endless()
    return Effect.gen(function* () {
      const error = yield* Effect.flip(rerank(() => new Response(body), { maxResponseBytes: 5000 }))
      expect(error).toMatchObject(tooLong(5000))
      expect(state).toEqual({ chunks: 5, cancelled: true })
    })
  })

  it.effect("is counted after decompression, also if its head has the compressed length", () => {
    const { body, state } = endless()
    return Effect.gen(function* () {
      const headers = { "content-length": "100", "content-encoding": "gzip" }
      expect(
        yield* Effect.flip(rerank(() => new Response(body, { headers }), { maxResponseBytes: 5000 }))
      ).toMatchObject(tooLong(5000))
      expect(state.chunks).toBe(5)
      // As in a browser, which hides the encoding of a response from another origin.
      const hidden = new Response(" ".repeat(6000), { headers: { "content-length": "100" } })
      expect(yield* Effect.flip(rerank(() => hidden, { maxResponseBytes: 5000 }))).toMatchObject(tooLong(5000))
    })
  })

  it.effect("of an error is limited, too", () => {
    const { body } = endless()
    return Effect.gen(function* () {
      const error = yield* Effect.flip(rerank(() => new Response(body, { status: 502 }), { maxResponseBytes: 5000 }))
      expect(error).toMatchObject({ ...tooLong(5000), status: 502 })
    })
  })

  it.effect("may have 64 MiB by default", () =>
    Effect.gen(function* () {
      const of = (length: number) => rerank(() => new Response("{}", { headers: { "content-length": String(length) } }))
      expect(yield* Effect.flip(of(67_108_864))).toMatchObject({ path: "model" })
      expect(yield* Effect.flip(of(67_108_865))).toMatchObject(tooLong(67_108_864))
    })
  )
})

describe("a redirect that was not followed", () => {
  const redirect = (location: string) =>
    Effect.flip(rerank(() => new Response(null, { status: 307, headers: { location, "retry-after": "5" } })))

  for (const [location, shown] of [
    ["https://other.test/api/v1/rerank", "https://other.test/api/v1/rerank"],
    ["/sign-in?next=%2F", "/sign-in"],
    ["https://user:s3cret@other.test:8443/a?token=s3cret#s3cret", "https://other.test:8443/a"],
    ["//user:s3cret@other.test/a", "//other.test/a"]
  ] as const) {
    it.effect(`names its location without what may be secret: ${shown}`, () =>
      Effect.gen(function* () {
        const error = yield* redirect(location)
        expect(error).toMatchObject({ _tag: "InvalidResponse", status: 307, location: shown, retryAfter: 5 })
        expect(error.message).toContain(`a redirect to ${shown}, which was not followed`)
        expect(error.message).not.toContain("s3cret")
      })
    )
  }
})
