// The real SDK drives the double, so that the double is known to speak Mistral's protocol.
import { assert, describe, it } from "@effect/vitest"
import { Mistral } from "@mistralai/mistralai"
import { MistralError } from "@mistralai/mistralai/models/errors"
import { Effect } from "effect"
import { documentedErrors, startMistralDouble } from "@model-gateway/test-doubles/MistralDouble"
import { started } from "./support/transcription.ts"

const key = "mistral-secret-0123456789"

const double = started(() => startMistralDouble({ keys: [key] }))

const client = (serverURL: string, apiKey = key) =>
  new Mistral({ apiKey, serverURL, retryConfig: { strategy: "none" }, timeoutMs: 2000 }).audio.transcriptions

const file = (text = "speech: hello world") => ({ fileName: "hello.wav", content: new TextEncoder().encode(text) })

const ask = <A>(call: () => PromiseLike<A>) =>
  Effect.tryPromise({ try: async () => await call(), catch: (error) => error })

describe("the double, called by Mistral's SDK", () => {
  it.live("transcribes, with segments, speakers and the seconds that are billed", () =>
    Effect.gen(function* () {
      const transcriptions = client((yield* double).url)
      const response = yield* ask(() =>
        transcriptions.complete({
          model: "voxtral-mini-transcribe-3-0",
          file: file(),
          diarize: true,
          contextBias: ["Ünal", "tea"],
          timestampGranularities: ["segment"]
        })
      )
      assert.deepStrictEqual(
        [response.text, response.language, response.usage.promptAudioSeconds],
        [" hello world", "en", 2]
      )
      assert.deepStrictEqual(
        response.segments?.map(({ end, speakerId, start, text }) => [text, start, end, speakerId]),
        [
          [" hello", 0, 0.5, "speaker_1"],
          [" world", 1, 1.5, "speaker_2"]
        ]
      )
      const plain = yield* ask(() =>
        transcriptions.complete({ model: "voxtral-mini-2602", file: file(), language: "de" })
      )
      assert.deepStrictEqual([plain.language, plain.segments], ["de", []])
    })
  )

  it.live("rejects what the documentation says is rejected, and fails as scripted", () =>
    Effect.gen(function* () {
      const { next, url } = yield* double
      const model = "voxtral-mini-transcribe-3-0"
      const statusOf = (error: unknown) => (error instanceof MistralError ? error.statusCode : error)
      const rejected: ReadonlyArray<readonly [Parameters<ReturnType<typeof client>["complete"]>[0], number, string?]> =
        [
          [{ model, file: file() }, 401, "another"],
          [{ model: "voxtral-99", file: file() }, 400],
          [{ model, file: file("noise") }, 400],
          [{ model, file: file(), temperature: 2 }, 422],
          [{ model, file: file(), timestampGranularities: ["word"] }, 400],
          [{ model: "voxtral-mini-2602", file: file(), language: "de", timestampGranularities: ["segment"] }, 400]
        ]
      for (const [request, status, apiKey] of rejected) {
        assert.strictEqual(statusOf(yield* Effect.flip(ask(() => client(url, apiKey).complete(request)))), status)
      }
      for (const scripted of Object.values(documentedErrors)) {
        next(scripted)
        assert.strictEqual(
          statusOf(yield* Effect.flip(ask(() => client(url).complete({ model, file: file() })))),
          scripted.status
        )
      }
    })
  )
})
