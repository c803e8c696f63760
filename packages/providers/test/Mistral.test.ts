import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import type { Upstream } from "@model-gateway/offers/Adapter"
import * as Mistral from "../src/Mistral.ts"
import { recorded } from "@model-gateway/test-doubles/recorded"
import type { Double, Scripted } from "@model-gateway/test-doubles/Double"
import { documentedErrors, startMistralDouble } from "@model-gateway/test-doubles/MistralDouble"
import { fieldsOf } from "@model-gateway/test-doubles/OpenAiDouble"
import { offersOf, services, speaking, started, told } from "./support/transcription.ts"

const key = "mistral-secret-0123456789"

const { provide } = Effect

/** The built-in offers, calling a double. */
const mistral = (upstream: Partial<Upstream> = {}) =>
  Effect.gen(function* () {
    const double = yield* started(() => startMistralDouble({ keys: [key] }))
    const offers = yield* offersOf(Mistral.adapter, { baseUrl: `${double.url}/v1`, ...upstream }, key)
    const of = (upstreamId: string) =>
      offers.find(({ offer }) => offer.upstreamId === upstreamId) ?? assert.fail("no offer")
    return { double, mini: of("voxtral-mini-transcribe-3-0"), old: of("voxtral-mini-2602") }
  })

const failing = (scripted: Scripted, upstream: Partial<Upstream> = {}) =>
  Effect.gen(function* () {
    const { double, mini } = yield* mistral(upstream)
    double.next(scripted)
    return (yield* Effect.flip(mini.run(speaking("hello")))).reason
  })

const pairs = ({ state }: Double) => {
  const request = state.requests.at(-1)
  const fields = (request === undefined ? undefined : fieldsOf(request)) ?? assert.fail("no form was sent")
  return fields.map(({ name, value }) => [name, value])
}

describe("Mistral", () => {
  it.live("sends a form, and repeats the field of a list", () =>
    Effect.gen(function* () {
      const { double, mini } = yield* mistral()
      yield* mini.run(
        speaking("hello world", {
          language: "de",
          temperature: 0.25,
          options: { context_bias: ["Ünal", "tea"], diarize: true, stream_delay: null }
        })
      )
      assert.deepStrictEqual(pairs(double), [
        ["model", "voxtral-mini-transcribe-3-0"],
        ["language", "de"],
        ["temperature", "0.25"],
        ["context_bias", "Ünal"],
        ["context_bias", "tea"],
        ["diarize", "true"],
        ["file", "speech: hello world"]
      ])
      const [{ bytes, headers, method, url } = assert.fail("no request")] = double.state.requests
      assert.deepStrictEqual([method, url], ["POST", "/v1/audio/transcriptions"])
      assert.strictEqual(headers["authorization"], `Bearer ${key}`)
      assert.strictEqual(headers["content-length"], String(bytes.length))
    }).pipe(provide(services))
  )

  it.live("maps segments and numbers speakers from 0, and charges the seconds that Mistral counts", () =>
    Effect.gen(function* () {
      const { double, mini } = yield* mistral()
      const request = speaking("hello big world", {
        timestamp_granularities: ["word", "segment"],
        options: { diarize: true }
      })
      const { answer, charge } = yield* mini.run(request)
      assert.deepStrictEqual(answer, {
        text: "hello big world",
        language: "en",
        duration: 3,
        segments: [
          { id: 0, start: 0, end: 0.5, text: "hello", speaker: 0 },
          { id: 1, start: 1, end: 1.5, text: "big", speaker: 1 },
          { id: 2, start: 2, end: 2.5, text: "world", speaker: 0 }
        ]
      })
      // 0.0035 USD a minute.
      assert.deepStrictEqual<unknown>(charge, { cost: 175, usage: { seconds: 3 } })
      const short = { ...request, audio: { ...request.audio, durationSeconds: 2.2 } }
      const billed = yield* mini.run(short)
      assert.deepStrictEqual<unknown>(billed.charge, { cost: 175, usage: { seconds: 2.2, billed_seconds: 3 } })
      assert.isAtLeast(mini.offer.quote(short), 175)
      const plain = yield* mini.run(speaking("hello"))
      assert.deepStrictEqual(plain.answer, { text: "hello", language: "en", duration: 1, segments: [] })
      double.next({ body: { text: "x", language: null, segments: null, usage: null } })
      const least = yield* mini.run(speaking("hello"))
      assert.deepStrictEqual(least.answer, { text: "x", duration: 1, segments: [] })
      assert.deepStrictEqual<unknown>(least.charge, { cost: 59, usage: { seconds: 1 } })
    }).pipe(provide(services))
  )

  it.live("leaves out segments without times, and keeps the rest of an answer that was billed", () =>
    Effect.gen(function* () {
      const { double, mini } = yield* mistral()
      const whole = { start: 0, end: 1, text: "hi", speaker_id: null }
      double.next({ body: { text: "hi", segments: [{ ...whole, start: null }, 1, whole] } })
      const { answer } = yield* mini.run(speaking("hi", { timestamp_granularities: ["segment"] }))
      assert.deepStrictEqual(answer.segments, [{ id: 0, start: 0, end: 1, text: "hi" }])
    }).pipe(provide(services))
  )

  it.live("leaves the language out where times are asked for, and says so", () =>
    Effect.gen(function* () {
      const { double, old } = yield* mistral()
      const timed = speaking("hello", { language: "de", timestamp_granularities: ["segment"] })
      yield* old.run(timed)
      assert.notInclude(
        pairs(double).map(([name]) => name),
        "language"
      )
      assert.deepStrictEqual(old.offer.ignored?.(timed), [
        "language: mistral/voxtral-mini-2602 takes no language together with times, so it was ignored."
      ])
      const plain = speaking("hello", { language: "de" })
      assert.deepStrictEqual(old.offer.ignored?.(plain), [])
      assert.strictEqual((yield* old.run(plain)).answer.language, "de")
      const [both = assert.fail("no offer")] = yield* offersOf(Mistral.adapter, { baseUrl: `${double.url}/v1` }, key, [
        {
          kind: "transcription",
          publicId: "a/both",
          upstreamId: "voxtral-small-transcribe-3",
          name: "Both",
          pricing: { unit: "second", microCredits: 1 },
          parameters: { languageWithTimes: true }
        }
      ])
      yield* both.run(timed)
      assert.deepInclude(pairs(double), ["language", "de"])
      assert.deepStrictEqual(both.offer.ignored?.(timed), [])
    }).pipe(provide(services))
  )

  it.live("refuses other audio than that of the request", () =>
    Effect.gen(function* () {
      const { double, mini } = yield* mistral()
      for (const name of ["file_url", "file_id", "timestamp_granularities", "speaker_references", "stream"]) {
        const { reason } = yield* Effect.flip(mini.run(speaking("hello", { options: { [name]: "x" } })))
        assert.match(told(reason), new RegExp(`^InvalidRequest: provider\\.options\\.mistral\\.${name}: `))
      }
      assert.deepStrictEqual(double.state.requests, [])
    }).pipe(provide(services))
  )

  it.live("maps every documented failure", () =>
    Effect.gen(function* () {
      const expected: Readonly<Record<keyof typeof documentedErrors, string>> = {
        invalidKey: "Unauthorized: the provider rejected its credentials",
        noPermission: "Unauthorized: the provider rejected its credentials",
        noModel: "UnknownModel: unknown model voxtral-mini-transcribe-3-0",
        tooLong: "InputTooLarge: The audio exceeds the context window of 65536 tokens",
        noAudio: "InvalidRequest: Audio input could not be decoded",
        validation: "InvalidRequest: temperature: Input should be a valid number",
        rateLimit: "RateLimited: the provider's rate limit is exceeded",
        server: "BadResponse: status 500",
        overloaded: "Overloaded: the provider is overloaded",
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

  it.live("reports broken answers and connections", () =>
    Effect.gen(function* () {
      const failures = [
        yield* failing({ fault: "cut" }),
        yield* failing({ fault: "cutBody" }),
        yield* failing({ fault: "hang" }, { timeLimit: Duration.millis(100) }),
        yield* failing({ headers: { "content-type": "text/html" }, body: "<html>busy</html>" }),
        yield* failing({ body: { language: "en" } }),
        yield* failing({ body: { text: "x", usage: { prompt_audio_seconds: 1e300 } } })
      ]
      assert.deepStrictEqual(failures.map(told), [
        "ConnectionLost: the connection to the provider was lost before its answer was complete",
        "ConnectionLost: the connection to the provider was lost before its answer was complete",
        "Timeout: the provider did not answer in time",
        "BadResponse: not JSON but text/html",
        "BadResponse: JSON of another form at text",
        "BadResponse: JSON of another form at usage.prompt_audio_seconds"
      ])
    }).pipe(provide(services))
  )

  it.live("tells nobody the key", () =>
    Effect.gen(function* () {
      const text = yield* recorded(
        Effect.gen(function* () {
          const { double, mini } = yield* mistral()
          yield* mini.run(speaking("hello"))
          for (const scripted of [
            ...Object.values(documentedErrors),
            { status: 400, body: { message: `bad ${key}` } }
          ]) {
            double.next(scripted)
            yield* Effect.logError("failed", yield* Effect.flip(mini.run(speaking("hello"))))
          }
        })
      )
      assert.notInclude(text, key)
    }).pipe(provide(services))
  )
})
