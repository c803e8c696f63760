import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { fromBytes } from "@model-gateway/providers/AudioSource"
import type { Model, ModelKind } from "@model-gateway/providers/Model"
import type { Provider, TranscriptionRequest } from "@model-gateway/providers/Provider"
import type { ProviderError } from "@model-gateway/providers/ProviderError"
import { wav } from "../src/DtmfTone.ts"
import { layer, models, Sandbox } from "../src/Sandbox.ts"
import { statuses } from "../src/SandboxStatus.ts"

const transcription = (bytes: Uint8Array, change?: Partial<TranscriptionRequest>): TranscriptionRequest => ({
  model: "sandbox/tones",
  audio: { source: fromBytes(bytes), format: "wav", durationSeconds: 1 },
  timestamp_granularities: ["segment"],
  ...change
})

const provide = Effect.provide(layer)

describe("Sandbox.models", () => {
  const priced = (id: string) =>
    models.filter((model) => model.id === id).map(({ free, kind, pricing }) => ({ free, kind, ...pricing }))

  it("have the prices of the price list, in micro-credits", () => {
    assert.deepStrictEqual(priced("sandbox/bm25"), [
      { free: false, kind: "rerank", unit: "search_unit", microCredits: 1000 }
    ])
    assert.deepStrictEqual(priced("sandbox/bm25:free"), [
      { free: true, kind: "rerank", unit: "search_unit", microCredits: 0 }
    ])
    assert.deepStrictEqual(priced("sandbox/tones"), [
      { free: false, kind: "transcription", unit: "second", microCredits: 100 }
    ])
    assert.deepStrictEqual(priced("sandbox/title-card"), [
      { free: false, kind: "video", unit: "second", microCredits: 10_000 }
    ])
  })

  it("are one of a kind and id", () => {
    const names = models.map((model: Model) => `${model.kind} ${model.id}`)
    assert.strictEqual(new Set(names).size, names.length)
  })

  it("answer with every status of the closed set of each operation, and no other", () => {
    const codes = (kind: ModelKind) =>
      models
        .filter((model) => model.kind === kind)
        .flatMap(({ id }) => (/status-(\d+)$/.exec(id) ?? []).slice(1).map(Number))
    assert.deepStrictEqual(codes("rerank"), [400, 401, 402, 403, 404, 413, 429, 500, 502, 503, 524, 529])
    assert.deepStrictEqual(codes("transcription"), [400, 401, 402, 403, 404, 413, 429, 500, 502, 503, 504, 524, 529])
    assert.deepStrictEqual(codes("video"), [400, 401, 402, 403, 404, 413, 429, 500])
  })
})

describe("sandbox/status-<code>", () => {
  const attempts: Record<
    ModelKind,
    (sandbox: Required<Provider>, model: string) => ReadonlyArray<Effect.Effect<unknown, ProviderError>>
  > = {
    rerank: (sandbox, model) => [sandbox.rerank({ model, query: "tea", documents: [{ text: "tea" }] })],
    transcription: (sandbox, model) => [sandbox.transcribe(transcription(wav("1"), { model }))],
    video: (sandbox, model) => [
      sandbox.video.check({ model, prompt: "tea" }),
      sandbox.video.submit({ request: { model, prompt: "tea" }, token: "tea" })
    ]
  }

  for (const kind of ["rerank", "transcription", "video"] as const) {
    it.effect(`fails a ${kind} with its status`, () =>
      Effect.gen(function* () {
        const sandbox = yield* Sandbox
        for (const status of statuses[kind]) {
          for (const attempt of attempts[kind](sandbox, `sandbox/status-${status}`)) {
            const { reason } = yield* Effect.flip(attempt)
            if (reason._tag !== "Simulated") return assert.fail(`${status} gave ${reason._tag}`)
            assert.strictEqual(reason.status, status)
            assert.strictEqual(reason.retryAfter !== undefined, [429, 503, 529].includes(status))
            if (reason.retryAfter !== undefined) assert.strictEqual(Duration.toSeconds(reason.retryAfter), 1)
          }
        }
      }).pipe(provide)
    )

    it.effect(`does not know a ${kind} model that is not in its catalogue`, () =>
      Effect.gen(function* () {
        const sandbox = yield* Sandbox
        const others = { rerank: "sandbox/tones", transcription: "sandbox/bm25", video: "sandbox/status-503" }
        for (const model of ["sandbox/status-418", "sandbox/nothing", others[kind]]) {
          for (const attempt of attempts[kind](sandbox, model)) {
            assert.strictEqual((yield* Effect.flip(attempt)).reason._tag, "UnknownModel")
          }
        }
      }).pipe(provide)
    )
  }
})

describe("sandbox/bm25", () => {
  it.effect("ranks documents that are text or have one", () =>
    Effect.gen(function* () {
      const sandbox = yield* Sandbox
      for (const model of ["sandbox/bm25", "sandbox/bm25:free"]) {
        const { results, total_tokens } = yield* sandbox.rerank({
          model,
          query: "tea",
          documents: [{ text: "milk" }, { text: "tea", image: "https://example.com/tea.png" }],
          top_n: 1
        })
        assert.deepStrictEqual(
          results.map((result) => result.index),
          [1]
        )
        assert.strictEqual(total_tokens, 3)
      }
    }).pipe(provide)
  )

  it.effect("refuses a document that is an image alone", () =>
    Effect.gen(function* () {
      const sandbox = yield* Sandbox
      const error = yield* Effect.flip(
        sandbox.rerank({
          model: "sandbox/bm25",
          query: "tea",
          documents: [{ text: "tea" }, { image: "https://example.com/tea.png" }]
        })
      )
      assert.strictEqual(error.reason._tag, "InvalidRequest")
      assert.include(error.message, "document 1")
    }).pipe(provide)
  )
})

describe("sandbox/tones", () => {
  it.effect("gives text, segments, and words when asked", () =>
    Effect.gen(function* () {
      const sandbox = yield* Sandbox
      const audio = wav("555 0199")
      const plain = yield* sandbox.transcribe(transcription(audio))
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

      const timed = yield* sandbox.transcribe(
        transcription(audio, { timestamp_granularities: ["word", "segment"], language: "de" })
      )
      assert.strictEqual(timed.words?.map(({ word }) => word).join(""), "5550199")
      assert.isTrue(timed.words?.every(({ end, start }) => end > start))
      assert.strictEqual(timed.language, "de")
    }).pipe(provide)
  )

  it.effect("gives empty text for silence", () =>
    Effect.gen(function* () {
      const sandbox = yield* Sandbox
      const { segments, text } = yield* sandbox.transcribe(transcription(wav("  ")))
      assert.strictEqual(text, "")
      assert.deepStrictEqual(segments, [])
    }).pipe(provide)
  )

  it.effect("refuses another format, and WAV that it does not understand", () =>
    Effect.gen(function* () {
      const sandbox = yield* Sandbox
      const source = fromBytes(new TextEncoder().encode("no audio"))
      const mp3 = yield* Effect.flip(
        sandbox.transcribe(transcription(wav("1"), { audio: { source, format: "mp3", durationSeconds: 1 } }))
      )
      assert.strictEqual(mp3.message, "sandbox/tones supports wav audio, not mp3")
      assert.strictEqual(mp3.reason._tag, "InvalidRequest")
      const text = yield* Effect.flip(sandbox.transcribe(transcription(new TextEncoder().encode("no audio"))))
      assert.strictEqual(text.message, "the audio is not a WAV file")
      assert.strictEqual(text.reason._tag, "InvalidRequest")
    }).pipe(provide)
  )
})

describe("Sandbox", () => {
  it("fails with ProviderError alone", () => {
    type Capabilities = Sandbox["Service"]
    expectTypeOf<Effect.Error<ReturnType<Capabilities["rerank"]>>>().toEqualTypeOf<ProviderError>()
    expectTypeOf<Effect.Error<ReturnType<Capabilities["transcribe"]>>>().toEqualTypeOf<ProviderError>()
    expectTypeOf<Effect.Error<ReturnType<Capabilities["video"]["submit"]>>>().toEqualTypeOf<ProviderError>()
    expectTypeOf<Effect.Error<ReturnType<Capabilities["video"]["poll"]>>>().toEqualTypeOf<ProviderError>()
  })
})
