import { expect, it } from "@effect/vitest"
import * as CohereRerank from "@model-gateway/core/CohereRerank"
import * as Rerank from "@model-gateway/core/Rerank"
import * as Transcription from "@model-gateway/core/Transcription"
import * as Video from "@model-gateway/core/Video"
import { Effect, Schema } from "effect"
import * as Warnings from "../../src/routing/Warnings.ts"
import { post } from "../TestEnvelope.ts"
import { layer, TestGateway } from "../TestGateway.ts"
import { asTheyCame, scripted } from "../TestProvider.ts"
import { makeUpstream, model } from "../video/TestVideo.ts"
import { keypad } from "../operations/TestAudio.ts"

const ignored = "temperature: deaf has no temperature, and ignored it."
const said = "The model read the first 512 tokens of document 0."

const offers = [
  scripted({
    name: "deaf",
    ignored: [ignored],
    rerank: (request) => Effect.succeed({ ...asTheyCame(request), warnings: [said, ignored] }),
    transcribe: () => Effect.succeed({ text: "hello", duration: 1, segments: [], warnings: [said] })
  }),
  scripted({
    name: "plain",
    limits: { language: false, temperature: false, word_timestamps: false },
    transcribe: () => Effect.succeed({ text: "hello", duration: 1, segments: [], warnings: [said] })
  }),
  scripted({
    name: "keen",
    rerank: (request) => Effect.succeed(asTheyCame(request)),
    transcribe: () => Effect.succeed({ text: "hello", duration: 1, segments: [] })
  }),
  makeUpstream([{ ...model, ignored: ({ seed }) => (seed === undefined ? [] : [`seed: film ignored ${seed}.`]) }])
    .offers
]

const telling = { ...model, id: "test/talk" }
const upstream = makeUpstream(
  [{ ...telling, ignored: ({ seed }) => (seed === undefined ? [] : [`seed: talk ignored ${seed}.`]) }],
  "talk"
)

const rerank = Schema.decodeUnknownSync(Schema.fromJsonString(Rerank.Response))
const cohere = Schema.decodeUnknownSync(Schema.fromJsonString(CohereRerank.Response))
const transcription = Schema.decodeUnknownSync(Schema.fromJsonString(Transcription.Response))
const video = Schema.decodeUnknownSync(Schema.fromJsonString(Video.Job))

it.layer(layer({}, [...offers, upstream.offers]), { excludeTestServices: true })("warnings", (it) => {
  it.effect("say what the provider of a rerank ignored, and are absent if it used everything", () =>
    Effect.gen(function* () {
      const asking = (provider: string) =>
        post("/api/v1/rerank", { model: "test/rank", query: "tea", documents: ["tea"], provider: { only: [provider] } })
      expect(rerank((yield* asking("deaf")).text).warnings).toEqual([ignored, said])
      expect(rerank((yield* asking("keen")).text)).not.toHaveProperty("warnings")
      const inCohereShape = yield* post("/api/v1/v2/rerank", { model: "test/rank", query: "tea", documents: ["tea"] })
      expect(cohere(inCohereShape.text).meta?.warnings).toEqual([ignored, said])
      const limited = { model: "test/rank", query: "tea", documents: ["tea"], max_tokens_per_doc: 480 }
      expect(cohere((yield* post("/api/v1/v2/rerank", limited)).text).meta?.warnings).toEqual([
        "max_tokens_per_doc: the provider deaf takes none, so it was ignored.",
        ignored,
        said
      ])
    })
  )

  it.effect("say what the provider of a transcription ignored, in both forms of the response", () =>
    Effect.gen(function* () {
      const asking = (provider: string, response_format = "json", more: object = {}, preferences: object = {}) =>
        post("/api/v1/audio/transcriptions", {
          model: "test/hear",
          input_audio: { data: keypad("1").toString("base64"), format: "wav" },
          response_format,
          provider: { only: [provider], ...preferences },
          ...more
        })
      expect(transcription((yield* asking("deaf")).text).warnings).toEqual([ignored, said])
      expect(transcription((yield* asking("deaf", "verbose_json")).text).warnings).toEqual([ignored, said])
      expect(transcription((yield* asking("keen")).text)).not.toHaveProperty("warnings")
      // What follows from the capabilities needs no words of the offer.
      const all = { language: "en", temperature: 0.5, timestamp_granularities: ["word"] }
      const sentences = [
        "language: test/hear takes no language, so it was ignored.",
        "temperature: test/hear takes no temperature, so it was ignored.",
        'timestamp_granularities: test/hear returns no times of words, so "word" was ignored.'
      ]
      expect(transcription((yield* asking("plain", "verbose_json", all)).text).warnings).toEqual([...sentences, said])
      // Granularities count with verbose_json only.
      expect(transcription((yield* asking("plain", "json", all)).text).warnings).toEqual([
        ...sentences.slice(0, 2),
        said
      ])
      const required = yield* asking("plain", "json", all, { require_parameters: true })
      expect([required.status, required.text]).toEqual([404, expect.stringContaining("takes no language")])
      expect((yield* asking("keen", "verbose_json", all, { require_parameters: true })).status).toBe(200)
    })
  )

  it.effect("say what the provider of a video ignores, when the job is accepted and after it is over", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const submit = (more: object) =>
        Effect.map(post("/api/v1/videos", { model: model.id, prompt: "a harbor", ...more }), ({ text }) => video(text))
      const accepted = yield* submit({ seed: 7 })
      expect(accepted.warnings).toEqual(["seed: film ignored 7."])
      let job = accepted
      while (!Video.isFinal(job.status)) job = video((yield* ask(`${job.polling_url}?wait=30`)).text)
      expect(job).toMatchObject({ status: "completed", warnings: ["seed: film ignored 7."] })
      expect(yield* submit({})).not.toHaveProperty("warnings")
    })
  )

  it.effect("say what the upstream of a video said while it made it", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const finished = (more: object) =>
        Effect.gen(function* () {
          const accepted = yield* post("/api/v1/videos", { model: telling.id, prompt: "a harbor", ...more })
          let job = video(accepted.text)
          const first = job.warnings
          while (!Video.isFinal(job.status)) job = video((yield* ask(`${job.polling_url}?wait=30`)).text)
          return { first, status: job.status, last: job.warnings }
        })
      const sentence = "seed: talk ignored 7."
      upstream.poll = () => Effect.succeed({ status: "completed", outputs: 1, warnings: [said, sentence] })
      expect(yield* finished({ seed: 7 })).toEqual({ first: [sentence], status: "completed", last: [sentence, said] })
      upstream.poll = () => Effect.succeed({ status: "failed", message: "no film", warnings: [said] })
      expect(yield* finished({})).toEqual({ status: "failed", last: [said] })
      // A warning that each poll repeats is stored once.
      let polls = 0
      upstream.poll = () =>
        Effect.sync(() =>
          ++polls < 3
            ? { status: "in_progress", warnings: [said] }
            : { status: "completed", outputs: 1, warnings: [said] }
        )
      expect(yield* finished({})).toEqual({ status: "completed", last: [said] })
    })
  )
})

it("keeps a bounded number of sentences of a bounded length", () => {
  const many = Array.from({ length: 1000 }, (_, index) => `${index} ${"x".repeat(1000)}`)
  const { warnings = [] } = Warnings.of({}, undefined, many)
  expect(warnings).toHaveLength(100)
  expect(Math.max(...warnings.map(({ length }) => length))).toBe(501)
})
