// The real SDK drives the double, so that the double is known to speak OpenAI's protocol.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import OpenAI, { toFile } from "openai"
import { documentedErrors, startOpenAiDouble } from "@model-gateway/test-doubles/OpenAiDouble"
import { started } from "./support/transcription.ts"

const key = "sk-proj-secret-0123456789"

const double = started(() => startOpenAiDouble({ keys: [key] }))

const client = (url: string, apiKey = key) => new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0, timeout: 2000 })

const hello = (name = "hello.wav") => toFile(new TextEncoder().encode("speech: hello world"), name)

const ask = <A>(call: () => Promise<A>) => Effect.tryPromise({ try: call, catch: (error) => error })

describe("the double, called by OpenAI's SDK", () => {
  it.live("transcribes, with times if verbose_json is asked for, and bills seconds or tokens", () =>
    Effect.gen(function* () {
      const { transcriptions } = client((yield* double).url).audio
      const file = yield* ask(() => hello())
      const verbose = yield* ask(() =>
        transcriptions.create({ file, model: "whisper-1", response_format: "verbose_json", temperature: 0.5 })
      )
      assert.deepStrictEqual([verbose.text, verbose.language, verbose.segments?.length], ["hello world", "english", 1])
      const words = yield* ask(() =>
        transcriptions.create({
          file,
          model: "whisper-1",
          response_format: "verbose_json",
          timestamp_granularities: ["word"]
        })
      )
      assert.deepStrictEqual([words.words?.length, words.segments], [2, undefined])
      assert.deepStrictEqual(words.usage, { type: "duration", seconds: 2 })
      const { text, usage } = yield* ask(() =>
        transcriptions.create({ file, model: "gpt-4o-transcribe", language: "en" })
      )
      assert.deepStrictEqual([text, usage?.type === "tokens" && usage.total_tokens], ["hello world", 23])
    })
  )

  it.live("rejects what the documentation says is rejected", () =>
    Effect.gen(function* () {
      const { url } = yield* double
      const { transcriptions } = client(url).audio
      const file = yield* ask(() => hello())
      const nameless = yield* ask(() => hello("hello"))
      const aac = yield* ask(() => hello("hello.aac"))
      const rejected: ReadonlyArray<readonly [() => Promise<unknown>, unknown]> = [
        [
          () => client(url, "another").audio.transcriptions.create({ file, model: "whisper-1" }),
          OpenAI.AuthenticationError
        ],
        [() => transcriptions.create({ file, model: "xyz" }), OpenAI.NotFoundError],
        [() => transcriptions.create({ file: nameless, model: "whisper-1" }), OpenAI.BadRequestError],
        [() => transcriptions.create({ file: aac, model: "whisper-1" }), OpenAI.BadRequestError],
        [() => transcriptions.create({ file, model: "whisper-1", language: "english" }), OpenAI.BadRequestError],
        [
          () => transcriptions.create({ file, model: "gpt-4o-transcribe", response_format: "verbose_json" }),
          OpenAI.BadRequestError
        ]
      ]
      for (const [call, type] of rejected) {
        const error = yield* Effect.flip(ask(call))
        assert.isTrue(typeof type === "function" && error instanceof type, String(error))
      }
    })
  )

  it.live("fails as scripted", () =>
    Effect.gen(function* () {
      const { next, url } = yield* double
      const { transcriptions } = client(url).audio
      const file = yield* ask(() => hello())
      const call = () => transcriptions.create({ file, model: "whisper-1" })
      for (const scripted of Object.values(documentedErrors)) {
        next(scripted)
        const error = yield* Effect.flip(ask(call))
        assert.isTrue(error instanceof OpenAI.APIError && error.status === scripted.status, String(error))
      }
      next(documentedErrors.quota)
      const quota = yield* Effect.flip(ask(call))
      assert.isTrue(quota instanceof OpenAI.RateLimitError && quota.code === "insufficient_quota")
      for (const fault of ["cut", "hang"] as const) {
        next({ fault })
        const error = yield* Effect.flip(
          ask(() => transcriptions.create({ file, model: "whisper-1" }, { timeout: 100 }))
        )
        assert.isTrue(error instanceof OpenAI.APIConnectionError, String(error))
      }
    })
  )
})
