import { expect, it } from "@effect/vitest"
import * as CohereRerank from "@model-gateway/core/CohereRerank"
import * as Rerank from "@model-gateway/core/Rerank"
import * as Transcription from "@model-gateway/core/Transcription"
import * as Video from "@model-gateway/core/Video"
import { Effect, Schema } from "effect"
import * as Warnings from "../../src/operations/Warnings.ts"
import { post } from "../TestEnvelope.ts"
import { layer, TestGateway } from "../TestGateway.ts"
import { asTheyCame, scripted } from "../TestProvider.ts"
import { makeUpstream, model } from "../video/TestVideo.ts"
import { keypad } from "./TestAudio.ts"

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
    name: "keen",
    rerank: (request) => Effect.succeed(asTheyCame(request)),
    transcribe: () => Effect.succeed({ text: "hello", duration: 1, segments: [] })
  }),
  makeUpstream([{ ...model, ignored: ({ seed }) => (seed === undefined ? [] : [`seed: film ignored ${seed}.`]) }])
    .offers
]

const rerank = Schema.decodeUnknownSync(Schema.fromJsonString(Rerank.Response))
const cohere = Schema.decodeUnknownSync(Schema.fromJsonString(CohereRerank.Response))
const transcription = Schema.decodeUnknownSync(Schema.fromJsonString(Transcription.Response))
const video = Schema.decodeUnknownSync(Schema.fromJsonString(Video.Job))

it.layer(layer({}, offers), { excludeTestServices: true })("warnings", (it) => {
  it.effect("say what the provider of a rerank ignored, and are absent if it used everything", () =>
    Effect.gen(function* () {
      const asking = (provider: string) =>
        post("/api/v1/rerank", { model: "test/rank", query: "tea", documents: ["tea"], provider: { only: [provider] } })
      expect(rerank((yield* asking("deaf")).text).warnings).toEqual([ignored, said])
      expect(rerank((yield* asking("keen")).text)).not.toHaveProperty("warnings")
      const inCohereShape = yield* post("/api/v1/v2/rerank", { model: "test/rank", query: "tea", documents: ["tea"] })
      expect(cohere(inCohereShape.text).meta?.warnings).toEqual([ignored, said])
    })
  )

  it.effect("say what the provider of a transcription ignored, in both forms of the response", () =>
    Effect.gen(function* () {
      const asking = (provider: string, response_format = "json") =>
        post("/api/v1/audio/transcriptions", {
          model: "test/hear",
          input_audio: { data: keypad("1").toString("base64"), format: "wav" },
          response_format,
          provider: { only: [provider] }
        })
      expect(transcription((yield* asking("deaf")).text).warnings).toEqual([ignored, said])
      expect(transcription((yield* asking("deaf", "verbose_json")).text).warnings).toEqual([ignored, said])
      expect(transcription((yield* asking("keen")).text)).not.toHaveProperty("warnings")
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
})

it("keeps a bounded number of sentences of a bounded length", () => {
  const many = Array.from({ length: 1000 }, (_, index) => `${index} ${"x".repeat(1000)}`)
  const { warnings = [] } = Warnings.of({}, undefined, many)
  expect(warnings).toHaveLength(100)
  expect(Math.max(...warnings.map(({ length }) => length))).toBe(501)
})
