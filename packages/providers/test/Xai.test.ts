import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import type { Upstream } from "@model-gateway/offers/Adapter"
import type { VideoRequest } from "@model-gateway/offers/Video"
import * as Xai from "../src/Xai.ts"
import type { Scripted } from "@model-gateway/test-doubles/Double"
import { video } from "@model-gateway/test-doubles/JobDouble"
import { recorded } from "@model-gateway/test-doubles/recorded"
import { documentedErrors, startXaiDouble } from "@model-gateway/test-doubles/XaiDouble"
import * as Speech from "./support/transcription.ts"
import {
  callsOf,
  credential,
  image,
  key,
  last,
  makeAll,
  offered,
  renewLink,
  request,
  started,
  told
} from "./support/videoJobs.ts"

const { provide } = Effect

const double = started(startXaiDouble)

const { adapter } = Xai

const at = (model = "xai/grok-imagine-video-1.5", options: Partial<Upstream> = {}) =>
  Effect.gen(function* () {
    const xai = yield* double
    return { xai, ...(yield* offered(adapter, `${xai.url}/v1`, model, options)) }
  })

const reference = (name: string) =>
  ({ type: "image_url", image_url: { url: `https://example.com/${name}.png` } }) as const

describe("xAI's videos", () => {
  it.live("are made, fetched without the key, and charged what xAI says", () =>
    Effect.gen(function* () {
      const { content, follow, offer, poll, submit, xai } = yield* at()
      const wanted: VideoRequest = {
        ...request,
        duration: 4,
        resolution: "720p",
        aspect_ratio: "16:9",
        generate_audio: false,
        frame_images: [image, last]
      }
      const handle = yield* submit(wanted)
      assert.deepStrictEqual(yield* poll(handle, wanted), { status: "in_progress" })
      assert.deepStrictEqual(yield* poll(handle, wanted), { status: "in_progress", progress: 0.4 })
      assert.deepStrictEqual<unknown>(yield* follow(handle, wanted), {
        status: "completed",
        outputs: 1,
        charge: { cost: 580_000, usage: { seconds: 4, videos: 1 } }
      })
      assert.strictEqual(offer.quote(wanted), 580_000)
      assert.deepStrictEqual(yield* content(handle, wanted), Buffer.from(video))
      const seen = xai.state.requests
      assert.deepStrictEqual(JSON.parse(seen[0]?.text ?? ""), {
        model: "grok-imagine-video-1.5",
        prompt: "a harbor at dawn",
        duration: 4,
        resolution: "720p",
        aspect_ratio: "16:9",
        generate_audio: false,
        image: { url: image.image_url.url },
        last_frame: { url: last.image_url.url }
      })
      assert.deepStrictEqual(
        [seen[0]?.url, seen[0]?.headers["authorization"]],
        ["/v1/videos/generations", `Bearer ${key}`]
      )
      assert.isUndefined(seen.at(-1)?.headers["authorization"])
      assert.deepStrictEqual([offer.pollInterval, offer.isIdempotent], [Duration.seconds(5), false])
    }).pipe(provide(Speech.services))
  )

  it.live("cost what xAI bills, also if it is not what was quoted", () =>
    Effect.gen(function* () {
      const { offer, poll, submit, xai } = yield* at("xai/grok-imagine-video")
      const wanted: VideoRequest = { ...request, input_references: [reference("a"), reference("b")] }
      const handle = yield* submit(wanted)
      assert.deepStrictEqual(JSON.parse(xai.state.requests[0]?.text ?? ""), {
        model: "grok-imagine-video",
        prompt: "a harbor at dawn",
        duration: 8,
        resolution: "480p",
        generate_audio: true,
        reference_images: [{ url: "https://example.com/a.png" }, { url: "https://example.com/b.png" }]
      })
      const done = (usage: unknown) => ({
        body: { status: "done", video: { url: "https://vidgen.x.ai/a.mp4", respect_moderation: true }, usage }
      })
      const costs: Array<unknown> = []
      const bills = [3_000_000_001, undefined, -1, 1e12, 1e300].map((ticks) => ({ cost_in_usd_ticks: ticks }))
      for (const usage of [...bills, undefined]) {
        xai.next(done(usage))
        const status = yield* poll(handle, wanted)
        costs.push(status.status === "completed" && status.charge.cost)
      }
      assert.strictEqual(offer.quote(wanted), 404_000)
      // Without a bill that can be right, the quote is the best that is known.
      assert.deepStrictEqual(costs, [300_001, 404_000, 404_000, 404_000, 404_000, 404_000])
    }).pipe(provide(Speech.services))
  )

  it.live("of every model, duration and resolution cost the quote", () =>
    Effect.gen(function* () {
      const { xai } = yield* at()
      const models = Xai.adapter.models.filter(({ kind }) => kind === "video")
      yield* makeAll({ ...adapter, models }, `${xai.url}/v1`)
    }).pipe(provide(Speech.services))
  )

  it.live("that xAI does not take are refused before it is called", () =>
    Effect.gen(function* () {
      const { offer, xai } = yield* at()
      const first = yield* offered(adapter, `${xai.url}/v1`, "xai/grok-imagine-video")
      const check = (request: VideoRequest, { check } = offer) =>
        Effect.map(Effect.flip(check(request)), ({ reason }) => reason.message)
      const references = Array.from({ length: 8 }, (_, at) => reference(String(at)))
      assert.deepStrictEqual(
        [
          yield* check({ ...request, prompt: "a".repeat(4097) }),
          yield* check({ ...request, duration: 16 }),
          yield* check({ ...request, resolution: "1080p" }, first.offer),
          yield* check({ ...request, resolution: "1080p", input_references: [reference("a")] }),
          yield* check({ ...request, input_references: references }),
          yield* check({ ...request, frame_images: [image, last] }, first.offer),
          yield* check({ ...request, options: { keyframes: [] } }),
          yield* check({ ...request, options: { storage_options: {} } })
        ],
        [
          "prompt: xai/grok-imagine-video-1.5 takes at most 4096 characters",
          "duration: xai/grok-imagine-video-1.5 supports at most 15 seconds",
          "resolution: xai/grok-imagine-video does not support 1080p. Choose 480p or 720p.",
          "resolution: xai/grok-imagine-video-1.5 makes videos with input_references at 480p, 720p, not 1080p",
          "input_references: xai/grok-imagine-video-1.5 takes at most 7 images, not 8",
          "frame_images: xai/grok-imagine-video takes no last frame",
          "provider.options.xai.keyframes: changes the price, so it cannot be passed on",
          "provider.options.xai.storage_options: says where results are sent, so it cannot be passed on"
        ]
      )
      assert.lengthOf(xai.state.requests, 0)
      assert.deepStrictEqual(offer.ignored?.({ ...request, seed: 7 }), [
        "seed: xai/grok-imagine-video-1.5 takes no seed, so it was ignored."
      ])
    }).pipe(provide(Speech.services))
  )

  it.live("that fail say why, in words for callers", () =>
    Effect.gen(function* () {
      const { follow, offer, poll, submit, xai } = yield* at()
      const failures = [
        [{ code: "invalid_argument", message: "The image is not readable" }, "The image is not readable"],
        [{ code: "internal_error", message: "node 7 is down" }, "the provider could not make the video"],
        [{ code: "blocked" }, "the provider's content moderation rejected the video"],
        [{ code: "expired" }, "the provider no longer has the job"]
      ] as const
      for (const [failure, message] of failures) {
        xai.jobs.next("fail")
        xai.failWith(failure)
        assert.deepStrictEqual(yield* follow(yield* submit(request), request), { status: "failed", message })
      }
      xai.jobs.next("lose", "empty")
      const lost = yield* submit(request)
      yield* poll(lost, request)
      const gone = yield* Effect.flip(poll(lost, request))
      assert.deepStrictEqual([gone.reason._tag, gone.status], ["UnknownModel", 404])
      assert.include(yield* follow(yield* submit(request), request), { status: "completed", outputs: 0 })
      xai.next({ body: { status: "thinking" } })
      assert.strictEqual(told((yield* Effect.flip(poll(lost, request))).reason), "BadResponse: an unknown status")
      // xAI cannot cancel.
      const before = xai.state.requests.length
      yield* offer.cancel(lost, credential)
      assert.lengthOf(xai.state.requests, before)
    }).pipe(provide(Speech.services))
  )

  it.live("have a new link if the first one has expired", () =>
    Effect.gen(function* () {
      const { offer, xai } = yield* at()
      yield* renewLink(xai, callsOf(offer))
    }).pipe(provide(Speech.services))
  )

  it.live("map every failure of a submission to its reason", () =>
    Effect.gen(function* () {
      const lost = "ConnectionLost: the connection to the provider was lost before its answer was complete"
      const failures: ReadonlyArray<readonly [Scripted, string]> = [
        [
          { status: 400, body: { code: "Client specified an invalid argument", error: "duration: invalid value" } },
          "InvalidRequest: duration: invalid value"
        ],
        [documentedErrors.invalidKey, "Unauthorized: the provider rejected its credentials"],
        [{ status: 401 }, "Unauthorized: the provider rejected its credentials"],
        [{ status: 422, body: { error: "missing field `prompt`" } }, "InvalidRequest: missing field `prompt`"],
        [documentedErrors.noCredit, "OutOfCredit: the account at the provider is out of credit"],
        [
          { ...documentedErrors.rateLimit, headers: { "retry-after": "17" } },
          "RateLimited: the provider's rate limit is exceeded"
        ],
        [{ status: 500 }, "BadResponse: status 500"],
        [{ status: 503 }, "Overloaded: the provider is overloaded"],
        [{ body: "<html>", headers: { "content-type": "text/html" } }, "BadResponse: not JSON but text/html"],
        [{ body: { request_id: "../keys" } }, "BadResponse: JSON of another form at request_id"],
        [{ fault: "cut" }, lost],
        [{ fault: "cutBody" }, lost]
      ]
      const { submit, xai } = yield* at()
      for (const [scripted, expected] of failures) {
        xai.next(scripted)
        assert.strictEqual(told((yield* Effect.flip(submit(request))).reason), expected)
      }
      xai.next({ body: { request_id: "4b2c-a", unknown: [] } })
      assert.strictEqual(yield* submit(request), "4b2c-a")
      const silent = yield* at("xai/grok-imagine-video", { timeLimit: "50 millis" })
      silent.xai.next({ fault: "hang" })
      assert.strictEqual((yield* Effect.flip(silent.submit(request))).reason._tag, "Timeout")
    }).pipe(provide(Speech.services))
  )

  it.live("show the key in no error, log or span", () =>
    Effect.gen(function* () {
      const { submit, xai } = yield* at()
      for (const scripted of [{ status: 400, body: { error: `bad ${key}` } }, { fault: "cut" as const }]) {
        xai.next(scripted)
        assert.notInclude(yield* recorded(submit(request)), key)
      }
    }).pipe(provide(Speech.services))
  )
})

describe("xAI's transcription", () => {
  const speech = (upstream: Partial<Upstream> = {}) =>
    Effect.gen(function* () {
      const xai = yield* double
      const models = Xai.adapter.models.filter(({ kind }) => kind === "transcription")
      const [stt = assert.fail("no offer")] = yield* Speech.offersOf(
        adapter,
        { baseUrl: `${xai.url}/v1`, ...upstream },
        key,
        models
      )
      return { stt, xai }
    })

  it.live("sends the file last, and returns words, their speakers, and segments of each speaker", () =>
    Effect.gen(function* () {
      const { stt, xai } = yield* speech()
      const { answer, charge } = yield* stt.run(
        Speech.speaking("a b c", {
          language: "en",
          timestamp_granularities: ["word", "segment"],
          options: { diarize: true, keyterm: ["harbor", "dawn"] }
        })
      )
      assert.deepStrictEqual<unknown>(answer, {
        text: "a b c",
        duration: 3,
        segments: [
          { id: 0, start: 0, end: 1.5, text: "a b", speaker: 0 },
          { id: 1, start: 2, end: 2.5, text: "c", speaker: 1 }
        ],
        words: [
          { word: "a", start: 0, end: 0.5, speaker: 0 },
          { word: "b", start: 1, end: 1.5, speaker: 0 },
          { word: "c", start: 2, end: 2.5, speaker: 1 }
        ]
      })
      assert.deepStrictEqual<unknown>(charge, { cost: 84, usage: { seconds: 3 } })
      const [{ text, url } = assert.fail("no request")] = xai.state.requests
      assert.strictEqual(url, "/v1/stt")
      assert.deepStrictEqual(
        [...text.matchAll(/ name="([^"]+)"/g)].map(([, name]) => name),
        ["language", "diarize", "keyterm", "keyterm", "file"]
      )
    }).pipe(provide(Speech.services))
  )

  it.live("leaves out a word without times, and returns only what was asked for", () =>
    Effect.gen(function* () {
      const { stt, xai } = yield* speech()
      const words = [{ text: "a", start: 0, end: 1 }, { text: "b" }, { text: "c", start: 2, end: null }]
      xai.next({ body: { text: "a b c", duration: 2.5, words, unknown: {} } })
      const { answer } = yield* stt.run(Speech.speaking("a b c", { timestamp_granularities: ["word"] }))
      assert.deepStrictEqual<unknown>(answer.words, [{ word: "a", start: 0, end: 1 }])
      const plain = yield* stt.run(Speech.speaking("a b c"))
      assert.deepStrictEqual<unknown>(plain.answer, { text: "a b c", duration: 3, segments: [] })
    }).pipe(provide(Speech.services))
  )

  it.live("refuses options that change the answer, and maps failures", () =>
    Effect.gen(function* () {
      const { stt, xai } = yield* speech()
      const reasonOf = (call: ReturnType<typeof stt.run>) => Effect.map(Effect.flip(call), ({ reason }) => told(reason))
      assert.match(
        yield* reasonOf(stt.run(Speech.speaking("a", { options: { multichannel: true } }))),
        /provider\.options\.xai\.multichannel: changes the form/
      )
      assert.lengthOf(xai.state.requests, 0)
      const failures: ReadonlyArray<readonly [Scripted, string]> = [
        [{ status: 400, body: { code: "x", error: "Unsupported audio." } }, "InvalidRequest: Unsupported audio."],
        [documentedErrors.invalidKey, "Unauthorized: the provider rejected its credentials"],
        [{ status: 413 }, "InputTooLarge: the input is too large for the provider"],
        [documentedErrors.noCredit, "OutOfCredit: the account at the provider is out of credit"],
        [documentedErrors.rateLimit, "RateLimited: the provider's rate limit is exceeded"],
        [{ status: 500 }, "BadResponse: status 500"],
        [{ body: { words: [] } }, "BadResponse: JSON of another form at text"],
        [{ body: "<html>", headers: { "content-type": "text/html" } }, "BadResponse: not JSON but text/html"],
        [{ fault: "cutBody" }, "ConnectionLost: the connection to the provider was lost before its answer was complete"]
      ]
      for (const [scripted, expected] of failures) {
        xai.next(scripted)
        assert.strictEqual(yield* reasonOf(stt.run(Speech.speaking("a"))), expected)
      }
      const silent = yield* speech({ timeLimit: "50 millis" })
      silent.xai.next({ fault: "hang" })
      assert.strictEqual(
        yield* reasonOf(silent.stt.run(Speech.speaking("a"))),
        "Timeout: the provider did not answer in time"
      )
    }).pipe(provide(Speech.services))
  )
})
