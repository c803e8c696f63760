import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Redacted, Stream } from "effect"
import type { Upstream } from "@model-gateway/offers/Adapter"
import * as Groq from "../src/Groq.ts"
import type { TranscriptionModel } from "@model-gateway/offers/Model"
import * as OpenAi from "../src/OpenAi.ts"
import { ignored, type TranscriptionRequest } from "@model-gateway/offers/Transcription"
import { recorded } from "@model-gateway/test-doubles/recorded"
import type { Double, Scripted } from "@model-gateway/test-doubles/Double"
import {
  documentedErrors,
  fieldsOf,
  type OpenAiOptions,
  startOpenAiDouble
} from "@model-gateway/test-doubles/OpenAiDouble"
import { offersOf, services, speaking, started, told } from "./support/transcription.ts"

const key = "sk-proj-secret-0123456789"

const double = (options: Partial<OpenAiOptions> = {}) => started(() => startOpenAiDouble({ keys: [key], ...options }))

const { provide } = Effect

/** The built-in offers by model, calling a double. */
const openAi = (upstream: Partial<Upstream> = {}) =>
  Effect.gen(function* () {
    const openAi = yield* double()
    const offers = yield* offersOf(OpenAi.adapter, { baseUrl: `${openAi.url}/v1`, ...upstream }, key)
    const [whisper = assert.fail("no offer"), transcribe = assert.fail("no offer")] = offers
    return { openAi, whisper, transcribe }
  })

const failing = (scripted: Scripted, upstream: Partial<Upstream> = {}) =>
  Effect.gen(function* () {
    const { openAi: double, whisper } = yield* openAi(upstream)
    double.next(scripted)
    return (yield* Effect.flip(whisper.run(speaking("hello")))).reason
  })

const sent = ({ state }: Double, at = -1) => {
  const request = state.requests.at(at)
  return (request === undefined ? undefined : fieldsOf(request)) ?? assert.fail("no form was sent")
}

const pairs = (double: Double, at?: number) => sent(double, at).map(({ name, value }) => [name, value])

describe("OpenAi", () => {
  it.live("sends a form with its length, whose fields come before the file", () =>
    Effect.gen(function* () {
      const { openAi: double, whisper } = yield* openAi()
      const request = speaking("hello world", {
        language: "en",
        temperature: 0.2,
        timestamp_granularities: ["segment"],
        options: {
          prompt: "Ümläute",
          language: "de",
          include: ["logprobs", "words"],
          chunking_strategy: { type: "server_vad" }
        }
      })
      yield* whisper.run(request)
      assert.deepStrictEqual(pairs(double), [
        ["model", "whisper-1"],
        ["temperature", "0.2"],
        ["response_format", "verbose_json"],
        ["timestamp_granularities[]", "segment"],
        ["prompt", "Ümläute"],
        ["language", "de"],
        ["include[]", "logprobs"],
        ["include[]", "words"],
        ["chunking_strategy", '{"type":"server_vad"}'],
        ["file", "speech: hello world"]
      ])
      assert.strictEqual(sent(double).at(-1)?.filename, "audio.wav")
      const [{ bytes, headers, method, url } = assert.fail("no request")] = double.state.requests
      assert.deepStrictEqual([method, url], ["POST", "/v1/audio/transcriptions"])
      assert.strictEqual(headers["content-length"], String(bytes.length))
      assert.isUndefined(headers["transfer-encoding"])
      assert.strictEqual(headers["authorization"], `Bearer ${key}`)

      const own = { id: "tenant", secret: Redacted.make("tenant-key") }
      yield* Effect.flip(whisper.run(speaking("hello", { audio: { ...request.audio, format: "m4a" } }), own))
      assert.strictEqual(double.state.requests.at(-1)?.headers["authorization"], "Bearer tenant-key")
      assert.strictEqual(sent(double).at(-1)?.filename, "audio.m4a")
      assert.notStrictEqual(double.state.requests.at(-1)?.headers["content-type"], headers["content-type"])
    }).pipe(provide(services))
  )

  it.live("refuses options whose names cannot be form fields", () =>
    Effect.gen(function* () {
      const { openAi: double, whisper } = yield* openAi()
      const name = 'a"\r\ncontent-type: text/html\r\n\r\n'
      const { reason } = yield* Effect.flip(whisper.run(speaking("hello", { options: { [name]: "1" } })))
      assert.strictEqual(
        told(reason),
        "InvalidRequest: provider.options.openai: Expected names that can be fields of a form"
      )
      assert.deepStrictEqual(double.state.requests, [])
    }).pipe(provide(services))
  )

  it.live("asks for segments too if words are wanted, and maps both", () =>
    Effect.gen(function* () {
      const { openAi: double, whisper } = yield* openAi()
      const { answer } = yield* whisper.run(speaking("hello world", { timestamp_granularities: ["word"] }))
      assert.deepStrictEqual(
        pairs(double).filter(([name]) => name === "timestamp_granularities[]"),
        [
          ["timestamp_granularities[]", "segment"],
          ["timestamp_granularities[]", "word"]
        ]
      )
      assert.deepStrictEqual(answer, {
        text: "hello world",
        language: "english",
        duration: 2,
        segments: [
          {
            id: 0,
            seek: 0,
            start: 0,
            end: 2,
            text: " hello world",
            tokens: [50364, 50414],
            temperature: 0,
            avg_logprob: -0.25,
            compression_ratio: 0.9,
            no_speech_prob: 0.01
          }
        ],
        words: [
          { word: "hello", start: 0, end: 1 },
          { word: "world", start: 1, end: 2 }
        ]
      })
      const plain = yield* whisper.run(speaking("hello world"))
      assert.deepStrictEqual(plain.answer, { text: "hello world", duration: 2, segments: [] })
      assert.deepStrictEqual(pairs(double).slice(1, 3), [
        ["temperature", "0"],
        ["response_format", "json"]
      ])
      yield* whisper.run(speaking("hello world", { options: { temperature: 0.5 } }))
      assert.deepInclude(pairs(double), ["temperature", "0.5"])
    }).pipe(provide(services))
  )

  it.live("reads responses of other servers: null for what they do not know, and fields of their own", () =>
    Effect.gen(function* () {
      const { openAi: double, whisper } = yield* openAi()
      const segments = [{ start: 0, end: 1.5, text: "hi", tokens: null, seek: null, avg_logprob: -1, speaker: "A" }]
      double.next({ body: { text: "hi", language: null, segments, words: null, usage: null, x_groq: { id: "req_1" } } })
      const { answer, charge } = yield* whisper.run(speaking("hi there", { timestamp_granularities: ["word"] }))
      assert.deepStrictEqual(answer, {
        text: "hi",
        duration: 2,
        segments: [{ id: 0, start: 0, end: 1.5, text: "hi", avg_logprob: -1 }]
      })
      assert.deepStrictEqual<unknown>(charge, { cost: 200, usage: { seconds: 2 } })
    }).pipe(provide(services))
  )

  it.live("leaves out segments and words without times, and keeps the rest of an answer that was billed", () =>
    Effect.gen(function* () {
      const { openAi: double, whisper } = yield* openAi()
      const whole = { start: 0, end: 1.5, text: "hi" }
      const segments = [{ end: 1, text: "a" }, { ...whole, start: null }, { ...whole, end: "1.5" }, null, whole]
      const words = [{ word: "a" }, { word: "b", start: 0, end: null }, 1, { word: "hi", start: 0, end: 1 }]
      double.next({ body: { text: "hi", segments, words } })
      const { answer } = yield* whisper.run(speaking("hi", { timestamp_granularities: ["word", "segment"] }))
      assert.deepStrictEqual(answer, {
        text: "hi",
        duration: 1,
        segments: [{ id: 0, ...whole }],
        words: [{ word: "hi", start: 0, end: 1 }]
      })
      for (const languages of [["en"], [{ code: null }], [], "en"]) {
        double.next({ body: { text: "hi", languages } })
        assert.deepStrictEqual((yield* whisper.run(speaking("hi"))).answer, { text: "hi", duration: 1, segments: [] })
      }
    }).pipe(provide(services))
  )

  it.live("sends a model that takes several languages no language and no temperature", () =>
    Effect.gen(function* () {
      const openAi = yield* double()
      const offers = yield* offersOf(OpenAi.adapter, { baseUrl: `${openAi.url}/v1` }, key)
      const gpt = offers.find(({ offer }) => offer.upstreamId === "gpt-transcribe") ?? assert.fail("no offer")
      const request = speaking("hello world", {
        language: "en",
        temperature: 0.5,
        options: { keywords: ["Ünal", "tea"], prompt: "two words" }
      })
      const { answer, charge } = yield* gpt.run(request)
      assert.deepStrictEqual(pairs(openAi), [
        ["model", "gpt-transcribe"],
        ["languages[]", "en"],
        ["response_format", "json"],
        ["keywords[]", "Ünal"],
        ["keywords[]", "tea"],
        ["prompt", "two words"],
        ["file", "speech: hello world"]
      ])
      assert.deepStrictEqual(answer, { text: "hello world", language: "en", duration: 2, segments: [] })
      assert.deepStrictEqual<unknown>(charge, { cost: 150, usage: { seconds: 2 } })
      assert.deepStrictEqual(ignored(request, gpt.offer.capabilities, "openai/gpt-transcribe"), [
        "temperature: openai/gpt-transcribe takes no temperature, so it was ignored."
      ])
      yield* gpt.run(speaking("hello", { language: "en", options: { languages: ["de", "fr"] } }))
      assert.deepStrictEqual(pairs(openAi).slice(1, 4), [
        ["response_format", "json"],
        ["languages[]", "de"],
        ["languages[]", "fr"]
      ])
      openAi.next({ body: { text: "x", languages: [] } })
      assert.notProperty((yield* gpt.run(speaking("hello"))).answer, "language")
    }).pipe(provide(services))
  )

  it.live("charges the seconds or the tokens that OpenAI bills, and never quotes less", () =>
    Effect.gen(function* () {
      const { openAi: double, transcribe, whisper } = yield* openAi()
      const request = speaking("one two three")
      assert.deepStrictEqual<unknown>((yield* whisper.run(request)).charge, { cost: 300, usage: { seconds: 3 } })
      const short = { ...request, audio: { ...request.audio, durationSeconds: 2.2 } }
      assert.strictEqual(Number(whisper.offer.quote(short)), 300)
      assert.isAtLeast(whisper.offer.quote(short), (yield* whisper.run(short)).charge.cost)

      const tokens = yield* transcribe.run(request)
      assert.deepStrictEqual<unknown>(tokens.charge, {
        cost: 30 * 2.5 + 4 * 10,
        usage: { seconds: 3, input_tokens: 30, output_tokens: 4 }
      })
      for (const seconds of [0.1, 3, 60, 1400]) {
        const asked: TranscriptionRequest = {
          ...request,
          audio: { ...request.audio, durationSeconds: seconds },
          options: { prompt: "names: Ünal" }
        }
        // 10 tokens a second, the prompt's bytes, and the most that the model can say.
        const usage = { input_tokens: Math.ceil(seconds * 10) + 12, output_tokens: 2000 }
        double.next({ body: { text: "x", usage: { type: "tokens", ...usage } } })
        const { charge } = yield* transcribe.run(asked)
        assert.isAtLeast(transcribe.offer.quote(asked), charge.cost)
      }
      double.next({ body: { text: "x" } })
      const unbilled = yield* transcribe.run(request)
      assert.strictEqual(unbilled.charge.cost, transcribe.offer.quote(request))
      assert.deepStrictEqual<unknown>(unbilled.charge.usage, { seconds: 3 })
    }).pipe(provide(services))
  )

  it.live("states what each model takes", () =>
    Effect.gen(function* () {
      const { transcribe, whisper } = yield* openAi()
      assert.deepStrictEqual(whisper.offer.capabilities, {
        audio_formats: ["wav", "mp3", "flac", "m4a", "ogg", "webm"],
        verbose: true,
        word_timestamps: true,
        temperature: true,
        max_bytes: 26_210_304,
        max_seconds: undefined
      })
      assert.include(transcribe.offer.capabilities, { verbose: false, word_timestamps: false, max_seconds: 1400 })
    }).pipe(provide(services))
  )

  it.live("does not send a form above the limit, which counts the fields too", () =>
    Effect.gen(function* () {
      const { openAi: double, whisper } = yield* openAi()
      const { reason } = yield* Effect.flip(
        whisper.run(speaking("hello", { options: { prompt: "a".repeat(26_214_400) } }))
      )
      assert.match(told(reason), /^InputTooLarge: openai accepts at most 26214400 bytes with the form, not \d+$/)
      assert.deepStrictEqual(double.state.requests, [])
    }).pipe(provide(services))
  )

  it.live("takes models of a settings file with parameters of their own, and names a wrong one", () =>
    Effect.gen(function* () {
      const { url } = yield* double({ models: { "large-v3": { verbose: true } } })
      const model: TranscriptionModel = {
        kind: "transcription",
        publicId: "local/large-v3",
        upstreamId: "large-v3",
        name: "Whisper",
        pricing: { unit: "second", microCredits: 0 },
        parameters: { audioFormats: ["wav", "aac"], maxBytes: 100_000_000, maxSeconds: 7200, wordTimestamps: false }
      }
      const at = (
        parameters: TranscriptionModel["parameters"],
        pricing: TranscriptionModel["pricing"] = model.pricing
      ) =>
        offersOf(OpenAi.adapter, { name: "local", baseUrl: `${url}/v1` }, key, [
          { ...model, pricing, ...(parameters === undefined ? {} : { parameters }) }
        ])
      const [local = assert.fail("no offer")] = yield* at(model.parameters)
      assert.deepStrictEqual(local.offer.capabilities, {
        audio_formats: ["wav", "aac"],
        verbose: true,
        word_timestamps: false,
        temperature: true,
        max_bytes: 99_995_904,
        max_seconds: 7200
      })
      assert.strictEqual((yield* local.run(speaking("hello"))).answer.text, "hello")
      const wrong = [
        yield* Effect.flip(at({ maxBytes: -1 })),
        yield* Effect.flip(at({ audioFormats: ["midi"] })),
        yield* Effect.flip(at({}, { unit: "token", inputMicroCredits: 1, outputMicroCredits: 1 }))
      ].map(({ message }) => message)
      assert.match(wrong[0] ?? "", /^has invalid parameters: .*maxBytes/s)
      assert.match(wrong[1] ?? "", /^has invalid parameters: .*audioFormats/s)
      assert.strictEqual(wrong[2], "needs parameters.tokensPerSecond for its price per token")
    }).pipe(provide(services))
  )

  it.live("maps failures, and shows messages about the input only", () =>
    Effect.gen(function* () {
      const expected: Readonly<Record<keyof typeof documentedErrors, string>> = {
        invalidKey: "Unauthorized: the provider rejected its credentials",
        noRegion: "Unauthorized: the provider rejected its credentials",
        noModel: "UnknownModel: unknown model whisper-1",
        rateLimit: "RateLimited: the provider's rate limit is exceeded",
        quota: "OutOfCredit: the account at the provider is out of credit",
        server: "BadResponse: status 500",
        overloaded: "Overloaded: the provider is overloaded",
        tooLong:
          "InputTooLarge: audio duration 1830.530612 seconds is longer than 1400 seconds which is the maximum for this model",
        tooShort: "InvalidRequest: Audio file is too short. Minimum audio length is 0.1 seconds.",
        verbose: "InvalidRequest: response_format 'verbose_json' is not compatible with model 'gpt-4o-transcribe'"
      }
      const actual = yield* Effect.forEach(Object.entries(documentedErrors), ([name, scripted]) =>
        Effect.map(failing(scripted), (reason) => [name, told(reason)] as const)
      )
      assert.deepStrictEqual<unknown>(Object.fromEntries(actual), expected)
      for (const code of ["credit_balance_exhausted", "project_spend_limit_exceeded"]) {
        const spent = yield* failing({ status: 429, body: { error: { message: "Limit reached", code } } })
        assert.strictEqual(spent._tag, "OutOfCredit")
      }
      const waiting = yield* failing({ ...documentedErrors.rateLimit, headers: { "retry-after": "7" } })
      assert.deepStrictEqual(waiting._tag === "RateLimited" && waiting.retryAfter, Duration.seconds(7))
    }).pipe(provide(services))
  )

  it.live("reports broken answers and connections", () =>
    Effect.gen(function* () {
      const timeLimit = Duration.millis(100)
      const failures = {
        unreachable: yield* failing({}, { baseUrl: "http://nowhere.invalid" }),
        cut: yield* failing({ fault: "cut" }),
        cutBody: yield* failing({ fault: "cutBody" }),
        silent: yield* failing({ fault: "hang" }, { timeLimit }),
        silentBody: yield* failing({ fault: "hangBody" }, { timeLimit }),
        page: yield* failing({ headers: { "content-type": "text/html" }, body: "<html>busy</html>" }),
        noText: yield* failing({ body: { language: "english" } }),
        wrongBill: yield* failing({ body: { text: "x", usage: { seconds: 1e300 } } })
      }
      assert.deepStrictEqual(
        Object.entries(failures).map(([name, reason]) => `${name}: ${told(reason)}`),
        [
          "unreachable: Unavailable: the provider is not available",
          "cut: ConnectionLost: the connection to the provider was lost before its answer was complete",
          "cutBody: ConnectionLost: the connection to the provider was lost before its answer was complete",
          "silent: Timeout: the provider did not answer in time",
          "silentBody: Timeout: the provider did not answer in time",
          "page: BadResponse: not JSON but text/html",
          "noText: BadResponse: JSON of another form at text",
          "wrongBill: BadResponse: JSON of another form at usage.seconds"
        ]
      )
    }).pipe(provide(services))
  )

  it.live("reads the audio again for each call", () =>
    Effect.gen(function* () {
      const { openAi: double, whisper } = yield* openAi()
      let reads = 0
      const { source, ...audio } = speaking("hello").audio
      const counted = { ...source, stream: Stream.suspend(() => (reads++, source.stream)) }
      const request = speaking("hello", { audio: { ...audio, source: counted } })
      double.next(documentedErrors.server)
      yield* Effect.flip(whisper.run(request))
      yield* whisper.run(request)
      assert.strictEqual(reads, 2)
      assert.deepStrictEqual(pairs(double, 0).at(-1), pairs(double, 1).at(-1))
    }).pipe(provide(services))
  )

  it.live("never reveals the key", () =>
    Effect.gen(function* () {
      const text = yield* recorded(
        Effect.gen(function* () {
          const { openAi: double, whisper } = yield* openAi()
          yield* whisper.run(speaking("hello"))
          for (const scripted of [
            ...Object.values(documentedErrors),
            { status: 400, body: { error: { message: `the key ${key} is wrong` } } },
            { body: { text: 1, key } }
          ]) {
            double.next(scripted)
            yield* Effect.logError("failed", yield* Effect.flip(whisper.run(speaking("hello"))))
          }
        })
      )
      for (const secret of [key, "org-AbCdEfGh12345678", "wxyz"]) assert.notInclude(text, secret)
    }).pipe(provide(services))
  )
})

describe("Groq", () => {
  const groq = Effect.gen(function* () {
    const models = { "whisper-large-v3-turbo": { verbose: true }, "whisper-large-v3": { verbose: true } }
    const groq = yield* double({ path: "/openai/v1/audio/transcriptions", models })
    const [turbo = assert.fail("no offer")] = yield* offersOf(Groq.adapter, { baseUrl: groq.url }, key)
    return { groq, turbo }
  })

  it.live("is called under its own path, and bills ten seconds at least", () =>
    Effect.gen(function* () {
      const { groq: double, turbo } = yield* groq
      const body = { text: "hi", x_groq: { id: "req_1" } }
      double.next({ body }, { body })
      const { answer, charge } = yield* turbo.run(speaking("hi there"))
      assert.strictEqual(answer.text, "hi")
      // 0.04 USD an hour. The caller's `usage` has the length of the audio.
      assert.deepStrictEqual<unknown>(charge, { cost: 112, usage: { seconds: 2, billed_seconds: 10 } })
      const hour = { ...speaking("hi"), audio: { ...speaking("hi").audio, durationSeconds: 3600 } }
      assert.strictEqual(Number((yield* turbo.run(hour)).charge.cost), 40_000)
      for (const request of [speaking("hi"), hour]) assert.isAtLeast(turbo.offer.quote(request), 112)
      assert.strictEqual((yield* turbo.run(speaking("good day"))).answer.text, "good day")
      assert.strictEqual(double.state.requests[0]?.url, "/openai/v1/audio/transcriptions")
    }).pipe(provide(services))
  )

  it.live("has statuses of its own", () =>
    Effect.gen(function* () {
      const { groq: double, turbo } = yield* groq
      const reasons: Array<string> = []
      for (const status of [498, 499, 413, 429, 500, 502]) {
        double.next({ status, body: { error: { message: "Request Entity Too Large", type: "invalid_request_error" } } })
        reasons.push((yield* Effect.flip(turbo.run(speaking("hi")))).reason._tag)
      }
      assert.deepStrictEqual(reasons, [
        "Overloaded",
        "Timeout",
        "InputTooLarge",
        "RateLimited",
        "BadResponse",
        "BadResponse"
      ])
    }).pipe(provide(services))
  )
})
