import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { fromBytes } from "@model-gateway/offers/AudioSource"
import { gatewayCredential, type Kind, type Offer, type Offers } from "@model-gateway/offers/Offer"
import type { ProviderError } from "@model-gateway/offers/ProviderError"
import type { TranscriptionRequest } from "@model-gateway/offers/Transcription"
import { Context, Duration, Effect, Layer, Stream } from "effect"
import { wav } from "../src/DtmfTone.ts"
import { make } from "../src/Sandbox.ts"
import { statuses } from "../src/SandboxStatus.ts"

const transcription = (bytes: Uint8Array, change?: Partial<TranscriptionRequest>): TranscriptionRequest => ({
  audio: { source: fromBytes(bytes), format: "wav", durationSeconds: 1 },
  timestamp_granularities: ["segment"],
  ...change
})

class Sandbox extends Context.Service<Sandbox, Offers>()("test/Sandbox") {}

const provide = Effect.provide(Layer.effect(Sandbox, make()))

const credential = gatewayCredential()

/** The offer of a kind, by its id. */
const offerOf = <K extends Kind>(kind: K, publicId: string) =>
  Effect.map(Sandbox, (offers) => {
    const isWanted = (offer: Offer): offer is Extract<Offer, { readonly kind: K }> =>
      offer.kind === kind && offer.publicId === publicId
    const found = offers.find(isWanted)
    if (found === undefined) throw new Error(`no ${kind} model ${publicId}`)
    return found
  })

describe("the offers of the sandbox", () => {
  it.effect("have the prices of the price list, in micro-credits", () =>
    Effect.gen(function* () {
      const offers = yield* Sandbox
      const priced = (id: string) =>
        offers
          .filter(({ publicId }) => publicId === id)
          .map(({ isFree, kind, pricing }) => ({ isFree, kind, ...pricing }))
      assert.deepStrictEqual(priced("sandbox/bm25"), [
        { isFree: false, kind: "rerank", unit: "search_unit", microCredits: 1000 }
      ])
      assert.deepStrictEqual(priced("sandbox/bm25:free"), [
        { isFree: true, kind: "rerank", unit: "search_unit", microCredits: 0 }
      ])
      assert.deepStrictEqual(priced("sandbox/tones"), [
        { isFree: false, kind: "transcription", unit: "second", microCredits: 100 }
      ])
      for (const id of ["sandbox/title-card", "sandbox/title-card-upscaler"]) {
        assert.deepStrictEqual(priced(id), [{ isFree: false, kind: "video", unit: "second", microCredits: 10_000 }])
      }
    }).pipe(provide)
  )

  it.effect("are unique by kind and id", () =>
    Effect.gen(function* () {
      const offers = yield* Sandbox
      const names = offers.map(({ kind, publicId }) => `${kind} ${publicId}`)
      assert.strictEqual(new Set(names).size, names.length)
    }).pipe(provide)
  )

  it.effect("answer with every status of the closed set of each operation, and no other", () =>
    Effect.gen(function* () {
      const offers = yield* Sandbox
      const codes = (kind: Kind) =>
        offers
          .filter((offer) => offer.kind === kind)
          .flatMap(({ publicId }) => (/status-(\d+)$/.exec(publicId) ?? []).slice(1).map(Number))
      assert.deepStrictEqual(codes("rerank"), [400, 401, 402, 403, 404, 413, 429, 500, 502, 503, 524, 529])
      assert.deepStrictEqual(codes("transcription"), [400, 401, 402, 403, 404, 413, 429, 500, 502, 503, 504, 524, 529])
      assert.deepStrictEqual(codes("video"), [400, 401, 402, 403, 404, 413, 429, 500])
    }).pipe(provide)
  )
})

describe("sandbox/status-<code>", () => {
  const tea = { prompt: "tea" }
  const attempts = (offer: Offer): ReadonlyArray<Effect.Effect<unknown, ProviderError>> => {
    switch (offer.kind) {
      case "rerank":
        return [offer.run({ query: "tea", documents: [{ text: "tea" }] }, credential)]
      case "transcription":
        return [offer.run(transcription(wav("1")), credential)]
      case "video":
        return [
          offer.check(tea),
          offer.submit({ request: tea, token: "tea" }, credential),
          offer.poll({ handle: "tea", request: tea }, credential),
          Stream.runDrain(offer.content({ handle: "tea", request: tea, index: 0 }, credential))
        ]
    }
  }

  for (const kind of ["rerank", "transcription", "video"] as const) {
    it.effect(`fails a ${kind} with its status`, () =>
      Effect.gen(function* () {
        for (const status of statuses[kind]) {
          for (const attempt of attempts(yield* offerOf(kind, `sandbox/status-${status}`))) {
            const { reason } = yield* Effect.flip(attempt)
            if (reason._tag !== "Simulated") return assert.fail(`${status} gave ${reason._tag}`)
            assert.strictEqual(reason.status, status)
            assert.strictEqual(reason.retryAfter !== undefined, [429, 503, 529].includes(status))
            if (reason.retryAfter !== undefined) assert.strictEqual(Duration.toSeconds(reason.retryAfter), 1)
          }
        }
      }).pipe(provide)
    )
  }
})

describe("sandbox/bm25", () => {
  it.effect("ranks documents that are text or have one, and charges search units", () =>
    Effect.gen(function* () {
      for (const [model, cost] of [
        ["sandbox/bm25", 1000],
        ["sandbox/bm25:free", 0]
      ] as const) {
        const offer = yield* offerOf("rerank", model)
        const request = {
          query: "tea",
          documents: [{ text: "milk" }, { text: "tea", image: "https://example.com/tea.png" }],
          top_n: 1
        }
        const { answer, charge } = yield* offer.run(request, credential)
        assert.deepStrictEqual(
          answer.results.map((result) => result.index),
          [1]
        )
        assert.deepStrictEqual(
          { ...charge },
          { cost: offer.quote(request), usage: { search_units: 1, total_tokens: 3 } }
        )
        assert.strictEqual(Number(charge.cost), cost)
      }
    }).pipe(provide)
  )

  it.effect("refuses a document that is an image alone", () =>
    Effect.gen(function* () {
      const offer = yield* offerOf("rerank", "sandbox/bm25")
      const error = yield* Effect.flip(
        offer.run({ query: "tea", documents: [{ text: "tea" }, { image: "https://example.com/tea.png" }] }, credential)
      )
      assert.strictEqual(error.reason._tag, "InvalidRequest")
      assert.include(error.message, "documents.1")
    }).pipe(provide)
  )
})

describe("sandbox/tones", () => {
  it.effect("returns text, segments, and words if requested, and charges the seconds", () =>
    Effect.gen(function* () {
      const offer = yield* offerOf("transcription", "sandbox/tones")
      const audio = wav("555 0199")
      const { answer: plain, charge } = yield* offer.run(transcription(audio), credential)
      assert.strictEqual(plain.text, "555 0199")
      assert.deepStrictEqual(
        plain.segments.map(({ id, text }) => ({ id, text })),
        [
          { id: 0, text: "555" },
          { id: 1, text: "0199" }
        ]
      )
      assert.approximately(plain.duration, 2.1, 0.001)
      assert.strictEqual(plain.language, "zxx")
      assert.notProperty(plain, "words")
      assert.strictEqual(Number(charge.cost), 100)
      assert.deepStrictEqual(charge.usage, { seconds: 1 })

      const { answer: timed } = yield* offer.run(
        transcription(audio, { timestamp_granularities: ["word", "segment"], language: "de" }),
        credential
      )
      assert.strictEqual(timed.words?.map(({ word }) => word).join(""), "5550199")
      assert.isTrue(timed.words?.every(({ end, start }) => end > start))
      assert.strictEqual(timed.language, "de")
    }).pipe(provide)
  )

  it.effect("says that it ignores a temperature, and options of the provider as every model of the sandbox", () =>
    Effect.gen(function* () {
      const options = { speed: 2 }
      const ignored = (model: string) => `provider.options.sandbox: ${model} takes no options, so they were ignored.`
      const tones = yield* offerOf("transcription", "sandbox/tones")
      assert.isFalse(tones.capabilities.temperature)
      assert.deepStrictEqual(tones.ignored?.(transcription(wav("1"), { options })), [ignored("sandbox/tones")])
      assert.deepStrictEqual(tones.ignored?.(transcription(wav("1"))), [])
      const bm25 = yield* offerOf("rerank", "sandbox/bm25")
      assert.deepStrictEqual(bm25.ignored?.({ query: "tea", documents: [], options }), [ignored("sandbox/bm25")])
      const card = yield* offerOf("video", "sandbox/title-card")
      assert.deepStrictEqual(card.ignored?.({ prompt: "Dawn", options }), [ignored("sandbox/title-card")])
      const upscaler = yield* offerOf("video", "sandbox/title-card-upscaler")
      assert.deepStrictEqual(upscaler.ignored?.({ options, seed: 1 }), [
        "seed: sandbox/title-card-upscaler takes no seed, so it was ignored.",
        ignored("sandbox/title-card-upscaler")
      ])
    }).pipe(provide)
  )

  it.effect("returns empty text for silence", () =>
    Effect.gen(function* () {
      const offer = yield* offerOf("transcription", "sandbox/tones")
      const { answer } = yield* offer.run(transcription(wav("  ")), credential)
      assert.strictEqual(answer.text, "")
      assert.deepStrictEqual(answer.segments, [])
    }).pipe(provide)
  )

  it.effect("refuses another format, and WAV that it does not understand", () =>
    Effect.gen(function* () {
      const offer = yield* offerOf("transcription", "sandbox/tones")
      const source = fromBytes(new TextEncoder().encode("no audio"))
      const mp3 = yield* Effect.flip(
        offer.run(transcription(wav("1"), { audio: { source, format: "mp3", durationSeconds: 1 } }), credential)
      )
      assert.strictEqual(mp3.message, "input_audio.data: sandbox/tones supports wav audio, not mp3")
      assert.strictEqual(mp3.reason._tag, "InvalidRequest")
      const text = yield* Effect.flip(offer.run(transcription(new TextEncoder().encode("no audio")), credential))
      assert.strictEqual(text.message, "input_audio.data: the audio is not a WAV file")
      assert.strictEqual(text.reason._tag, "InvalidRequest")
    }).pipe(provide)
  )
})

describe("Sandbox", () => {
  it("fails with ProviderError alone", () => {
    type Of<K extends Kind> = Extract<Offer, { readonly kind: K }>
    expectTypeOf<Effect.Error<ReturnType<Of<"rerank">["run"]>>>().toEqualTypeOf<ProviderError>()
    expectTypeOf<Effect.Error<ReturnType<Of<"transcription">["run"]>>>().toEqualTypeOf<ProviderError>()
    expectTypeOf<Effect.Error<ReturnType<Of<"video">["submit"]>>>().toEqualTypeOf<ProviderError>()
    expectTypeOf<Effect.Error<ReturnType<Of<"video">["poll"]>>>().toEqualTypeOf<ProviderError>()
  })
})
