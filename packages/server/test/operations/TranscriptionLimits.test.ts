// What a transcription model takes: the size and the length of the audio. And the languages of its
// answers.
import { expect, it } from "@effect/vitest"
import { Response } from "@model-gateway/core/Transcription"
import type { TranscriptionRequest } from "@model-gateway/offers/Transcription"
import { Effect, Schema } from "effect"
import * as TestLedger from "../accounting/TestLedger.ts"
import { envelopeOf, issuePaths, post } from "../TestEnvelope.ts"
import { form, formHeaders, layer, type Part, TestGateway } from "../TestGateway.ts"
import { scripted } from "../TestProvider.ts"
import { keypad } from "./TestAudio.ts"

const path = "/api/v1/audio/transcriptions"

/** 0.8 seconds in 12,844 bytes. */
const audio = keypad("1259")

const request = { model: "test/hear", input_audio: { data: audio.toString("base64"), format: "wav" } }

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Response))

const seen: Array<TranscriptionRequest> = []

const transcriber = (language?: string) => (request: TranscriptionRequest) =>
  Effect.sync(() => {
    seen.push(request)
    return { text: "heard", duration: 0.8, segments: [], ...(language === undefined ? {} : { language }) }
  })

const gateway = layer({}, [
  scripted({ name: "small", limits: { max_bytes: 12_843 }, transcribe: transcriber() }),
  scripted({ name: "short", limits: { max_seconds: 0.7 }, transcribe: transcriber() }),
  scripted({ name: "english", price: 2000, transcribe: transcriber("english") }),
  scripted({ name: "locale", transcribe: transcriber("pt-BR") }),
  scripted({ name: "other", transcribe: transcriber("cantonese") }),
  scripted({ name: "silent", transcribe: transcriber() })
])

it.layer(gateway, { excludeTestServices: true })("POST /audio/transcriptions", (it) => {
  const asking = (only: ReadonlyArray<string>, more?: object) =>
    post(path, { ...request, provider: { only, order: only }, ...more })

  it.effect("answers audio above a limit with a 400 that names the limit, and reserves nothing", () =>
    Effect.gen(function* () {
      const before = (yield* TestLedger.usageOf()).length
      const large = yield* asking(["small"])
      expect([large.status, envelopeOf(large).error.metadata?.["issues"]]).toEqual([
        400,
        [
          {
            path: "input_audio.data",
            message: 'the model "test/hear" accepts at most 12,843 bytes of audio, not 12,844'
          }
        ]
      ])
      const long = yield* asking(["short"])
      expect([long.status, envelopeOf(long).error.metadata?.["issues"]]).toEqual([
        400,
        [{ path: "input_audio.data", message: 'the model "test/hear" accepts at most 0.7 seconds of audio, not 0.8' }]
      ])
      const parts: ReadonlyArray<Part> = [
        { name: "model", value: "test/hear" },
        { name: "provider", value: '{"only":["short"]}' },
        { name: "file", filename: "tones.wav", value: audio }
      ]
      const { ask } = yield* TestGateway
      const upload = yield* ask(path, { method: "POST", headers: formHeaders, body: form(...parts) })
      expect([upload.status, issuePaths(upload)]).toEqual([400, ["file"]])
      expect(seen).toEqual([])
      expect(yield* TestLedger.usageOf()).toHaveLength(before)
      expect(yield* TestLedger.openReservations).toEqual([])
    })
  )

  it.effect("is served by the provider that takes the audio, at its price", () =>
    Effect.gen(function* () {
      const answer = yield* asking(["small", "short", "english"])
      expect([answer.status, decode(answer.text).usage?.cost]).toEqual([200, 0.0016])
    })
  )

  it.effect("answers the ISO 639-1 code of the language, or the provider's word", () =>
    Effect.gen(function* () {
      const said: Record<string, string | undefined> = {}
      for (const provider of ["english", "locale", "other", "silent"]) {
        const answer = yield* asking([provider], { response_format: "verbose_json" })
        said[provider] = decode(answer.text).language
      }
      expect(said).toEqual({ english: "en", locale: "pt", other: "cantonese", silent: undefined })
      const asked = yield* asking(["silent"], { response_format: "verbose_json", language: "DE" })
      expect(decode(asked.text).language).toBe("de")
    })
  )

  it.effect("asks for segments if verbose_json comes with an empty list of granularities", () =>
    Effect.gen(function* () {
      yield* asking(["silent"], { response_format: "verbose_json", timestamp_granularities: [] })
      expect(seen.at(-1)?.timestamp_granularities).toEqual(["segment"])
      yield* asking(["silent"], { timestamp_granularities: ["word"] })
      expect(seen.at(-1)?.timestamp_granularities).toEqual([])
    })
  )
})
