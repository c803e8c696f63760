import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, type Schema } from "effect"
import type { Upstream } from "@model-gateway/offers/Adapter"
import type { Model } from "@model-gateway/offers/Model"
import * as Runway from "../src/Runway.ts"
import type { VideoRequest } from "@model-gateway/offers/Video"
import { recorded } from "@model-gateway/test-doubles/recorded"
import type { Scripted } from "@model-gateway/test-doubles/Double"
import { video } from "@model-gateway/test-doubles/JobDouble"
import { documentedMessages, emptyAccount, startRunwayDouble } from "@model-gateway/test-doubles/RunwayDouble"
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

const double = started(startRunwayDouble)

const at = (model = "runway/gen4.5", options: Partial<Upstream> = {}) =>
  Effect.gen(function* () {
    const runway = yield* double
    return { runway, ...(yield* offered(Runway.adapter, runway.url, model, options)) }
  })

const withParameters = ({ parameters = {}, ...model }: Model, more: Schema.JsonObject): Model => ({
  ...model,
  parameters: Object.fromEntries([...Object.entries(parameters), ...Object.entries(more)])
})

const fromImage: VideoRequest = { ...request, frame_images: [image] }

describe("Runway", () => {
  it.live("makes a video, fetches it without the key, and charges the quote", () =>
    Effect.gen(function* () {
      const { content, follow, offer, runway, submit } = yield* at()
      const wanted: VideoRequest = { ...request, duration: 4, generate_audio: false, seed: 7 }
      const handle = yield* submit(wanted)
      assert.deepStrictEqual<unknown>(yield* follow(handle, wanted), {
        status: "completed",
        outputs: 1,
        charge: { cost: 480_000, usage: { seconds: 4, videos: 1 } }
      })
      assert.strictEqual(offer.quote(wanted), 480_000)
      assert.deepStrictEqual(yield* content(handle, wanted), Buffer.from(video))
      const seen = runway.state.requests
      assert.deepStrictEqual(
        seen.map(({ method, url }) => `${method} ${url.replace(/[0-9a-f-]{20,}/, "id")}`),
        ["POST /v1/text_to_video", "GET /v1/tasks/id", "GET /v1/tasks/id", "GET /v1/tasks/id", "GET /files/id.mp4"]
      )
      assert.deepStrictEqual(
        seen.map(({ headers }) => [headers["authorization"], headers["x-runway-version"]]),
        [...Array.from({ length: 4 }, () => [`Bearer ${key}`, "2024-11-06"]), [undefined, undefined]]
      )
      assert.deepStrictEqual(JSON.parse(seen[0]?.text ?? ""), {
        model: "gen4.5",
        promptText: "a harbor at dawn",
        ratio: "1280:720",
        duration: 4,
        seed: 7
      })
      assert.deepStrictEqual([offer.pollInterval, offer.isIdempotent], [Duration.seconds(5), false])
    }).pipe(undici)
  )

  it.live("makes a video from an image, in the aspect ratios that need one", () =>
    Effect.gen(function* () {
      const { runway, submit } = yield* at()
      yield* submit({ ...fromImage, aspect_ratio: "1:1", options: { contentModeration: {} } })
      const turbo = yield* offered(Runway.adapter, runway.url, "runway/gen4_turbo")
      const withoutPrompt: VideoRequest = { frame_images: [image], aspect_ratio: "21:9", duration: 2 }
      yield* turbo.submit(withoutPrompt)
      assert.strictEqual(turbo.offer.quote(withoutPrompt), 100_000)
      assert.deepStrictEqual(
        runway.state.requests.map(({ text, url }): unknown => [url, JSON.parse(text)]),
        [
          [
            "/v1/image_to_video",
            {
              model: "gen4.5",
              promptText: "a harbor at dawn",
              promptImage: [{ uri: image.image_url.url, position: "first" }],
              ratio: "960:960",
              duration: 5,
              contentModeration: {}
            }
          ],
          [
            "/v1/image_to_video",
            {
              model: "gen4_turbo",
              promptImage: [{ uri: image.image_url.url, position: "first" }],
              ratio: "1584:672",
              duration: 2
            }
          ]
        ]
      )
    }).pipe(undici)
  )

  it.live("makes a size of its table, and names the field of one that needs an image", () =>
    Effect.gen(function* () {
      const { offer, runway, submit } = yield* at()
      yield* submit({ ...request, size: "720x1280" })
      // Its 720p at 4:3 has no side of 720 pixels.
      yield* submit({ ...fromImage, size: "1104x832", resolution: "720p" })
      assert.deepStrictEqual(
        runway.state.requests.map(({ text }) => /"ratio":"([^"]+)"/.exec(text)?.[1]),
        ["720:1280", "1104:832"]
      )
      const { reason } = yield* Effect.flip(offer.check({ ...request, size: "960x960" }))
      assert.deepStrictEqual(reason._tag === "InvalidRequest" && reason.issues?.map(({ path }) => path), ["size"])
    }).pipe(undici)
  )

  it.live("refuses, before it is called, what the model does not take", () =>
    Effect.gen(function* () {
      const { offer, runway } = yield* at()
      const turbo = yield* offered(Runway.adapter, runway.url, "runway/gen4_turbo")
      const check = (request: VideoRequest, { check } = offer) =>
        Effect.map(Effect.flip(check(request)), ({ reason }) => reason.message)
      const data = { ...image, image_url: { url: `data:image/png;base64,${"A".repeat(5 * 1024 * 1024)}` } }
      assert.deepStrictEqual(
        [
          yield* check({ ...request, prompt: "a".repeat(1001) }),
          yield* check({ ...request, aspect_ratio: "1:1" }),
          yield* check({ ...request, resolution: "1080p" }),
          yield* check({ ...request, duration: 11 }),
          yield* check({ ...request, generate_audio: true }),
          yield* check({ ...request, options: { outputFormat: "prores" } }),
          yield* check({ ...request, frame_images: [data] }),
          yield* check({ ...fromImage, frame_images: [image, { ...image, frame_type: "last_frame" }] }),
          yield* check(request, turbo.offer)
        ],
        [
          "prompt: runway/gen4.5 takes at most 1000 characters",
          "aspect_ratio: runway/gen4.5 makes no video of this aspect ratio and resolution without an image",
          "resolution: runway/gen4.5 does not support 1080p. Choose 720p.",
          "duration: runway/gen4.5 supports at most 10 seconds",
          "generate_audio: runway/gen4.5 makes videos without audio",
          "provider.options.runway.outputFormat: changes the price, so it cannot be passed on",
          "frame_images.0.image_url.url: runway/gen4.5 takes a URL of at most 2048 characters, or a data: URI of at most 5 MiB",
          "frame_images: runway/gen4.5 takes no last frame",
          "frame_images: runway/gen4_turbo needs a first frame"
        ]
      )
      assert.lengthOf(runway.state.requests, 0)
    }).pipe(undici)
  )

  it.live(
    "offers every built-in model in each of its forms, at the price of the quote",
    () =>
      Effect.gen(function* () {
        yield* makeAll(Runway.adapter, (yield* double).url)
      }).pipe(undici),
    60_000
  )

  it.live("writes each model's task as its schema says", () =>
    Effect.gen(function* () {
      const { runway } = yield* at()
      const still = { type: "image_url", image_url: { url: "https://example.com/c.png" } } as const
      const audio = { type: "audio_url", audio_url: { url: "https://example.com/d.mp3" } } as const
      const clip = { type: "video_url", video_url: { url: "https://example.com/e.mp4" } } as const
      const promptText = "a harbor at dawn"
      const first = { uri: "https://example.com/a.png", position: "first" }
      const end = { uri: "https://example.com/b.png", position: "last" }
      const cases: ReadonlyArray<readonly [string, VideoRequest, string, object]> = [
        [
          "veo3.1",
          { ...request, frame_images: [image, last], resolution: "1080p", generate_audio: false, seed: 7 },
          "image_to_video",
          { promptText, promptImage: [first, end], ratio: "1920:1080", duration: 8, audio: false, seed: 7 }
        ],
        [
          "seedance2",
          { ...request, input_references: [still, audio, clip], aspect_ratio: "21:9", resolution: "1080p" },
          "text_to_video",
          {
            promptText,
            references: [{ uri: "https://example.com/c.png" }],
            referenceAudio: [{ type: "audio", uri: "https://example.com/d.mp3" }],
            ratio: "2206:946",
            duration: 5,
            audio: true
          }
        ],
        [
          "hailuo3",
          { ...request, resolution: "2K", aspect_ratio: "9:16", seed: 7 },
          "text_to_video",
          { promptText, ratio: "9:16", resolution: "2k", duration: 5 }
        ],
        [
          "hailuo3",
          { ...request, frame_images: [image] },
          "image_to_video",
          { promptText, promptImage: [first], resolution: "768p", duration: 5 }
        ],
        [
          "wan3",
          { ...request, frame_images: [image, last], resolution: "480p" },
          "image_to_video",
          { promptText, promptImage: [first, end], ratio: "auto_480p", duration: 5, audio: true }
        ],
        [
          "wan3",
          { ...request, size: "832x480" },
          "text_to_video",
          { promptText, ratio: "832:480", duration: 5, audio: true }
        ],
        [
          "grok_imagine_1_5",
          { frame_images: [image], resolution: "1080p" },
          "image_to_video",
          { promptImage: [first], resolution: "1080p", duration: 5 }
        ],
        [
          "grok_imagine_1_5",
          { ...request, input_references: [still], aspect_ratio: "3:2" },
          "text_to_video",
          {
            promptText,
            references: [{ uri: "https://example.com/c.png" }],
            ratio: "3:2",
            resolution: "720p",
            duration: 5
          }
        ]
      ]
      for (const [model, wanted, operation, body] of cases) {
        const { follow, offer, submit } = yield* offered(Runway.adapter, runway.url, `runway/${model}`)
        const before = runway.state.requests.length
        assert.strictEqual((yield* follow(yield* submit(wanted), wanted)).status, "completed")
        const sent = runway.state.requests[before]
        assert.deepStrictEqual<unknown>(
          [sent?.url, JSON.parse(sent?.text ?? "")],
          [`/v1/${operation}`, { model, ...body }]
        )
        const ignored = offer.ignored?.(wanted) ?? []
        assert.strictEqual(
          ignored.length > 0,
          wanted.seed !== undefined && model === "hailuo3" ? true : wanted.input_references?.includes(clip) === true
        )
      }
    }).pipe(undici)
  )

  it.live("takes prompts as long as the model does", () =>
    Effect.gen(function* () {
      const { offer, runway, submit } = yield* at("runway/seedance2")
      yield* submit({ ...request, prompt: "a".repeat(3500) })
      assert.strictEqual(runway.state.requests.length, 1)
      assert.strictEqual(
        told((yield* Effect.flip(offer.check({ ...request, prompt: "a".repeat(3501) }))).reason),
        "InvalidRequest: prompt: runway/seedance2 takes at most 3500 characters"
      )
    }).pipe(undici)
  )

  it.live("charges what the task says that it cost", () =>
    Effect.gen(function* () {
      const { follow, offer, runway, submit } = yield* at()
      const wanted: VideoRequest = { ...request, duration: 4 }
      const costs: ReadonlyArray<readonly [{ readonly cost?: { readonly credits: number } | null }, number]> = [
        [{ cost: { credits: 31 } }, 310_000],
        [{ cost: { credits: 3.4 } }, 34_000],
        // A task that was refunded.
        [{ cost: { credits: 0 } }, 0],
        // Without a cost that makes sense, the list price.
        [{}, 480_000],
        [{ cost: null }, 480_000],
        [{ cost: { credits: -1 } }, 480_000],
        [{ cost: { credits: 48_000 } }, 480_000],
        [{ cost: { credits: 1e300 } }, 480_000]
      ]
      for (const [bill, cost] of costs) {
        runway.billAs(bill)
        const status = yield* follow(yield* submit(wanted), wanted)
        assert.deepStrictEqual<unknown>(status.status === "completed" && status.charge, {
          cost,
          usage: { seconds: 4, videos: 1 }
        })
      }
      assert.strictEqual(offer.quote(wanted), 480_000)
      const [model] = Runway.adapter.models
      if (model === undefined) return assert.fail("no model")
      const contract = withParameters(model, { credit_price: 8000 })
      const cheaper = yield* offered(Runway.adapter, runway.url, model.publicId, { models: [contract] })
      const charged = yield* cheaper.follow(yield* cheaper.submit(wanted), wanted)
      assert.strictEqual<unknown>(charged.status === "completed" && charged.charge.cost, 384_000)
    }).pipe(undici)
  )

  it.live("prices the resolution that it sends, also where only another one has the aspect ratio", () =>
    Effect.gen(function* () {
      const mixed: Model = {
        kind: "video",
        publicId: "runway/mixed",
        upstreamId: "seedance2",
        name: "Mixed",
        pricing: {
          unit: "second",
          prices: [
            { resolution: "720p", microCredits: 360_000 },
            { resolution: "1080p", microCredits: 400_000 },
            { resolution: "4K", microCredits: 1_500_000 }
          ]
        },
        parameters: {
          ratios: [
            { ratio: "1280:720", resolution: "720p", aspect_ratio: "16:9" },
            { ratio: "1440:1440", resolution: "1080p", aspect_ratio: "1:1" },
            { ratio: "3840:2160", resolution: "4K", aspect_ratio: "16:9" }
          ],
          durations: [5]
        }
      }
      const { runway } = yield* at()
      const { follow, offer, submit } = yield* offered(Runway.adapter, runway.url, mixed.publicId, { models: [mixed] })
      const cases: ReadonlyArray<readonly [VideoRequest, string, number]> = [
        [request, "1280:720", 1_800_000],
        [{ ...request, aspect_ratio: "1:1" }, "1440:1440", 2_000_000],
        [{ ...request, size: "3840x2160" }, "3840:2160", 7_500_000],
        [{ ...request, resolution: "4K" }, "3840:2160", 7_500_000]
      ]
      for (const [wanted, ratio, cost] of cases) {
        assert.strictEqual(offer.quote(wanted), cost)
        const before = runway.state.requests.length
        const status = yield* follow(yield* submit(wanted), wanted)
        assert.include(runway.state.requests[before]?.text, `"ratio":"${ratio}"`)
        assert.strictEqual<unknown>(status.status === "completed" && status.charge.cost, cost)
      }
    }).pipe(undici)
  )

  it.live("lets the model choose the duration, reserves the longest, and charges what it was", () =>
    Effect.gen(function* () {
      const model = Runway.adapter.models.find(({ publicId }) => publicId === "runway/seedance2_mini")
      if (model === undefined) return assert.fail("no model")
      const auto = withParameters(model, { auto_duration: true })
      const { runway } = yield* at()
      const { follow, offer, submit } = yield* offered(Runway.adapter, runway.url, model.publicId, { models: [auto] })
      assert.deepStrictEqual([offer.capabilities.default_duration, offer.quote(request)], [0, 2_400_000])
      const status = yield* follow(yield* submit(request), request)
      assert.include(runway.state.requests[0]?.text, '"duration":"auto"')
      assert.strictEqual<unknown>(status.status === "completed" && status.charge.cost, 960_000)
      yield* submit({ ...request, duration: 4 })
      assert.include(runway.state.requests.at(-1)?.text, '"duration":4')
      assert.strictEqual(offer.quote({ ...request, duration: 4 }), 640_000)
    }).pipe(undici)
  )

  it.live("refuses what a form of a model does not take, and parameters without a size", () =>
    Effect.gen(function* () {
      const { runway } = yield* at()
      const still = { type: "image_url", image_url: { url: "https://example.com/c.png" } } as const
      const references = [still]
      const mp3 = {
        type: "audio_url",
        audio_url: { url: `data:audio/mp3;base64,${"A".repeat(5 * 1024 * 1024)}` }
      } as const
      const cases: ReadonlyArray<readonly [string, VideoRequest, string]> = [
        [
          "seedance2",
          { ...request, frame_images: [image], input_references: references },
          "input_references: runway/seedance2 takes frame images or references, not both"
        ],
        ["seedance2", { input_references: references }, "prompt: runway/seedance2 needs a prompt or a first frame"],
        [
          "grok_imagine_1_5",
          { ...request, input_references: references, resolution: "1080p" },
          "resolution: runway/grok_imagine_1_5 makes no video of this aspect ratio and resolution from references"
        ],
        [
          "grok_imagine_1_5",
          { ...request, frame_images: [image], aspect_ratio: "1:1" },
          "aspect_ratio: runway/grok_imagine_1_5 makes no video of this aspect ratio and resolution from an image"
        ],
        [
          "wan3",
          { ...request, frame_images: [image], aspect_ratio: "1:1" },
          "aspect_ratio: runway/wan3 makes no video of this aspect ratio and resolution from an image"
        ],
        ["hailuo3", { ...request, generate_audio: false }, "generate_audio: runway/hailuo3 makes videos with audio"],
        [
          "veo3.1",
          { ...request, input_references: references },
          "input_references.0: runway/veo3.1 takes no image references"
        ],
        [
          "seedance2",
          { ...request, input_references: [still, mp3] },
          "input_references.1.audio_url.url: runway/seedance2 takes a URL of at most 2048 characters, or a data: URI of at most 5 MiB"
        ]
      ]
      for (const [model, wanted, message] of cases) {
        const { offer } = yield* offered(Runway.adapter, runway.url, `runway/${model}`)
        const { reason } = yield* Effect.flip(offer.check(wanted))
        const [first] = reason._tag === "InvalidRequest" ? (reason.issues ?? []) : []
        assert.strictEqual(`${first?.path}: ${first?.message}`, message)
      }
      assert.deepStrictEqual(runway.state.requests, [])
      // What is ignored may be as long as it likes.
      const { offer: silent } = yield* offered(Runway.adapter, runway.url, "runway/gen4.5")
      yield* silent.check({ ...request, input_references: [mp3] })
      const [model] = Runway.adapter.models
      if (model === undefined) return assert.fail("no model")
      const upstream = { name: "runway", baseUrl: runway.url, credential }
      const problem = yield* Effect.flip(
        Runway.adapter.offers(upstream, [{ ...model, parameters: { durations: [5] } }])
      )
      assert.include(problem.message, "either ratios or resolutions")
    }).pipe(undici)
  )

  it.live("says why a task failed, in words for callers", () =>
    Effect.gen(function* () {
      const { follow, runway, submit } = yield* at()
      const failures: ReadonlyArray<readonly [string | undefined, string]> = [
        ["SAFETY.INPUT.TEXT", "the provider's content moderation rejected the input"],
        ["SAFETY.OUTPUT.VIDEO", "the provider's content moderation rejected the video"],
        ["INPUT_PREPROCESSING.SAFETY.TEXT", "the provider's content moderation rejected the input"],
        ["ASSET.INVALID", "The input image at <redacted> is not readable (<redacted>)"],
        ["INTERNAL.BAD_OUTPUT.CODE01", "the provider could not make the video"],
        [undefined, "the provider could not make the video"]
      ]
      for (const [code, message] of failures) {
        runway.jobs.next("fail")
        if (code !== undefined) runway.failWith(code)
        assert.deepStrictEqual(yield* follow(yield* submit(request), request), { status: "failed", message })
      }
      const canceled = yield* submit(request)
      const { offer } = yield* offered(Runway.adapter, runway.url, "runway/gen4.5")
      yield* offer.cancel(canceled, credential)
      assert.deepStrictEqual(yield* follow(canceled, request), {
        status: "failed",
        message: "the provider canceled the job"
      })
      yield* offer.cancel("8f2a", credential)
    }).pipe(undici)
  )

  it.live("reports a lost task, no output, and an expired link, which the next download renews", () =>
    Effect.gen(function* () {
      const { runway, ...calls } = yield* at()
      const { follow, poll, submit } = calls
      runway.jobs.next("lose", "empty")
      const lost = yield* submit(request)
      yield* poll(lost, request)
      const gone = yield* Effect.flip(poll(lost, request))
      assert.deepStrictEqual([gone.reason._tag, gone.status], ["UnknownModel", 404])
      const empty = yield* follow(yield* submit(request), request)
      assert.include(empty, { status: "completed", outputs: 0 })
      yield* renewLink(runway, calls)
    }).pipe(undici)
  )

  it.live("maps every failure of a submission to its reason", () =>
    Effect.gen(function* () {
      const says = (status: keyof typeof documentedMessages, headers = {}): Scripted => ({
        status,
        headers,
        body: { error: documentedMessages[status] }
      })
      const failures: ReadonlyArray<readonly [Scripted, string]> = [
        [
          { status: 400, body: { error: "Validation of body failed: ratio" } },
          "InvalidRequest: Validation of body failed: ratio"
        ],
        [{ status: 400, body: { error: emptyAccount } }, "OutOfCredit: the account at the provider is out of credit"],
        [says(401), "Unauthorized: the provider rejected its credentials"],
        [says(429, { "retry-after": "17" }), "RateLimited: the provider's rate limit is exceeded"],
        [{ status: 500 }, "BadResponse: status 500"],
        [{ status: 502 }, "Overloaded: the provider is overloaded"],
        [says(503), "Overloaded: the provider is overloaded"],
        [{ status: 504 }, "Timeout: the provider did not answer in time"],
        [{ body: "<html>", headers: { "content-type": "text/html" } }, "BadResponse: not JSON but text/html"],
        [{ body: { id: "../keys" } }, "BadResponse: JSON of another form at id"],
        [{ fault: "cut" }, "ConnectionLost: the connection to the provider was lost before its answer was complete"],
        [{ fault: "cutBody" }, "ConnectionLost: the connection to the provider was lost before its answer was complete"]
      ]
      const { runway, submit } = yield* at()
      for (const [scripted, expected] of failures) {
        runway.next(scripted)
        assert.strictEqual(told((yield* Effect.flip(submit(request))).reason), expected)
      }
      runway.next({ body: { id: "0197-a", estimatedCost: { credits: 1 }, unknown: [] } })
      assert.strictEqual(yield* submit(request), "0197-a")
      const silent = yield* at("runway/gen4.5", { timeLimit: "50 millis" })
      silent.runway.next({ fault: "hang" })
      assert.strictEqual((yield* Effect.flip(silent.submit(request))).reason._tag, "Timeout")
    }).pipe(undici)
  )

  it.live("shows the key in no error, log or span", () =>
    Effect.gen(function* () {
      const { runway, submit } = yield* at()
      for (const scripted of [{ status: 400, body: { error: `bad ${key}` } }, { fault: "cut" as const }]) {
        runway.next(scripted)
        assert.notInclude(yield* recorded(submit(request)), key)
      }
    }).pipe(undici)
  )
})
