import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import type { Upstream } from "@model-gateway/offers/Adapter"
import * as AudioSource from "@model-gateway/offers/AudioSource"
import type { Model } from "@model-gateway/offers/Model"
import type { Offer } from "@model-gateway/offers/Offer"
import type { TranscriptionRequest } from "@model-gateway/offers/Transcription"
import type { VideoRequest } from "@model-gateway/offers/Video"
import type { Scripted } from "@model-gateway/test-doubles/Double"
import { video } from "@model-gateway/test-doubles/JobDouble"
import { startOpenRouterDouble } from "@model-gateway/test-doubles/OpenRouterDouble"
import { recorded } from "@model-gateway/test-doubles/recorded"
import * as OpenRouter from "../src/OpenRouter.ts"
import { speaking } from "./support/transcription.ts"
import { callsOf, credential, image, key, request, started, told, undici } from "./support/videoJobs.ts"

const { adapter } = OpenRouter

const offersOf = (baseUrl: string, options: Partial<Upstream> = {}, models: ReadonlyArray<Model> = []) =>
  adapter.offers({ name: "openrouter", baseUrl, credential, ...options }, models)

const kindOf = <K extends Offer["kind"]>(offers: ReadonlyArray<Offer>, kind: K, upstreamId?: string) => {
  const found = offers.find((offer) => offer.kind === kind && (upstreamId ?? offer.upstreamId) === offer.upstreamId)
  return found ?? assert.fail(`no offer of ${kind}`)
}

/** The offers of what the double lists. */
const listed = (options: Partial<Upstream> = {}) =>
  Effect.gen(function* () {
    const double = yield* started(startOpenRouterDouble)
    const offers = yield* offersOf(`${double.url}/api/v1`, options)
    const rerank = kindOf(offers, "rerank", "vendor/rerank")
    const transcription = kindOf(offers, "transcription")
    const film = kindOf(offers, "video")
    if (rerank.kind !== "rerank" || transcription.kind !== "transcription" || film.kind !== "video") {
      return assert.fail("not the offers of the list")
    }
    double.state.requests.splice(0)
    return { double, offers, rerank, transcription, film, ...callsOf(film) }
  })

const ranking = { query: "tea", documents: [{ text: "coffee" }, { text: "green tea" }] }

describe("OpenRouter", () => {
  it.live("offers what it lists, at its prices, and asks for models of these kinds alone", () =>
    Effect.gen(function* () {
      const double = yield* started(startOpenRouterDouble)
      const offers = yield* offersOf(`${double.url}/api/v1`)
      assert.deepStrictEqual<unknown>(
        offers.map(({ pricing, publicId }) => [publicId, pricing]),
        [
          ["openrouter/cohere/rerank-4-pro", { unit: "search_unit", microCredits: 2500 }],
          ["openrouter/vendor/rerank", { unit: "token", inputMicroCredits: 50_000, outputMicroCredits: 0 }],
          ["openrouter/openai/whisper-1", { unit: "second", microCredits: 100 }],
          ["openrouter/vendor/video", { unit: "second", microCredits: 200_000 }]
        ]
      )
      assert.deepStrictEqual(
        double.state.requests.map(({ method, url }) => `${method} ${url}`),
        ["GET /api/v1/models?output_modalities=rerank%2Ctranscription%2Cvideo", "GET /api/v1/videos/models"]
      )
    }).pipe(undici)
  )

  it.live("starts without models if it does not list them", () =>
    Effect.gen(function* () {
      const double = yield* started(startOpenRouterDouble)
      const failures: ReadonlyArray<Scripted> = [
        { status: 401, body: {} },
        { status: 429, body: {} },
        { status: 500, body: "" },
        { fault: "cutBody" },
        { fault: "cut" },
        { body: "<html>", headers: { "content-type": "text/html" } },
        { body: { data: "none" } }
      ]
      for (const failure of failures) {
        double.always(failure)
        assert.deepStrictEqual(yield* offersOf(`${double.url}/api/v1`), [])
      }
      assert.deepStrictEqual(yield* offersOf("http://127.0.0.1:1/api/v1"), [])
    }).pipe(undici)
  )

  it.live("ranks, with preferences of routing, and is charged what it charges", () =>
    Effect.gen(function* () {
      const { double, offers, rerank } = yield* listed()
      const options = { order: ["vendor"], options: { vendor: { truncate: true } } }
      const { answer, charge } = yield* rerank.run({ ...ranking, top_n: 1, options }, credential)
      assert.deepStrictEqual(
        answer.results.map(({ index }) => index),
        [1]
      )
      // 5 tokens cost less than half a micro-credit.
      assert.deepStrictEqual<unknown>(charge, { cost: 0, usage: { total_tokens: 5 } })
      const pro = kindOf(offers, "rerank", "cohere/rerank-4-pro")
      if (pro.kind !== "rerank") return assert.fail("not a rerank offer")
      assert.deepStrictEqual<unknown>((yield* pro.run(ranking, credential)).charge, {
        cost: 2500,
        usage: { search_units: 1 }
      })
      const { headers, text } = double.state.requests[0] ?? assert.fail("no request")
      assert.strictEqual(headers["authorization"], `Bearer ${key}`)
      assert.deepStrictEqual(JSON.parse(text), {
        model: "vendor/rerank",
        ...ranking,
        top_n: 1,
        provider: options
      })
    }).pipe(undici)
  )

  it.live("transcribes a file in a form, and with options or above 25 MB in JSON", () =>
    Effect.gen(function* () {
      const { double, transcription } = yield* listed()
      const spoken = speaking("hello world", { timestamp_granularities: ["segment", "word"], language: "en" })
      const { answer, charge } = yield* transcription.run(spoken, credential)
      assert.deepStrictEqual(
        [answer.text, answer.words?.map(({ word }) => word), answer.segments.length],
        ["hello world", ["hello", "world"], 1]
      )
      assert.deepStrictEqual<unknown>(charge, { cost: 200, usage: { seconds: 2 } })
      const options = { options: { openai: { prompt: "a greeting" } } }
      yield* transcription.run({ ...spoken, options }, credential)
      const large = new Uint8Array(25_000_001)
      const audio: TranscriptionRequest["audio"] = {
        source: AudioSource.fromBytes(large),
        format: "wav",
        durationSeconds: 9
      }
      yield* transcription.run({ audio, timestamp_granularities: [] }, credential)
      const [form, json, base64] = double.state.requests
      assert.deepStrictEqual(
        [form, json, base64].map((each) => each?.headers["content-type"]?.split(";")[0]),
        ["multipart/form-data", "application/json", "application/json"]
      )
      assert.deepStrictEqual<unknown>(JSON.parse(json?.text ?? ""), {
        model: "openai/whisper-1",
        input_audio: { data: Buffer.from("speech: hello world").toString("base64"), format: "wav" },
        language: "en",
        response_format: "verbose_json",
        timestamp_granularities: ["segment", "word"],
        provider: options
      })
    }).pipe(undici)
  )

  it.live("makes a video, polls it no faster than every 10 seconds, and is charged what it charges", () =>
    Effect.gen(function* () {
      const { content, double, film, follow, submit } = yield* listed()
      const wanted: VideoRequest = { ...request, duration: 6, resolution: "720p", frame_images: [image], seed: 7 }
      assert.deepStrictEqual([film.pollInterval, film.isIdempotent], [Duration.seconds(10), false])
      assert.strictEqual(film.quote(wanted), 1_200_000)
      const handle = yield* submit(wanted)
      // Its content is not there before the job is completed.
      const early = yield* Effect.flip(content(handle, wanted))
      assert.deepStrictEqual([early.reason._tag, early.status], ["BadResponse", 409])
      assert.deepStrictEqual<unknown>(yield* follow(handle, wanted), {
        status: "completed",
        outputs: 1,
        charge: { cost: 600_000, usage: { seconds: 6, videos: 1 } }
      })
      assert.deepStrictEqual(yield* content(handle, wanted), Buffer.from(video))
      assert.deepStrictEqual(JSON.parse(double.state.requests[0]?.text ?? ""), {
        ...wanted,
        model: "vendor/video"
      })
    }).pipe(undici)
  )

  it.live("ends a job as OpenRouter says, and cannot cancel it", () =>
    Effect.gen(function* () {
      const { double, film, follow, submit } = yield* listed()
      double.jobs.next("fail", "lose", "empty")
      const ends = yield* Effect.forEach([1, 2, 3], () =>
        Effect.flatMap(submit(request), (handle) => follow(handle, request))
      )
      assert.deepStrictEqual(
        ends.map((end) => (end.status === "failed" ? end.message : end.status)),
        [
          "The input image at <redacted> is not readable (<redacted>)",
          "the provider no longer has the job",
          "the provider finished the job without a video"
        ]
      )
      yield* film.cancel(yield* submit(request), credential)
      assert.match(double.state.requests.at(-1)?.url ?? "", /\/cancel$/)
    }).pipe(undici)
  )

  it.live("refuses preferences that OpenRouter ignores, without a call", () =>
    Effect.gen(function* () {
      const { double, film, transcription } = yield* listed()
      const options = { order: ["vendor"], options: { vendor: {} } }
      const expected =
        'InvalidRequest: provider.options.openrouter.order: is ignored by openrouter here, so it is not sent. It takes only "options"'
      const heard = yield* Effect.flip(transcription.run(speaking("one", { options }), credential))
      assert.strictEqual(told(heard.reason), expected)
      const made = yield* Effect.flip(film.check({ ...request, options }))
      assert.strictEqual(told(made.reason), expected)
      assert.lengthOf(double.state.requests, 0)
    }).pipe(undici)
  )

  it.live("maps failures to their reasons", () =>
    Effect.gen(function* () {
      const { double, rerank } = yield* listed({ timeLimit: "300 millis" })
      const error = (code: number, message: string) => ({
        status: code,
        body: { error: { code, message, metadata: {} }, openrouter_metadata: { request_id: "a" }, user_id: null }
      })
      const failures: ReadonlyArray<readonly [Scripted, string]> = [
        [error(400, "Invalid input: query"), "InvalidRequest: Invalid input: query"],
        [error(401, "No auth credentials found"), "Unauthorized: the provider rejected its credentials"],
        [error(402, "Insufficient credits"), "OutOfCredit: the account at the provider is out of credit"],
        [error(404, "No endpoints found"), "UnknownModel: unknown model vendor/rerank"],
        [
          { ...error(429, "slow"), headers: { "retry-after": "9" } },
          "RateLimited: the provider's rate limit is exceeded"
        ],
        [error(500, "oops"), "BadResponse: the provider sent an invalid response: status 500"],
        [error(503, "none"), "Overloaded: the provider is overloaded"],
        [
          { fault: "cutBody" },
          "ConnectionLost: the connection to the provider was lost before its answer was complete"
        ],
        [{ fault: "hang" }, "Timeout: the provider did not answer in time"]
      ]
      for (const [scripted, expected] of failures) {
        double.next(scripted)
        const { reason } = yield* Effect.flip(rerank.run(ranking, credential))
        assert.strictEqual(`${reason._tag}: ${reason.message}`, expected)
      }
      double.next({ ...error(429, "slow"), headers: { "retry-after": "9" } })
      const { reason } = yield* Effect.flip(rerank.run(ranking, credential))
      assert.deepStrictEqual("retryAfter" in reason && reason.retryAfter, Duration.seconds(9))
    }).pipe(undici)
  )

  it.live("shows the key in no error, log or span", () =>
    Effect.gen(function* () {
      const { double, rerank } = yield* listed()
      for (const scripted of [{ status: 401, body: { error: { message: key } } }, { fault: "cut" as const }]) {
        double.always(scripted)
        assert.notInclude(yield* recorded(rerank.run(ranking, credential)), key)
      }
    }).pipe(undici)
  )
})
