import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import { HttpClient } from "effect/http"
import type { Upstream } from "@model-gateway/offers/Adapter"
import * as Google from "../src/Google.ts"
import * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"
import type { VideoRequest } from "@model-gateway/offers/Video"
import { recorded } from "@model-gateway/test-doubles/recorded"
import type { Scripted } from "@model-gateway/test-doubles/Double"
import { googleError, startGoogleDouble, wrongKey } from "@model-gateway/test-doubles/GoogleDouble"
import { video } from "@model-gateway/test-doubles/JobDouble"
import {
  credential,
  frame,
  key,
  makeAll,
  offered,
  renewLink,
  request,
  started,
  told,
  undici
} from "./support/videoJobs.ts"

const double = started(startGoogleDouble)

const model = "google/gemini-omni-1.1-flash"

const at = (options: Partial<Upstream> = {}) =>
  Effect.gen(function* () {
    const google = yield* double
    return { google, ...(yield* offered(Google.adapter, `${google.url}/v1beta`, model, options)) }
  })

const later = "google/gemini-omni-1.2-flash"

const image = (url: string) => frame(url, "first_frame")
const last = (url: string) => frame(url, "last_frame")

const base64 = (name: string) => Buffer.from(name).toString("base64")
const data = (name: string) => `data:image/png;base64,${base64(name)}`

describe("Google", () => {
  it.live("makes a video, whatever tokens it says that it took", () =>
    Effect.gen(function* () {
      const { google, poll, submit } = yield* at()
      const handle = yield* submit(request)
      const steps = [{ type: "model_output", content: [{ type: "video", uri: "https://example.com/a" }] }]
      const usage = { total_input_tokens: -1, total_output_tokens: 1e300 }
      google.next({ body: { status: "completed", steps, usage } })
      const status = yield* poll(handle, request)
      assert.deepStrictEqual<unknown>(Object.keys(status.status === "completed" ? status.charge.usage : {}), [
        "seconds",
        "videos"
      ])
    }).pipe(undici)
  )

  it.live("makes a video, follows the redirect to it, and charges the quote", () =>
    Effect.gen(function* () {
      const { content, follow, google, offer, submit } = yield* at()
      const wanted: VideoRequest = { ...request, duration: 4, resolution: "4K", aspect_ratio: "9:16", seed: 7 }
      const handle = yield* submit(wanted)
      assert.deepStrictEqual<unknown>(yield* follow(handle, wanted), {
        status: "completed",
        outputs: 1,
        charge: {
          cost: offer.quote(wanted),
          usage: { seconds: 4, videos: 1, input_tokens: 12, output_tokens: 28_960 }
        }
      })
      assert.deepStrictEqual(yield* content(handle, wanted), Buffer.from(video))
      const seen = google.state.requests
      assert.deepStrictEqual(
        seen.map(({ method, url }) => `${method} ${url.replaceAll(/[0-9a-f]{8}-[0-9a-f-]+/g, "id")}`),
        [
          "POST /v1beta/interactions",
          "GET /v1beta/interactions/v1_id",
          "GET /v1beta/interactions/v1_id",
          "GET /v1beta/interactions/v1_id",
          "GET /v1beta/files/v1_id:download?alt=media",
          "GET /files/id.mp4"
        ]
      )
      assert.isTrue(seen.slice(0, 5).every(({ headers }) => headers["x-goog-api-key"] === key))
      assert.deepStrictEqual(JSON.parse(seen[0]?.text ?? ""), {
        model: "gemini-omni-1.1-flash",
        input: [{ type: "text", text: "a harbor at dawn" }],
        background: true,
        store: true,
        response_format: { type: "video", delivery: "uri", duration: "4s", resolution: "4k", aspect_ratio: "9:16" },
        generation_config: { seed: 7, video_config: { task: "text_to_video" } }
      })
      assert.deepStrictEqual([offer.pollInterval, offer.isIdempotent], [Duration.seconds(5), false])
    }).pipe(undici)
  )

  it.live("sends the key to the base URL only", () =>
    Effect.gen(function* () {
      const { content, follow, google, submit } = yield* at()
      const other = yield* double
      const handle = yield* submit(request)
      yield* follow(handle, request)
      const uri = `${other.url}/v1beta/files/stolen:download`
      google.next({
        body: { status: "completed", steps: [{ type: "model_output", content: [{ type: "video", uri }] }] }
      })
      yield* Effect.flip(content(handle, request))
      google.next(
        {
          body: {
            status: "completed",
            steps: [
              { type: "model_output", content: [{ type: "video", uri: `${google.url}/v1beta/files/a:download` }] }
            ]
          }
        },
        { status: 302, headers: { location: `${other.url}/files/a.mp4` } }
      )
      yield* Effect.flip(content(handle, request))
      assert.deepStrictEqual(
        other.state.requests.map(({ headers, url }) => [url, headers["x-goog-api-key"]]),
        [
          ["/v1beta/files/stolen:download?alt=media", undefined],
          ["/files/a.mp4", undefined]
        ]
      )
    }).pipe(Effect.provide(Layer.effect(UpstreamHttp.LinkClient, HttpClient.HttpClient)), undici)
  )

  it.live("sends a first frame inline, and refuses what the model does not take before it is called", () =>
    Effect.gen(function* () {
      const { google, offer, submit } = yield* at()
      yield* submit({ ...request, frame_images: [image("data:image/png;base64,aGFyYm9y")] })
      const sent: unknown = JSON.parse(google.state.requests[0]?.text ?? "")
      assert.deepNestedInclude(sent, {
        input: [
          { type: "image", mime_type: "image/png", data: "aGFyYm9y" },
          { type: "text", text: "a harbor at dawn" }
        ],
        "generation_config.video_config.task": "image_to_video"
      })
      const check = (request: VideoRequest) =>
        Effect.map(Effect.flip(offer.check(request)), ({ reason }) => reason.message)
      assert.deepStrictEqual(
        [
          yield* check({ ...request, frame_images: [image("https://example.com/a.png")] }),
          yield* check({ ...request, duration: 2 }),
          yield* check({ ...request, aspect_ratio: "1:1" }),
          yield* check({ ...request, generate_audio: false })
        ],
        [
          `frame_images.0.image_url.url: ${model} takes images as data:image/…;base64, URIs only`,
          `duration: ${model} makes videos of 3, 4, 5, 6, 7, 8, 9, 10 seconds`,
          `aspect_ratio: ${model} does not support 1:1. Choose 16:9 or 9:16.`,
          `generate_audio: ${model} makes videos with audio`
        ]
      )
      assert.lengthOf(google.state.requests, 1)
    }).pipe(undici)
  )

  it.live("sends references to images inline, and makes a size of its table", () =>
    Effect.gen(function* () {
      const { google, offer, submit } = yield* at()
      const reference = (url: string) => ({ type: "image_url", image_url: { url } }) as const
      const still = reference("data:image/png;base64,aGFyYm9y")
      const audio = { type: "audio_url", audio_url: { url: "https://example.com/a.mp3" } } as const
      const wanted: VideoRequest = { ...request, size: "2160x3840", input_references: [audio, still] }
      yield* submit(wanted)
      assert.deepNestedInclude(JSON.parse(google.state.requests[0]?.text ?? ""), {
        input: [
          { type: "image", mime_type: "image/png", data: "aGFyYm9y" },
          { type: "text", text: "a harbor at dawn" }
        ],
        "response_format.resolution": "4k",
        "response_format.aspect_ratio": "9:16",
        "generation_config.video_config.task": "reference_to_video"
      })
      assert.strictEqual(offer.quote(wanted), offer.quote({ ...request, resolution: "4K" }))
      assert.deepStrictEqual(offer.ignored?.(wanted), [
        `input_references: ${model} takes no audio references, so they were ignored.`
      ])
      const check = (request: VideoRequest) =>
        Effect.map(Effect.flip(offer.check(request)), ({ reason }) => reason.message)
      assert.strictEqual(
        yield* check({ ...request, input_references: [audio, reference("https://example.com/c.png")] }),
        `input_references.1.image_url.url: ${model} takes images as data:image/…;base64, URIs only`
      )
      assert.strictEqual(
        yield* check({ ...request, frame_images: [image(still.image_url.url)], input_references: [still] }),
        `input_references: ${model} takes frame images or references, not both`
      )
      assert.strictEqual(
        yield* check({ ...request, input_references: [still, still, still, still] }),
        `input_references: ${model} takes at most 3 images, not 4`
      )
    }).pipe(undici)
  )

  it.live("makes a video between a first and a last frame, or from references, with Gemini Omni 1.2", () =>
    Effect.gen(function* () {
      const google = yield* double
      const { follow, offer, submit } = yield* offered(Google.adapter, `${google.url}/v1beta`, later)
      // In the order of the video, whatever the order in the request.
      const between: VideoRequest = { ...request, duration: 10, frame_images: [last(data("b")), image(data("a"))] }
      const still = (name: string) => ({ type: "image_url", image_url: { url: data(name) } }) as const
      const references: VideoRequest = { ...request, duration: 15, input_references: ["c", "d", "e", "f"].map(still) }
      for (const wanted of [between, references]) {
        assert.strictEqual((yield* follow(yield* submit(wanted), wanted)).status, "completed")
      }
      const sent = google.state.requests
        .filter(({ method }) => method === "POST")
        .map(({ text }): unknown => JSON.parse(text))
      const inline = (name: string) => ({ type: "image", mime_type: "image/png", data: base64(name) })
      assert.deepNestedInclude(sent[0], {
        input: [inline("a"), inline("b"), { type: "text", text: "a harbor at dawn" }],
        "response_format.duration": "10s",
        "generation_config.video_config.task": "image_to_video"
      })
      assert.deepNestedInclude(sent[1], {
        input: [...["c", "d", "e", "f"].map(inline), { type: "text", text: "a harbor at dawn" }],
        "response_format.duration": "15s",
        "generation_config.video_config.task": "reference_to_video"
      })
      const check = (request: VideoRequest, { check } = offer) =>
        Effect.map(Effect.flip(check(request)), ({ reason }) => reason.message)
      const { offer: earlier } = yield* offered(Google.adapter, `${google.url}/v1beta`, model)
      assert.deepStrictEqual(
        [
          yield* check({ ...between, duration: 11 }),
          yield* check({ ...request, frame_images: [last(data("b"))] }),
          yield* check({ ...request, input_references: Array.from({ length: 7 }, () => still("c")) }),
          yield* check(between, earlier)
        ],
        [
          `duration: ${later} makes videos of at most 10 seconds with a last frame`,
          `frame_images: ${later} takes a last frame with a first one only`,
          `input_references: ${later} takes at most 6 images, not 7`,
          `frame_images: ${model} takes no last frame`
        ]
      )
    }).pipe(undici)
  )

  it.live("offers every built-in model in each of its forms, at the price of the quote", () =>
    Effect.gen(function* () {
      const { url } = yield* double
      const media = { first: image(data("a")), last: last(data("b")), reference: data("c") }
      yield* makeAll(Google.adapter, `${url}/v1beta`, media)
    }).pipe(undici)
  )

  it.live("ends a job that failed, was lost, canceled or rejected by the safety filters", () =>
    Effect.gen(function* () {
      const { follow, google, offer, poll, submit } = yield* at()
      google.jobs.next("fail", "empty", "lose")
      const failed = (message: string) => ({ status: "failed" as const, message })
      assert.deepStrictEqual(
        yield* follow(yield* submit(request), request),
        failed("The input image at <redacted> is not readable (<redacted>)")
      )
      assert.deepStrictEqual(
        yield* follow(yield* submit(request), request),
        failed("the provider made no video, as when its safety filters reject the input")
      )
      const lost = yield* submit(request)
      yield* poll(lost, request)
      assert.deepStrictEqual(yield* poll(lost, request), failed("the provider no longer has the job"))
      const canceled = yield* submit(request)
      yield* offer.cancel(canceled, credential)
      assert.deepStrictEqual(yield* poll(canceled, request), failed("the provider ended the job without a video"))
      yield* offer.cancel("v1_gone", credential)
      // Not about the caller's input, and not the end of the job.
      const running = yield* submit(request)
      google.next(googleError(400, "INVALID_ARGUMENT", "Request contains an invalid argument."))
      assert.strictEqual(told((yield* Effect.flip(poll(running, request))).reason), "BadResponse: status 400")
      google.next({ body: { status: "paused" } })
      assert.strictEqual(told((yield* Effect.flip(poll(running, request))).reason), "BadResponse: an unknown status")
    }).pipe(undici)
  )

  it.live("renews an expired link with the next download", () =>
    Effect.gen(function* () {
      const { google, ...calls } = yield* at()
      yield* renewLink(google, calls)
    }).pipe(undici)
  )

  it.live("maps every failure of a submission to its reason", () =>
    Effect.gen(function* () {
      const wait = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "17s" }]
      const failures: ReadonlyArray<readonly [Scripted, string]> = [
        [
          googleError(400, "INVALID_ARGUMENT", "Video duration must be from 3s to 10s."),
          "InvalidRequest: Video duration must be from 3s to 10s."
        ],
        [wrongKey, "Unauthorized: the provider rejected its credentials"],
        [
          googleError(400, "FAILED_PRECONDITION", "Please enable billing on your project in Google AI Studio."),
          "OutOfCredit: the account at the provider is out of credit"
        ],
        [googleError(403, "PERMISSION_DENIED", "no"), "Unauthorized: the provider rejected its credentials"],
        [googleError(404, "NOT_FOUND", "models/x is not found"), "UnknownModel: unknown model gemini-omni-1.1-flash"],
        [googleError(500, "INTERNAL", "An internal error has occurred."), "BadResponse: status 500"],
        [googleError(503, "UNAVAILABLE", "overloaded"), "Overloaded: the provider is overloaded"],
        [googleError(504, "DEADLINE_EXCEEDED", "deadline"), "Timeout: the provider did not answer in time"],
        [{ body: "<html>", headers: { "content-type": "text/html" } }, "BadResponse: not JSON but text/html"],
        [{ body: { id: "../files" } }, "BadResponse: JSON of another form at id"],
        [{ fault: "cut" }, "ConnectionLost: the connection to the provider was lost before its answer was complete"],
        [{ fault: "cutBody" }, "ConnectionLost: the connection to the provider was lost before its answer was complete"]
      ]
      const { google, submit } = yield* at()
      for (const [scripted, expected] of failures) {
        google.next(scripted)
        assert.strictEqual(told((yield* Effect.flip(submit(request))).reason), expected)
      }
      google.next(googleError(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.", wait))
      const { reason } = yield* Effect.flip(submit(request))
      assert.deepStrictEqual(reason._tag === "RateLimited" && reason.retryAfter, Duration.seconds(17))
      google.next({ body: { id: "v1_a", status: "in_progress", unknown: [] } })
      assert.strictEqual(yield* submit(request), "v1_a")
      const silent = yield* at({ timeLimit: "50 millis" })
      silent.google.next({ fault: "hang" })
      assert.strictEqual((yield* Effect.flip(silent.submit(request))).reason._tag, "Timeout")
    }).pipe(undici)
  )

  it.live("shows the key in no error, log or span", () =>
    Effect.gen(function* () {
      const { google, submit } = yield* at()
      for (const scripted of [googleError(400, "INVALID_ARGUMENT", `bad ${key}`), { fault: "cut" as const }]) {
        google.next(scripted)
        assert.notInclude(yield* recorded(submit(request)), key)
      }
    }).pipe(undici)
  )
})
