// The real SDK drives the double, so that the double is known to speak Deepgram's protocol.
import { DeepgramClient, DeepgramError } from "@deepgram/sdk"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { documentedErrors, startDeepgramDouble } from "@model-gateway/test-doubles/DeepgramDouble"
import { started } from "./support/transcription.ts"

const key = "dg-secret-0123456789"

const double = started(() => startDeepgramDouble({ keys: [key] }))

const media = (url: string, apiKey = key) =>
  new DeepgramClient({
    apiKey,
    maxRetries: 0,
    environment: { base: url, production: url, agent: url, agentRest: url }
  }).listen.v1.media

const speech = new TextEncoder().encode("speech: hello world")

const ask = <A>(call: () => PromiseLike<A>) =>
  Effect.tryPromise({ try: async () => await call(), catch: (error) => error })

describe("the double, called by Deepgram's SDK", () => {
  it.live("transcribes, with words, utterances and the language", () =>
    Effect.gen(function* () {
      const { url } = yield* double
      const response = yield* ask(() =>
        media(url).transcribeFile(speech, {
          model: "nova-3",
          smart_format: true,
          utterances: true,
          detect_language: true,
          diarize: true
        })
      )
      if (!("results" in response)) return assert.fail("no results")
      const [channel] = response.results.channels
      const [alternative] = channel?.alternatives ?? []
      assert.deepStrictEqual(
        [alternative?.transcript, channel?.detected_language, response.metadata.duration],
        ["hello world.", "en", 2]
      )
      assert.deepStrictEqual(
        alternative?.words?.map(({ speaker, word }) => [word, speaker]),
        [
          ["hello", 0],
          ["world", 1]
        ]
      )
      assert.strictEqual(response.results.utterances?.length, 2)
    })
  )

  it.live("rejects what the documentation says is rejected, and fails as scripted", () =>
    Effect.gen(function* () {
      const { next, url } = yield* double
      const call = (at = media(url), model = "nova-3", bytes = speech, timeoutInSeconds = 5) =>
        ask(() => at.transcribeFile(bytes, { model }, { timeoutInSeconds }))
      const statusOf = (error: unknown) => (error instanceof DeepgramError ? error.statusCode : error)
      assert.strictEqual(statusOf(yield* Effect.flip(call(media(url, "another")))), 401)
      assert.strictEqual(statusOf(yield* Effect.flip(call(media(url), "nova-99"))), 400)
      assert.strictEqual(statusOf(yield* Effect.flip(call(media(url), "nova-3", new Uint8Array(9)))), 400)
      for (const scripted of Object.values(documentedErrors)) {
        next(scripted)
        assert.strictEqual(statusOf(yield* Effect.flip(call())), scripted.status)
      }
      next({ fault: "hang" })
      const silent = yield* Effect.flip(call(media(url), "nova-3", speech, 0.2))
      assert.match(String(silent), /timeout/i)
    })
  )
})
