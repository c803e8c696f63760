import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, type Schema } from "effect"
import type { Upstream } from "@model-gateway/offers/Adapter"
import * as ElevenLabs from "../src/ElevenLabs.ts"
import { recorded } from "@model-gateway/test-doubles/recorded"
import type { Double, Scripted } from "@model-gateway/test-doubles/Double"
import { documentedErrors, startElevenLabsDouble } from "@model-gateway/test-doubles/ElevenLabsDouble"
import { fieldsOf } from "@model-gateway/test-doubles/OpenAiDouble"
import { offersOf, services, speaking, started, told } from "./support/transcription.ts"

const key = "elevenlabs-secret-0123456789"

const { provide } = Effect

const elevenLabs = (upstream: Partial<Upstream> = {}) =>
  Effect.gen(function* () {
    const double = yield* started(() => startElevenLabsDouble({ keys: [key] }))
    const offers = yield* offersOf(ElevenLabs.adapter, { baseUrl: double.url, ...upstream }, key)
    const [scribe = assert.fail("no offer")] = offers
    return { double, scribe }
  })

const failing = (scripted: Scripted, upstream: Partial<Upstream> = {}) =>
  Effect.gen(function* () {
    const { double, scribe } = yield* elevenLabs(upstream)
    double.next(scripted)
    return (yield* Effect.flip(scribe.run(speaking("hello")))).reason
  })

const pairs = ({ state }: Double) => {
  const request = state.requests.at(-1)
  const fields = (request === undefined ? undefined : fieldsOf(request)) ?? assert.fail("no form was sent")
  return fields.map(({ name, value }) => [name, value])
}

describe("ElevenLabs", () => {
  it.live("sends a form with its length, and the key in its own header", () =>
    Effect.gen(function* () {
      const { double, scribe } = yield* elevenLabs()
      yield* scribe.run(
        speaking("hello world", {
          language: "de",
          temperature: 0.25,
          options: { keyterms: ["Ünal", "green tea"], tag_audio_events: true, enable_logging: false, num_speakers: 2 }
        })
      )
      assert.deepStrictEqual(pairs(double), [
        ["model_id", "scribe_v2"],
        ["language_code", "de"],
        ["temperature", "0.25"],
        ["timestamps_granularity", "none"],
        ["keyterms", "Ünal"],
        ["keyterms", "green tea"],
        ["tag_audio_events", "true"],
        ["num_speakers", "2"],
        ["file", "speech: hello world"]
      ])
      const [{ bytes, headers, method, url } = assert.fail("no request")] = double.state.requests
      assert.deepStrictEqual([method, url], ["POST", "/v1/speech-to-text?enable_logging=false"])
      assert.deepStrictEqual([headers["xi-api-key"], headers["authorization"]], [key, undefined])
      assert.strictEqual(headers["content-length"], String(bytes.length))
      assert.isUndefined(headers["transfer-encoding"])
    }).pipe(provide(services))
  )

  it.live("maps words, sentences and speakers, which are numbered from 0", () =>
    Effect.gen(function* () {
      const { double, scribe } = yield* elevenLabs()
      const request = speaking("Hello there. Bye", {
        timestamp_granularities: ["word", "segment"],
        options: { diarize: true }
      })
      const { answer, charge } = yield* scribe.run(request)
      assert.deepStrictEqual(answer, {
        text: "Hello there. Bye",
        language: "eng",
        duration: 3,
        segments: [
          { id: 0, start: 0, end: 0.5, text: "Hello", speaker: 0 },
          { id: 1, start: 1, end: 1.5, text: "there.", speaker: 1 },
          { id: 2, start: 2, end: 2.5, text: "Bye", speaker: 0 }
        ],
        words: [
          { word: "Hello", start: 0, end: 0.5, speaker: 0 },
          { word: "there.", start: 1, end: 1.5, speaker: 1 },
          { word: "Bye", start: 2, end: 2.5, speaker: 0 }
        ]
      })
      assert.deepStrictEqual<unknown>(charge, { cost: 300, usage: { seconds: 3 } })
      const alone = yield* scribe.run(speaking("Hello there. Bye", { timestamp_granularities: ["segment"] }))
      assert.deepStrictEqual(alone.answer.segments, [
        { id: 0, start: 0, end: 1.5, text: "Hello there." },
        { id: 1, start: 2, end: 2.5, text: "Bye" }
      ])
      assert.notProperty(alone.answer, "words")
      const plain = yield* scribe.run(speaking("hello"))
      assert.deepStrictEqual(plain.answer, { text: "hello", language: "eng", duration: 1, segments: [] })
      // Roles in place of numbers, and a sound.
      const word = (text: string, speaker_id: string, start?: number) => ({
        text,
        type: "word",
        start,
        end: start,
        speaker_id
      })
      const sound = { text: "(laughter)", type: "audio_event", start: 2, end: 3, speaker_id: "agent" }
      double.next({
        body: { text: "x", words: [word("Hi", "agent", 1), sound, word("Yes", "customer"), null, { text: 1 }] }
      })
      const roles = (yield* scribe.run(request)).answer
      assert.deepStrictEqual(roles.words, [{ word: "Hi", start: 1, end: 1, speaker: 0 }])
      assert.deepStrictEqual(roles.segments, [{ id: 0, start: 1, end: 3, text: "Hi(laughter)", speaker: 0 }])
    }).pipe(provide(services))
  )

  it.live("never quotes less than it charges, and refuses options whose price is not known", () =>
    Effect.gen(function* () {
      const { double, scribe } = yield* elevenLabs()
      const asked = (options: Schema.JsonObject) => speaking("one two three four", { options })
      const many = Array.from({ length: 101 }, (_, at) => `term ${at}`)
      const charged: ReadonlyArray<readonly [Schema.JsonObject, number]> = [
        [{}, 400],
        [{ keyterms: ["tea"] }, 480],
        [{ detect_speaker_roles: true, diarize: true }, 440],
        [{ detect_speaker_roles: false, keyterms: null }, 400],
        // Without a value the field is not sent.
        [{ keyterms: [] }, 400],
        [{ keyterms: ["tea"], detect_speaker_roles: true }, 520],
        // 20 seconds at least.
        [{ keyterms: many }, 2400]
      ]
      for (const [options, cost] of charged) {
        const { charge } = yield* scribe.run(asked(options))
        assert.deepStrictEqual<unknown>([options, charge.cost], [options, cost])
        assert.isAtLeast(scribe.offer.quote(asked(options)), cost)
      }
      assert.strictEqual(scribe.offer.quote(asked({ "keyterms[]": many })), 2400)
      const sent = double.state.requests.length
      const refused = yield* Effect.forEach(
        [
          { entity_detection: "all" },
          { transcript_edit: "shorten it" },
          { use_multi_channel: true },
          { file_format: "pcm_s16le_16" },
          { webhook: true },
          { source_url: "https://example.com/a.mp3" }
        ],
        (options) => Effect.map(Effect.flip(scribe.run(asked(options))), ({ reason }) => told(reason))
      )
      assert.deepStrictEqual(refused, [
        "InvalidRequest: provider.options.elevenlabs.entity_detection: it is billed apart and has no price here",
        "InvalidRequest: provider.options.elevenlabs.transcript_edit: it is billed apart and has no price here",
        "InvalidRequest: provider.options.elevenlabs.use_multi_channel: changes the price, so it cannot be passed on",
        "InvalidRequest: provider.options.elevenlabs.file_format: changes the price, so it cannot be passed on",
        "InvalidRequest: provider.options.elevenlabs.webhook: says where results are sent, so it cannot be passed on",
        "InvalidRequest: provider.options.elevenlabs.source_url: repeats what a field of the request says, so it cannot be passed on"
      ])
      assert.lengthOf(double.state.requests, sent)
    }).pipe(provide(services))
  )

  it.live("maps every documented failure, an empty account too", () =>
    Effect.gen(function* () {
      const expected: Readonly<Record<keyof typeof documentedErrors, string>> = {
        invalidKey: "Unauthorized: the provider rejected its credentials",
        noCredit: "OutOfCredit: the account at the provider is out of credit",
        noPermission: "Unauthorized: the provider rejected its credentials",
        noModel: "UnknownModel: unknown model scribe_v2",
        noAudio: "InvalidRequest: The file is not audio, or cannot be read.",
        tooLarge: "InputTooLarge: The file exceeds the maximum size.",
        validation: "InvalidRequest: temperature: Input should be less than or equal to 2",
        concurrency: "RateLimited: the provider's rate limit is exceeded",
        busy: "Overloaded: the provider is overloaded",
        server: "BadResponse: status 500"
      }
      const actual = yield* Effect.forEach(Object.entries(documentedErrors), ([name, scripted]) =>
        Effect.map(failing(scripted), (reason) => [name, told(reason)] as const)
      )
      assert.deepStrictEqual<unknown>(Object.fromEntries(actual), expected)
      for (const scripted of [documentedErrors.concurrency, documentedErrors.busy]) {
        const reason = yield* failing({ ...scripted, headers: { "retry-after": "3" } })
        assert.deepStrictEqual("retryAfter" in reason && reason.retryAfter, Duration.seconds(3))
      }
    }).pipe(provide(services))
  )

  it.live("reports broken answers and connections", () =>
    Effect.gen(function* () {
      const failures = [
        yield* failing({ fault: "cut" }),
        yield* failing({ fault: "cutBody" }),
        yield* failing({ fault: "hang" }, { timeLimit: Duration.millis(100) }),
        yield* failing({ headers: { "content-type": "text/html" }, body: "<html>busy</html>" }),
        // With a webhook, ElevenLabs would only say that it took the request.
        yield* failing({ body: { message: "Request processed", request_id: "a" } }),
        yield* failing({ body: { text: "x", audio_duration_secs: -1 } })
      ]
      assert.deepStrictEqual(failures.map(told), [
        "ConnectionLost: the connection to the provider was lost before its answer was complete",
        "ConnectionLost: the connection to the provider was lost before its answer was complete",
        "Timeout: the provider did not answer in time",
        "BadResponse: not JSON but text/html",
        "BadResponse: JSON of another form at text",
        "BadResponse: JSON of another form at audio_duration_secs"
      ])
    }).pipe(provide(services))
  )

  it.live("tells nobody the key", () =>
    Effect.gen(function* () {
      const text = yield* recorded(
        Effect.gen(function* () {
          const { double, scribe } = yield* elevenLabs()
          yield* scribe.run(speaking("hello"))
          for (const scripted of [
            ...Object.values(documentedErrors),
            { status: 400, body: { detail: `bad ${key}` } }
          ]) {
            double.next(scripted)
            yield* Effect.logError("failed", yield* Effect.flip(scribe.run(speaking("hello"))))
          }
        })
      )
      assert.notInclude(text, key)
    }).pipe(provide(services))
  )
})
