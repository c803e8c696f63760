import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Redacted, Schema } from "effect"
import type { Upstream } from "@model-gateway/offers/Adapter"
import * as Fal from "../src/Fal.ts"
import type { Model } from "@model-gateway/offers/Model"
import type { VideoRequest } from "@model-gateway/offers/Video"
import type { Scripted } from "@model-gateway/test-doubles/Double"
import { documentedMessages, startFalDouble } from "@model-gateway/test-doubles/FalDouble"
import { video } from "@model-gateway/test-doubles/JobDouble"
import { mp4, mp4Uri } from "@model-gateway/test-doubles/Mp4Double"
import {
  credential,
  image,
  key,
  last,
  makeAll,
  offered,
  renewLink,
  request,
  started,
  told,
  undici
} from "./support/videoJobs.ts"

const veo = "fal/fal-ai/veo3.1"
const kling = "fal/fal-ai/kling-video/v2.5-turbo/pro/image-to-video"

const topaz = "fal/topaz/upscale/video/creative"

const double = started(startFalDouble)

const source = (...urls: ReadonlyArray<string>): VideoRequest => ({
  input_references: urls.map((url) => ({ type: "video_url", video_url: { url } }))
})

const at = (model = veo, options: Partial<Upstream> = {}) =>
  Effect.gen(function* () {
    const fal = yield* double
    return { fal, ...(yield* offered(Fal.adapter, fal.url, model, options)) }
  })

const urlsOf = Schema.decodeUnknownSync(
  Schema.Struct({ status_url: Schema.String, response_url: Schema.String, cancel_url: Schema.String })
)

describe("fal", () => {
  it.live("makes a video by the URLs that fal returns, fetches it without the key, and charges the quote", () =>
    Effect.gen(function* () {
      const { content, fal, follow, offer, submit } = yield* at()
      const wanted: VideoRequest = { ...request, duration: 4, resolution: "4K", generate_audio: false }
      const handle = yield* submit(wanted)
      assert.deepStrictEqual<unknown>(yield* follow(handle, wanted), {
        status: "completed",
        outputs: 1,
        charge: { cost: 1_600_000, usage: { seconds: 4, videos: 1 } }
      })
      assert.strictEqual(offer.quote(wanted), 1_600_000)
      assert.deepStrictEqual(yield* content(handle, wanted), Buffer.from(video))
      const seen = fal.state.requests
      assert.deepStrictEqual(
        seen.map(({ method, url }) => `${method} ${url.replace(/[0-9a-f-]{20,}/, "id")}`),
        [
          "POST /fal-ai/veo3.1",
          "GET /fal-ai/veo3.1/requests/id/status",
          "GET /fal-ai/veo3.1/requests/id/status",
          "GET /fal-ai/veo3.1/requests/id",
          "GET /fal-ai/veo3.1/requests/id",
          "GET /files/id.mp4"
        ]
      )
      assert.deepStrictEqual(
        seen.map(({ headers }) => headers["authorization"]),
        [...Array.from({ length: 5 }, () => `Key ${key}`), undefined]
      )
    }).pipe(undici)
  )

  it.live("upscales a video, and charges its length also when the request no longer has it", () =>
    Effect.gen(function* () {
      const { content, fal, follow, offer, submit } = yield* at(topaz)
      const wanted: VideoRequest = { ...source(mp4Uri(2.4)), prompt: "fog", creativity: 0.25, upscale_factor: 4 }
      const handle = yield* submit({ ...wanted, seed: 7, options: { sharp: 0.5 } })
      yield* submit(source(mp4Uri(2.4)))
      assert.deepStrictEqual(
        fal.state.requests.map(({ text, url }): unknown => [url, JSON.parse(text)]),
        [
          [
            "/topaz/upscale/video/creative",
            {
              prompt: "fog",
              sharp: 0.5,
              target_fps: 30,
              video_url: mp4Uri(2.4),
              upscale_factor: 4,
              creativity: 0.25
            }
          ],
          ["/topaz/upscale/video/creative", { target_fps: 30, video_url: mp4Uri(2.4), upscale_factor: 2 }]
        ]
      )
      const stored = source("data:,")
      assert.deepStrictEqual<unknown>(yield* follow(handle, stored), {
        status: "completed",
        outputs: 1,
        charge: { cost: 1_500_000, usage: { seconds: 2.4, videos: 1 } }
      })
      assert.deepStrictEqual<unknown>([offer.quote(wanted), offer.quote(source(mp4Uri(300)))], [1_500_000, 150_000_000])
      assert.deepStrictEqual(yield* content(handle, stored), Buffer.from(video))
      assert.deepStrictEqual(offer.ignored?.({ ...wanted, seed: 7 }), [
        `seed: ${topaz} takes no seed, so it was ignored.`
      ])
    }).pipe(undici)
  )

  it.live("upscales only what it can measure, within the bounds of the model", () =>
    Effect.gen(function* () {
      const { fal, offer } = yield* at(topaz)
      const uri = mp4Uri(2)
      const inFragments = mp4({ boxes: ["mvex"], tracks: [{ frames: 50, step: 40 }] }).toString("base64")
      const at0 = "input_references.0.video_url.url"
      const refused: ReadonlyArray<readonly [VideoRequest, string]> = [
        [{}, `input_references: ${topaz} upscales one video, of type video_url, not 0`],
        [source(uri, uri), `input_references: ${topaz} upscales one video, of type video_url, not 2`],
        [
          source("https://example.com/a.mp4"),
          `${at0}: Expected a data:video/mp4;base64, URI, because the length of the video decides the price`
        ],
        [source(`data:video/mp4;base64,${inFragments}`), `${at0}: the MP4 cannot be measured: it is in fragments`],
        [source(mp4Uri(300.04)), `${at0}: ${topaz} upscales videos of at most 300 seconds, not 300.04`],
        [
          { ...source(mp4Uri(20)), prompt: "fog" },
          `${at0}: ${topaz} upscales at most 450 frames with a prompt, not 500`
        ],
        [{ ...source(uri), upscale_factor: 4.5 }, `upscale_factor: ${topaz} upscales by 1 to 4`],
        [{ ...source(uri), creativity: 1.5 }, `creativity: ${topaz} takes 0 to 1`],
        [{ ...source(uri), duration: 2 }, `duration: ${topaz} makes a video as long as the given one`],
        [{ ...source(uri), generate_audio: true }, `generate_audio: ${topaz} makes no audio`],
        [{ ...source(uri), resolution: "4K" }, `resolution: ${topaz} does not support resolution`],
        [{ ...source(uri), size: "1280x720" }, `size: ${topaz} makes the size that upscale_factor says`],
        [{ ...source(uri), frame_images: [image] }, `frame_images: ${topaz} does not support frame images`],
        [
          { ...source(uri), options: { target_fps: 60 } },
          "provider.options.fal.target_fps: changes the price, so it cannot be passed on"
        ]
      ]
      for (const [wanted, message] of refused) {
        assert.strictEqual(told((yield* Effect.flip(offer.check(wanted))).reason), `InvalidRequest: ${message}`)
      }
      yield* offer.check({ ...source(uri), duration: 0, generate_audio: false })
      assert.deepStrictEqual(fal.state.requests, [])
    }).pipe(undici)
  )

  it.live("writes the input as the model's page says", () =>
    Effect.gen(function* () {
      const { fal, submit } = yield* at()
      yield* submit({ ...request, duration: 6, resolution: "4K", aspect_ratio: "9:16", seed: 7 })
      const other = yield* offered(Fal.adapter, fal.url, kling)
      const wanted: VideoRequest = {
        ...request,
        frame_images: [image, last],
        options: { negative_prompt: "rain", cfg_scale: 0.7 }
      }
      const handle = yield* other.submit(wanted)
      assert.deepStrictEqual(
        fal.state.requests.map(({ text }): unknown => JSON.parse(text)),
        [
          {
            prompt: "a harbor at dawn",
            duration: "6s",
            resolution: "4k",
            aspect_ratio: "9:16",
            seed: 7,
            generate_audio: true
          },
          {
            negative_prompt: "rain",
            cfg_scale: 0.7,
            prompt: "a harbor at dawn",
            duration: "5",
            image_url: "https://example.com/a.png",
            tail_image_url: "https://example.com/b.png"
          }
        ]
      )
      // The URLs of the job lack the rest of the model's path.
      const { status_url } = urlsOf(handle)
      assert.match(status_url, /\/fal-ai\/kling-video\/requests\/[\w-]+\/status$/)
      assert.deepStrictEqual<unknown>(yield* other.follow(handle, wanted), {
        status: "completed",
        outputs: 1,
        charge: { cost: 350_000, usage: { seconds: 5, videos: 1 } }
      })
    }).pipe(undici)
  )

  it.live("refuses, without a call, what the model does not support", () =>
    Effect.gen(function* () {
      const { fal, offer } = yield* at(kling)
      const refused: ReadonlyArray<readonly [VideoRequest, string]> = [
        [request, `frame_images: ${kling} needs a first frame`],
        [{ ...request, frame_images: [image], duration: 7 }, `duration: ${kling} makes videos of 5, 10 seconds`],
        [
          { ...request, frame_images: [image], aspect_ratio: "16:9" },
          `aspect_ratio: ${kling} does not support aspect_ratio`
        ],
        [
          { ...request, frame_images: [image], size: "1280x720" },
          `size: the sizes of ${kling} in pixels are not known. Use resolution and aspect_ratio.`
        ],
        [{ ...request, frame_images: [image], resolution: "1080p" }, `resolution: ${kling} does not support resolution`]
      ]
      for (const [wanted, message] of refused) {
        assert.strictEqual(told((yield* Effect.flip(offer.check(wanted))).reason), `InvalidRequest: ${message}`)
      }
      assert.deepStrictEqual(fal.state.requests, [])
    }).pipe(undici)
  )

  it.live("forwards images and audio as references, and ignores videos, whose length would be billed", () =>
    Effect.gen(function* () {
      const { fal, offer, submit } = yield* at("fal/bytedance/seedance-2.0/reference-to-video")
      const audio = { type: "audio_url", audio_url: { url: "https://example.com/a.mp3" } } as const
      const still = { type: "image_url", image_url: { url: "https://example.com/c.png" } } as const
      const clip = { type: "video_url", video_url: { url: "https://example.com/d.mp4" } } as const
      const all: VideoRequest = { ...request, size: "960x960", input_references: [audio, still, clip] }
      yield* submit(all)
      assert.deepStrictEqual(JSON.parse(fal.state.requests[0]?.text ?? ""), {
        prompt: "a harbor at dawn",
        duration: "5",
        resolution: "720p",
        aspect_ratio: "1:1",
        generate_audio: true,
        image_urls: ["https://example.com/c.png"],
        audio_urls: ["https://example.com/a.mp3"]
      })
      const id = offer.publicId
      assert.deepStrictEqual(offer.ignored?.(all), [
        `input_references: ${id} takes no video references, so they were ignored.`
      ])
      const alone: VideoRequest = { ...request, input_references: [audio] }
      yield* submit(alone)
      assert.notInclude(fal.state.requests[1]?.text ?? "", "audio_urls")
      assert.deepStrictEqual(offer.ignored?.(alone), [
        `input_references: ${id} uses audio only beside an image, so the audio was ignored.`
      ])
    }).pipe(undici)
  )

  it.live("never sends the key to a URL that is not at the host of the base URL", () =>
    Effect.gen(function* () {
      const { fal, offer, poll, submit } = yield* at()
      const stranger = yield* double
      const bad = (part: string) => ({
        request_id: "1",
        status_url: `${fal.url}/s`,
        response_url: `${fal.url}/r`,
        cancel_url: `${fal.url}/c`,
        [part]: `${stranger.url}/x`
      })
      for (const part of ["status_url", "response_url", "cancel_url"]) {
        fal.next({ body: bad(part) })
        assert.strictEqual(
          told((yield* Effect.flip(submit(request))).reason),
          "BadResponse: a URL of the job is not at the host of the base URL"
        )
        yield* Effect.flip(poll(bad(part), request))
        yield* Effect.flip(offer.cancel(bad(part), credential))
      }
      assert.deepStrictEqual(stranger.state.requests, [])
    }).pipe(undici)
  )

  it.live("reports a job as failed whose result says so, though its status is COMPLETED", () =>
    Effect.gen(function* () {
      const { fal, follow, submit } = yield* at()
      fal.jobs.next("fail")
      const status = yield* follow(yield* submit(request), request)
      assert.strictEqual(status.status, "failed")
      const message = status.status === "failed" ? status.message : ""
      assert.include(message, "The input image at <redacted> is not readable")
      assert.notMatch(message, /cdn|r8_|abc/)
      const results: ReadonlyArray<readonly [unknown, Scripted, string]> = [
        [undefined, { status: 410, body: {} }, "the provider could not make the video"],
        ["Runner error", { status: 500, body: { detail: "boom" } }, "the provider could not make the video"]
      ]
      for (const [error, result, message] of results) {
        const handle = yield* submit(request)
        fal.next({ body: { status: "COMPLETED", error } }, result)
        assert.deepStrictEqual(yield* follow(handle, request), { status: "failed", message })
      }
    }).pipe(undici)
  )

  it.live("asks again for a result that could not be read", () =>
    Effect.gen(function* () {
      const { fal, poll, submit } = yield* at(veo, { timeLimit: Duration.seconds(1) })
      const handle = yield* submit(request)
      const cases: ReadonlyArray<readonly [Scripted, string]> = [
        [{ status: 401, body: { detail: documentedMessages[401] } }, "Unauthorized"],
        [{ status: 429, body: {} }, "RateLimited"],
        [{ status: 503, body: {} }, "Overloaded"],
        [{ status: 500, body: {} }, "BadResponse"],
        [{ fault: "cutBody" }, "ConnectionLost"],
        [{ fault: "hang" }, "Timeout"]
      ]
      for (const [result, tag] of cases) {
        fal.next({ body: { status: "COMPLETED" } }, result)
        assert.strictEqual((yield* Effect.flip(poll(handle, request))).reason._tag, tag)
      }
    }).pipe(undici)
  )

  it.live("says that a job is complete without output, or that it is lost", () =>
    Effect.gen(function* () {
      const { fal, follow, submit } = yield* at()
      fal.jobs.next("empty", "lose")
      assert.deepInclude(yield* follow(yield* submit(request), request), { status: "completed", outputs: 0 })
      const { reason, status } = yield* Effect.flip(follow(yield* submit(request), request))
      assert.deepStrictEqual([reason._tag, status], ["UnknownModel", 404])
    }).pipe(undici)
  )

  it.live("fetches again under a new link when one has expired", () =>
    Effect.gen(function* () {
      const { fal, ...calls } = yield* at()
      yield* renewLink(fal, calls)
    }).pipe(undici)
  )

  it.live("takes several videos of one job", () =>
    Effect.gen(function* () {
      const { fal, poll, submit } = yield* at()
      const handle = yield* submit(request)
      const videos = [{ url: "https://v3.fal.media/1.mp4" }, { url: "https://v3.fal.media/2.mp4" }]
      fal.next({ body: { status: "COMPLETED" } }, { body: { videos } })
      assert.deepInclude(yield* poll(handle, request), { status: "completed", outputs: 2 })
    }).pipe(undici)
  )

  it.live("cancels a job, also one that is over or unknown", () =>
    Effect.gen(function* () {
      const { fal, follow, offer, submit } = yield* at()
      const handle = yield* submit(request)
      yield* offer.cancel(handle, credential)
      assert.deepStrictEqual(
        [...fal.jobs.jobs.values()].map(({ isCanceled }) => isCanceled),
        [true]
      )
      const done = yield* submit(request)
      yield* follow(done, request)
      yield* offer.cancel(done, credential)
      const unknown = urlsOf(done)
      yield* offer.cancel({ ...unknown, cancel_url: `${fal.url}/fal-ai/veo3.1/requests/x/cancel` }, credential)
    }).pipe(undici)
  )

  it.live("says what went wrong", () =>
    Effect.gen(function* () {
      const { fal, submit } = yield* at(veo, { timeLimit: Duration.seconds(1) })
      const cases: ReadonlyArray<readonly [Scripted, string]> = [
        [{ status: 400, body: { detail: "the prompt is too long" } }, "InvalidRequest: the prompt is too long"],
        [
          { status: 401, body: { detail: documentedMessages[401] } },
          "Unauthorized: the provider rejected its credentials"
        ],
        [
          { status: 403, body: { detail: documentedMessages[403] } },
          "OutOfCredit: the account at the provider is out of credit"
        ],
        [{ status: 403, body: { detail: "Forbidden" } }, "Unauthorized: the provider rejected its credentials"],
        [{ status: 404, body: { detail: documentedMessages[404] } }, "UnknownModel: unknown model fal-ai/veo3.1"],
        [
          { status: 429, headers: { "retry-after": "7" }, body: {} },
          "RateLimited: the provider's rate limit is exceeded"
        ],
        [{ status: 500, body: { detail: "Internal server error" } }, "BadResponse: status 500"],
        [{ body: { request_id: "1" } }, "BadResponse: JSON of another form at status_url"],
        [{ headers: { "content-type": "text/html" }, body: "<html>" }, "BadResponse: not JSON but text/html"],
        [
          { fault: "cutBody" },
          "ConnectionLost: the connection to the provider was lost before its answer was complete"
        ],
        [{ fault: "cut" }, "ConnectionLost: the connection to the provider was lost before its answer was complete"],
        [{ fault: "hang" }, "Timeout: the provider did not answer in time"]
      ]
      for (const [scripted, expected] of cases) {
        fal.next(scripted)
        assert.strictEqual(told((yield* Effect.flip(submit(request))).reason), expected)
      }
    }).pipe(undici)
  )

  it.live(
    "offers every built-in model in each of its forms, at the price of the quote",
    () =>
      Effect.gen(function* () {
        const fal = yield* double
        yield* makeAll(Fal.adapter, fal.url)
        // fal ignores what a path does not know, so that it would get lost.
        assert.deepStrictEqual(fal.unknown, [])
      }).pipe(undici),
    60_000
  )

  it.live("sends a request to the path of its images, with the fields of that path", () =>
    Effect.gen(function* () {
      const { fal, offer, submit } = yield* at()
      const still = { type: "image_url", image_url: { url: "https://example.com/c.png" } } as const
      yield* submit({ ...request, frame_images: [image], duration: 4, seed: 7 })
      yield* submit({ ...request, frame_images: [last, image], resolution: "4K", aspect_ratio: "9:16" })
      yield* submit({ ...request, input_references: [still, still], seed: 7 })
      assert.deepStrictEqual(
        fal.state.requests.map(({ text, url }): unknown => [url, JSON.parse(text)]),
        [
          [
            "/fal-ai/veo3.1/image-to-video",
            {
              prompt: "a harbor at dawn",
              duration: "4s",
              resolution: "720p",
              generate_audio: true,
              seed: 7,
              image_url: "https://example.com/a.png"
            }
          ],
          [
            "/fal-ai/veo3.1/first-last-frame-to-video",
            {
              prompt: "a harbor at dawn",
              duration: "8s",
              resolution: "4k",
              aspect_ratio: "9:16",
              generate_audio: true,
              first_frame_url: "https://example.com/a.png",
              last_frame_url: "https://example.com/b.png"
            }
          ],
          [
            "/fal-ai/veo3.1/reference-to-video",
            {
              prompt: "a harbor at dawn",
              duration: "8s",
              resolution: "720p",
              aspect_ratio: "16:9",
              generate_audio: true,
              image_urls: ["https://example.com/c.png", "https://example.com/c.png"]
            }
          ]
        ]
      )
      assert.deepStrictEqual(offer.ignored?.({ ...request, input_references: [still], seed: 7 }), [
        `seed: ${veo} takes no seed, so it was ignored.`
      ])
      assert.deepStrictEqual(offer.ignored?.({ ...request, seed: 7 }), [])
      const { frame_images, last_frame, max_reference_images, references } = offer.capabilities
      assert.deepStrictEqual([frame_images, last_frame, max_reference_images, references], [true, true, 3, ["image"]])
    }).pipe(undici)
  )

  it.live("follows a job at another path than the model's, and charges its price", () =>
    Effect.gen(function* () {
      const { content, fal, follow, offer, submit } = yield* at("fal/xai/grok-imagine-video/text-to-video")
      const wanted: VideoRequest = { ...request, duration: 5, resolution: "480p", frame_images: [image] }
      const handle = yield* submit(wanted)
      assert.strictEqual(fal.state.requests[0]?.url, "/xai/grok-imagine-video/image-to-video")
      // 5 seconds of 0.05, and 0.002 for the image, which the stored request still counts.
      const stored: VideoRequest = { ...wanted, frame_images: [{ ...image, image_url: { url: "data:," } }] }
      assert.deepStrictEqual<unknown>(yield* follow(handle, stored), {
        status: "completed",
        outputs: 1,
        charge: { cost: 252_000, usage: { seconds: 5, videos: 1 } }
      })
      assert.strictEqual(offer.quote(wanted), 252_000)
      assert.deepStrictEqual(yield* content(handle, stored), Buffer.from(video))
    }).pipe(undici)
  )

  it.live("refuses what the path of a request does not take, though another one does", () =>
    Effect.gen(function* () {
      const { fal, offer } = yield* at()
      const grok = yield* offered(Fal.adapter, fal.url, "fal/xai/grok-imagine-video/text-to-video")
      const still = { type: "image_url", image_url: { url: "https://example.com/c.png" } } as const
      const references = [still]
      const refused: ReadonlyArray<readonly [typeof offer, VideoRequest, string]> = [
        [
          offer,
          { ...request, frame_images: [image], input_references: references },
          `input_references: ${veo} takes frame images or references, not both`
        ],
        [offer, { ...request, frame_images: [last] }, `frame_images: ${veo} takes a last frame with a first one only`],
        [
          offer,
          { ...request, input_references: references, duration: 4 },
          `duration: ${veo} makes videos of 8 seconds`
        ],
        [
          offer,
          { ...request, input_references: [still, still, still, still] },
          `input_references: ${veo} takes at most 3 images, not 4`
        ],
        [
          offer,
          { ...request, options: { first_frame_url: "https://example.com/c.png" } },
          "provider.options.fal.first_frame_url: repeats what a field of the request says, so it cannot be passed on"
        ],
        [
          grok.offer,
          { ...request, frame_images: [image, last] },
          `frame_images: ${grok.offer.publicId} takes no last frame`
        ]
      ]
      for (const [{ check }, wanted, message] of refused) {
        const { reason } = yield* Effect.flip(check(wanted))
        const [first] = reason._tag === "InvalidRequest" ? (reason.issues ?? []) : []
        assert.strictEqual(`${first?.path}: ${first?.message}`, message)
      }
      assert.deepStrictEqual(fal.state.requests, [])
    }).pipe(undici)
  )

  it.live("says that every video of Kling 3 Turbo has sound", () =>
    Effect.gen(function* () {
      const { offer, submit } = yield* at("fal/fal-ai/kling-video/v3/turbo/pro/text-to-video")
      assert.isTrue(offer.capabilities.generate_audio)
      yield* submit({ ...request, generate_audio: true })
      assert.strictEqual(
        told((yield* Effect.flip(offer.check({ ...request, generate_audio: false }))).reason),
        `InvalidRequest: generate_audio: ${offer.publicId} makes videos with audio`
      )
    }).pipe(undici)
  )

  it.live("uses the credential of the call", () =>
    Effect.gen(function* () {
      const { fal, offer } = yield* at()
      const own = { id: "tenant", secret: Redacted.make("tenant-key") }
      yield* Effect.flip(offer.submit({ request, token: "t" }, own))
      assert.strictEqual(fal.state.requests[0]?.headers["authorization"], "Key tenant-key")
    }).pipe(undici)
  )

  it.live("names the field of a model that it cannot offer", () =>
    Effect.gen(function* () {
      const upstream = { name: "fal", baseUrl: "https://queue.fal.run", credential }
      const [model] = Fal.adapter.models
      if (model === undefined) return assert.fail("no model")
      const problem = (model: Model) =>
        Effect.map(Effect.flip(Fal.adapter.offers(upstream, [model])), ({ message }) => message)
      assert.match(yield* problem({ ...model, upstreamId: "https://example.com/x" }), /^must have an upstream id/)
      assert.match(
        yield* problem({
          ...model,
          parameters: { fields: {}, durations: [5], duration_form: "words", resolutions: ["720p"], aspect_ratios: [] }
        }),
        /duration_form/
      )
      const { fields, path } = { path: "fal-ai/x/image-to-video", fields: { first_frame: "image_url" } }
      const endpoints = { image: { path, fields, durations: [8] } }
      assert.match(
        yield* problem({
          ...model,
          parameters: { fields: {}, durations: [5, 8], resolutions: [], aspect_ratios: [], endpoints }
        }),
        /endpoint fal-ai\/x\/image-to-video without the default duration 5/
      )
    }).pipe(undici)
  )
})
