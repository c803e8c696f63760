import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, type Schema } from "effect"
import type { Upstream } from "@model-gateway/offers/Adapter"
import * as Deepgram from "../src/Deepgram.ts"
import type { TranscriptionRequest } from "@model-gateway/offers/Transcription"
import { recorded } from "@model-gateway/test-doubles/recorded"
import { documentedErrors, startDeepgramDouble } from "@model-gateway/test-doubles/DeepgramDouble"
import type { Double, Scripted } from "@model-gateway/test-doubles/Double"
import { offersOf, services, speaking, started, told } from "./support/transcription.ts"

const key = "dg-secret-0123456789"

const { provide } = Effect

const deepgram = (upstream: Partial<Upstream> = {}) =>
  Effect.gen(function* () {
    const double = yield* started(() => startDeepgramDouble({ keys: [key] }))
    const [nova = assert.fail("no offer")] = yield* offersOf(
      Deepgram.adapter,
      { baseUrl: `${double.url}/v1`, ...upstream },
      key
    )
    return { double, nova }
  })

const failing = (scripted: Scripted, upstream: Partial<Upstream> = {}) =>
  Effect.gen(function* () {
    const { double, nova } = yield* deepgram(upstream)
    double.next(scripted)
    return (yield* Effect.flip(nova.run(speaking("hello")))).reason
  })

const queryOf = ({ state }: Double) =>
  Object.fromEntries(new URL(state.requests.at(-1)?.url ?? "", "http://localhost").searchParams)

describe("Deepgram", () => {
  it.live("sends the bytes with their type and length, and the key as a token", () =>
    Effect.gen(function* () {
      const { double, nova } = yield* deepgram()
      const request = speaking("hello world")
      yield* nova.run({ ...request, audio: { ...request.audio, format: "mp3" }, temperature: 0.5 })
      const [{ headers, method, text, url } = assert.fail("no request")] = double.state.requests
      assert.deepStrictEqual([method, url.split("?")[0], text], ["POST", "/v1/listen", "speech: hello world"])
      assert.strictEqual(headers["authorization"], `Token ${key}`)
      assert.deepStrictEqual([headers["content-type"], headers["content-length"]], ["audio/mpeg", "19"])
      assert.isUndefined(headers["transfer-encoding"])
      assert.deepStrictEqual(queryOf(double), { model: "nova-3", smart_format: "true", detect_language: "true" })
    }).pipe(provide(services))
  )

  it.live("passes options on, also in place of the language of the request", () =>
    Effect.gen(function* () {
      const { double, nova } = yield* deepgram()
      const options: Schema.JsonObject = {
        language: "fr",
        smart_format: false,
        utt_split: 1.5,
        tag: ["a", "b"],
        search: null
      }
      yield* nova.run(speaking("hello", { language: "de", timestamp_granularities: ["segment"], options }))
      assert.deepStrictEqual(queryOf(double), {
        model: "nova-3",
        utterances: "true",
        language: "fr",
        smart_format: "false",
        utt_split: "1.5",
        tag: "b"
      })
      assert.include(double.state.requests.at(-1)?.url, "tag=a&tag=b")
      yield* nova.run(speaking("hello", { options: { language: "fr" } }))
      assert.deepStrictEqual(queryOf(double), { model: "nova-3", smart_format: "true", language: "fr" })
    }).pipe(provide(services))
  )

  it.live("asks a model that has one language for it, unless the request names another", () =>
    Effect.gen(function* () {
      const double = yield* started(() => startDeepgramDouble({ keys: [key] }))
      const offers = yield* offersOf(Deepgram.adapter, { baseUrl: `${double.url}/v1` }, key)
      const [, medical = assert.fail("no offer"), nova2 = assert.fail("no offer")] = offers
      assert.strictEqual((yield* medical.run(speaking("hello"))).answer.text, "hello.")
      assert.deepStrictEqual(queryOf(double), { model: "nova-3-medical", smart_format: "true", language: "en" })
      yield* medical.run(speaking("hello", { language: "en-GB" }))
      assert.deepInclude(queryOf(double), { language: "en-GB" })
      const refused = yield* Effect.flip(medical.run(speaking("hello", { language: "de" })))
      assert.isTrue(refused.canFallBack)
      assert.strictEqual(
        told(refused.reason),
        "InvalidRequest: language: deepgram/nova-3-medical does not take this language at deepgram"
      )
      yield* nova2.run(speaking("hello"))
      assert.deepStrictEqual(queryOf(double), { model: "nova-2", smart_format: "true", detect_language: "true" })
    }).pipe(provide(services))
  )

  it.live("maps utterances to segments, words with their punctuation, and speakers", () =>
    Effect.gen(function* () {
      const { nova } = yield* deepgram()
      const request = speaking("hello world", {
        timestamp_granularities: ["word", "segment"],
        options: { diarize: true }
      })
      const { answer, charge } = yield* nova.run(request)
      assert.deepStrictEqual(answer, {
        text: "hello world.",
        language: "en",
        duration: 2,
        segments: [
          { id: 0, start: 0, end: 0.5, text: "hello", speaker: 0 },
          { id: 1, start: 1, end: 1.5, text: "world.", speaker: 1 }
        ],
        words: [
          { word: "hello", start: 0, end: 0.5, speaker: 0 },
          { word: "world.", start: 1, end: 1.5, speaker: 1 }
        ]
      })
      // 0.0043 USD a minute, and 0.0020 for the speakers.
      assert.deepStrictEqual<unknown>(charge, { cost: 210, usage: { seconds: 2 } })
      const plain = yield* nova.run(speaking("hello world"))
      assert.deepStrictEqual(plain.answer, { text: "hello world.", language: "en", duration: 2, segments: [] })
    }).pipe(provide(services))
  )

  it.live("maps the sentences of paragraphs, or all words, if there are no utterances", () =>
    Effect.gen(function* () {
      const { double, nova } = yield* deepgram()
      const request = speaking("hello", { timestamp_granularities: ["segment"] })
      const segments = (alternative: object) =>
        Effect.gen(function* () {
          const channels = [{ alternatives: [{ transcript: "Hi. You.", ...alternative }] }]
          double.next({ body: { metadata: { duration: 3 }, results: { channels } } })
          return (yield* nova.run(request)).answer.segments
        })
      const sentences = [
        { text: "Hi.", start: 0, end: 1 },
        { text: "You.", start: 1, end: 2 }
      ]
      assert.deepStrictEqual(
        yield* segments({ paragraphs: { paragraphs: [{ sentences, speaker: 1 }] } }),
        sentences.map((sentence, id) => ({ id, ...sentence, speaker: 1 }))
      )
      const words = [
        { word: "hi", start: 0.5, end: 1 },
        { word: "you", start: 1, end: 2 }
      ]
      assert.deepStrictEqual(yield* segments({ words }), [{ id: 0, start: 0.5, end: 2, text: "Hi. You." }])
      assert.deepStrictEqual(yield* segments({ words: [] }), [])
    }).pipe(provide(services))
  )

  it.live("never quotes less than it charges, and refuses options whose price is not known", () =>
    Effect.gen(function* () {
      const { double, nova } = yield* deepgram()
      const asked = (options: Schema.JsonObject): TranscriptionRequest => speaking("one two three four", { options })
      const charged: ReadonlyArray<readonly [Schema.JsonObject, number]> = [
        [{}, 287],
        [{ diarize: true }, 420],
        [{ diarize: "false", redact: null }, 287],
        // However it is written.
        [{ "Diarize[]": ["false", true] }, 420],
        [{ language: ["en", "Multi"] }, 347],
        [{ language: "multi" }, 347],
        [{ language: "multi", diarize: true }, 480],
        // Each of both turns the same diarization on.
        [{ diarize_model: "latest" }, 420],
        [{ diarize: true, diarize_model: "v2" }, 420],
        [{ mip_opt_out: false }, 287]
      ]
      for (const [options, cost] of charged) {
        const { charge } = yield* nova.run(asked(options))
        assert.deepStrictEqual<unknown>([options, charge.cost], [options, cost])
        assert.isAtLeast(nova.offer.quote(asked(options)), cost)
        assert.isAtLeast(
          nova.offer.quote({ ...asked(options), audio: { ...asked(options).audio, durationSeconds: 3.1 } }),
          cost
        )
      }
      const sent = double.state.requests.length
      const refused = yield* Effect.forEach(
        [
          { redact: ["pci"] },
          { summarize: "v2" },
          { mip_opt_out: true },
          { multichannel: true },
          { sample_rate: 8000 }
        ],
        (options) => Effect.map(Effect.flip(nova.run(asked(options))), ({ reason }) => told(reason))
      )
      assert.deepStrictEqual(refused, [
        "InvalidRequest: provider.options.deepgram.redact: it is billed apart and has no price here",
        "InvalidRequest: provider.options.deepgram.summarize: it is billed apart and has no price here",
        "InvalidRequest: provider.options.deepgram.mip_opt_out: it is billed apart and has no price here",
        "InvalidRequest: provider.options.deepgram.multichannel: changes the price, so it cannot be passed on",
        "InvalidRequest: provider.options.deepgram.sample_rate: changes the price, so it cannot be passed on"
      ])
      assert.lengthOf(double.state.requests, sent)
    }).pipe(provide(services))
  )

  it.live("maps every documented failure", () =>
    Effect.gen(function* () {
      const expected: Readonly<Record<keyof typeof documentedErrors, string>> = {
        corrupt: "InvalidRequest: Bad Request: failed to process audio: corrupt or unsupported data",
        noModel: "UnknownModel: unknown model nova-3",
        invalidKey: "Unauthorized: the provider rejected its credentials",
        noCredit: "OutOfCredit: the account at the provider is out of credit",
        noPermission: "Unauthorized: the provider rejected its credentials",
        slowUpload: "Timeout: the provider did not answer in time",
        tooLarge: "InputTooLarge: Payload Too Large",
        rateLimit: "RateLimited: the provider's rate limit is exceeded",
        server: "BadResponse: status 500",
        timeout: "Timeout: the provider did not answer in time"
      }
      const actual = yield* Effect.forEach(Object.entries(documentedErrors), ([name, scripted]) =>
        Effect.map(failing(scripted), (reason) => [name, told(reason)] as const)
      )
      assert.deepStrictEqual<unknown>(Object.fromEntries(actual), expected)
      const waiting = yield* failing({ ...documentedErrors.rateLimit, headers: { "retry-after": "3" } })
      assert.deepStrictEqual(waiting._tag === "RateLimited" && waiting.retryAfter, Duration.seconds(3))
    }).pipe(provide(services))
  )

  it.live("lets another provider try a language that the model does not have, and blames no model for it", () =>
    Effect.gen(function* () {
      const { double, nova } = yield* deepgram()
      const refusals: Array<unknown> = []
      for (const request of [
        speaking("hello", { language: "xx" }),
        speaking("hello", { options: { language: "xx" } }),
        speaking("hello")
      ]) {
        double.next(documentedErrors.noModel)
        const error = yield* Effect.flip(nova.run(request))
        const { reason } = error
        refusals.push([told(reason), "issues" in reason ? reason.issues : [], error.canFallBack])
      }
      const message = "deepgram/nova-3 does not take this language at deepgram"
      assert.deepStrictEqual(refusals, [
        [`InvalidRequest: language: ${message}`, [{ path: "language", message }], true],
        [
          `InvalidRequest: provider.options.deepgram.language: ${message}`,
          [{ path: "provider.options.deepgram.language", message }],
          true
        ],
        ["UnknownModel: unknown model nova-3", [], true]
      ])
    }).pipe(provide(services))
  )

  it.live("leaves out words and utterances without times, and keeps the rest of an answer that was billed", () =>
    Effect.gen(function* () {
      const { double, nova } = yield* deepgram()
      const request = speaking("hello", { timestamp_granularities: ["word", "segment"] })
      const answered = (results: object) => {
        double.next({ body: { metadata: { duration: 3 }, results } })
        return Effect.map(nova.run(request), ({ answer }) => answer)
      }
      const words = [{ word: "hi", end: 1 }, { word: "so", start: 0, end: 1, speaker: "A" }, null, { start: 1, end: 2 }]
      const whole = { word: "you", start: 1, end: 2 }
      const alternatives = [{ transcript: "Hi. You.", words: [...words, whole] }]
      const utterances = [{ transcript: "Hi.", end: 1 }, { transcript: "You.", start: 1, end: 2 }, 3]
      assert.deepStrictEqual(yield* answered({ channels: [{ alternatives }], utterances }), {
        text: "Hi. You.",
        duration: 3,
        segments: [{ id: 0, start: 1, end: 2, text: "You." }],
        words: [whole]
      })
      const sentences = [
        { text: "Hi.", end: 1 },
        { text: "You.", start: 1, end: 2 }
      ]
      const paragraphs = { paragraphs: [{ sentences: "none" }, { sentences }] }
      const { segments } = yield* answered({ channels: [{ alternatives: [{ transcript: "Hi. You.", paragraphs }] }] })
      assert.deepStrictEqual(segments, [{ id: 0, start: 1, end: 2, text: "You." }])
      const none = { words: null, paragraphs: null, languages: null }
      assert.deepStrictEqual(
        yield* answered({
          channels: [{ alternatives: [{ transcript: "", ...none }], detected_language: null }],
          utterances: null
        }),
        { text: "", duration: 3, segments: [], words: [] }
      )
    }).pipe(provide(services))
  )

  it.live("counts the length of the audio, and what Deepgram billed if it measures another one", () =>
    Effect.gen(function* () {
      const { double, nova } = yield* deepgram()
      double.next({
        body: { metadata: { duration: 4 }, results: { channels: [{ alternatives: [{ transcript: "x" }] }] } }
      })
      const { charge } = yield* nova.run(speaking("one two three"))
      assert.deepStrictEqual<unknown>(charge, { cost: 287, usage: { seconds: 3, billed_seconds: 4 } })
    }).pipe(provide(services))
  )

  it.live("shows what Deepgram says of the input, whatever words it has, and nothing of the account", () =>
    Effect.gen(function* () {
      const said = (err_msg: string, err_code = "Bad Request") =>
        Effect.map(failing({ status: 400, body: { err_code, err_msg } }), told)
      const harmless = "Bad Request: search: 'credits and quota' is not a valid term"
      assert.strictEqual(yield* said(harmless), `InvalidRequest: ${harmless}`)
      const neutral = "InvalidRequest: the provider rejected the request as invalid"
      assert.strictEqual(yield* said("Your project is out of credits"), neutral)
      assert.strictEqual(yield* said("no tea", "QUOTA_EXCEEDED"), neutral)
    }).pipe(provide(services))
  )

  it.live("reports broken answers and connections", () =>
    Effect.gen(function* () {
      const timeLimit = Duration.millis(100)
      const failures = [
        yield* failing({ fault: "cut" }),
        yield* failing({ fault: "cutBody" }),
        yield* failing({ fault: "hang" }, { timeLimit }),
        yield* failing({ headers: { "content-type": "text/plain" }, body: "ok" }),
        // With a callback, Deepgram would only say that it took the request.
        yield* failing({ body: { request_id: "a" } }),
        yield* failing({ body: { metadata: { duration: 1 }, results: { channels: [] } } }),
        yield* failing({ body: { metadata: { duration: -1 } } })
      ]
      assert.deepStrictEqual(failures.map(told), [
        "ConnectionLost: the connection to the provider was lost before its answer was complete",
        "ConnectionLost: the connection to the provider was lost before its answer was complete",
        "Timeout: the provider did not answer in time",
        "BadResponse: not JSON but text/plain",
        "BadResponse: JSON of another form at metadata",
        "BadResponse: JSON of another form at results.channels.0",
        "BadResponse: JSON of another form at metadata.duration"
      ])
    }).pipe(provide(services))
  )

  it.live("never reveals the key", () =>
    Effect.gen(function* () {
      const text = yield* recorded(
        Effect.gen(function* () {
          const { double, nova } = yield* deepgram()
          yield* nova.run(speaking("hello"))
          for (const scripted of [
            ...Object.values(documentedErrors),
            { status: 400, body: { err_msg: `bad ${key}` } }
          ]) {
            double.next(scripted)
            yield* Effect.logError("failed", yield* Effect.flip(nova.run(speaking("hello"))))
          }
        })
      )
      assert.notInclude(text, key)
    }).pipe(provide(services))
  )
})
