// The real SDK drives the double, so that the double is known to speak AssemblyAI's protocol.
import { assert, describe, it } from "@effect/vitest"
import { AssemblyAI } from "assemblyai"
import { Effect } from "effect"
import {
  documentedErrors,
  failedTranscripts,
  startAssemblyAiDouble
} from "@model-gateway/test-doubles/AssemblyAiDouble"
import { started } from "./support/transcription.ts"

const key = "assembly-secret-0123456789"

const double = started(() => startAssemblyAiDouble({ keys: [key] }))

const client = (baseUrl: string, apiKey = key) => new AssemblyAI({ apiKey, baseUrl }).transcripts

const speech = (text = "speech: hello world") => new TextEncoder().encode(text)

const ask = <A>(call: () => Promise<A>) => Effect.tryPromise({ try: call, catch: (error) => error })

const fast = { pollingInterval: 5 }

describe("the double, called by AssemblyAI's SDK", () => {
  it.live("uploads, transcribes and deletes, with words, speakers and the language", () =>
    Effect.gen(function* () {
      const { transcripts: stored, uploads, url } = yield* double
      const transcripts = client(url)
      const transcript = yield* ask(() =>
        transcripts.transcribe(
          { audio: speech(), speech_models: ["universal-3-5-pro"], language_detection: true, speaker_labels: true },
          fast
        )
      )
      assert.deepStrictEqual(
        [transcript.status, transcript.text, transcript.language_code, transcript.audio_duration],
        ["completed", "hello world", "en", 2]
      )
      assert.deepStrictEqual(
        transcript.words?.map(({ end, speaker, start, text }) => [text, start, end, speaker]),
        [
          ["hello", 0, 500, "A"],
          ["world", 1000, 1500, "B"]
        ]
      )
      assert.strictEqual(transcript.utterances?.length, 2)
      assert.deepStrictEqual([stored.size, uploads.size], [1, 1])
      yield* ask(() => transcripts.delete(transcript.id))
      assert.deepStrictEqual([stored.size, uploads.size], [0, 0])
      assert.match(String(yield* Effect.flip(ask(() => transcripts.get(transcript.id)))), /Not found/)
    })
  )

  it.live("ends with an error, rejects what the documentation says is rejected, and fails as scripted", () =>
    Effect.gen(function* () {
      const { fail, next, url } = yield* double
      const run = (audio = speech(), at = client(url), more: object = {}) =>
        ask(() => at.transcribe({ audio, speech_models: ["universal-2"], ...more }, fast))
      const noise = yield* run(speech("noise"))
      assert.deepStrictEqual([noise.status, noise.error], ["error", failedTranscripts.noAudio])
      fail(failedTranscripts.server)
      assert.strictEqual((yield* run()).error, failedTranscripts.server)
      const messageOf = (error: unknown) => (error instanceof Error ? error.message : error)
      assert.match(String(messageOf(yield* Effect.flip(run(speech(), client(url, "another"))))), /Authentication error/)
      assert.match(
        String(messageOf(yield* Effect.flip(run(speech(), client(url), { speech_models: ["x"] })))),
        /speech_models/
      )
      assert.match(
        String(messageOf(yield* Effect.flip(run(speech(), client(url), { temperature: 0.5 })))),
        /temperature/
      )
      for (const scripted of Object.values(documentedErrors)) {
        next(scripted)
        const said = String(messageOf(yield* Effect.flip(run())))
        const { body } = scripted
        const expected =
          typeof body === "object" && body !== null && "error" in body ? String(body.error) : String(scripted.status)
        assert.include(said, expected)
      }
    })
  )
})
