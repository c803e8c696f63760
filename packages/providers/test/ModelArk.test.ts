import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import type { Upstream } from "@model-gateway/offers/Adapter"
import type { VideoModel } from "@model-gateway/offers/Model"
import type { VideoRequest } from "@model-gateway/offers/Video"
import * as Fal from "../src/Fal.ts"
import * as ModelArk from "../src/ModelArk.ts"
import type { Scripted } from "@model-gateway/test-doubles/Double"
import { video } from "@model-gateway/test-doubles/JobDouble"
import { documentedErrors, startModelArkDouble } from "@model-gateway/test-doubles/ModelArkDouble"
import { recorded } from "@model-gateway/test-doubles/recorded"
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

const double = started(startModelArkDouble)

const seedance = "modelark/dreamina-seedance-2-0-260128"

const at = (model = seedance, options: Partial<Upstream> = {}) =>
  Effect.gen(function* () {
    const ark = yield* double
    return { ark, ...(yield* offered(ModelArk.adapter, `${ark.url}/api/v3`, model, options)) }
  })

const url = (name: string) => ({ url: `https://example.com/${name}` })
const reference = (name: string) => ({ type: "image_url", image_url: url(`${name}.png`) }) as const
const voice = { type: "audio_url", audio_url: url("a.mp3") } as const

describe("ModelArk", () => {
  it.live("makes a video, fetches it without the key, and charges the tokens that it reports", () =>
    Effect.gen(function* () {
      const { ark, content, follow, offer, submit } = yield* at()
      const wanted: VideoRequest = {
        ...request,
        aspect_ratio: "16:9",
        generate_audio: false,
        frame_images: [image, last],
        options: { watermark: false }
      }
      const handle = yield* submit(wanted)
      // 1280 × 720 × 121 frames / 1024 are 108,900 tokens, of 7 credits a million.
      assert.deepStrictEqual<unknown>(yield* follow(handle, wanted), {
        status: "completed",
        outputs: 1,
        charge: { cost: 762_300, usage: { seconds: 5, videos: 1, output_tokens: 108_900 } }
      })
      assert.strictEqual(offer.quote(wanted), 762_300)
      assert.deepStrictEqual(yield* content(handle, wanted), Buffer.from(video))
      const seen = ark.state.requests
      assert.deepStrictEqual(JSON.parse(seen[0]?.text ?? ""), {
        model: "dreamina-seedance-2-0-260128",
        content: [
          { type: "text", text: "a harbor at dawn" },
          { type: "image_url", image_url: image.image_url, role: "first_frame" },
          { type: "image_url", image_url: last.image_url, role: "last_frame" }
        ],
        duration: 5,
        resolution: "720p",
        ratio: "16:9",
        generate_audio: false,
        watermark: false
      })
      assert.deepStrictEqual(
        [seen[0]?.method, seen[0]?.url, seen[0]?.headers["authorization"]],
        ["POST", "/api/v3/contents/generations/tasks", `Bearer ${key}`]
      )
      assert.isUndefined(seen.at(-1)?.headers["authorization"])
      assert.deepStrictEqual([offer.pollInterval, offer.isIdempotent], [Duration.seconds(5), false])
    }).pipe(undici)
  )

  it.live("quotes the largest video that a request can mean, and charges the one that was made", () =>
    Effect.gen(function* () {
      const { follow, offer, poll, submit, ark } = yield* at()
      const handle = yield* submit(request)
      const status = yield* follow(handle, request)
      assert.deepStrictEqual<unknown>(status.status === "completed" && status.charge.cost, 762_300)
      // At 4:3, 720p has 1112 × 834 pixels.
      assert.strictEqual(offer.quote(request), 767_109)
      assert.strictEqual(
        offer.quote({ ...request, resolution: "1080p", duration: 15, aspect_ratio: "16:9" }),
        5_628_893
      )
      assert.strictEqual(offer.quote({ ...request, size: "640x640" }), 338_800)
      // Without a count that can be right, what was reserved.
      for (const completion_tokens of [undefined, -1, 1.5, 100_000_000, 1e300]) {
        const content = { video_url: "https://example.com/a.mp4" }
        ark.next({ body: { status: "succeeded", content, usage: { completion_tokens } } })
        const unbilled = yield* poll(handle, request)
        assert.deepStrictEqual<unknown>(unbilled.status === "completed" && unbilled.charge.cost, 767_109)
      }
      const pro = yield* offered(ModelArk.adapter, `${ark.url}/api/v3`, "modelark/seedance-1-5-pro-251215")
      const wide: VideoRequest = { ...request, aspect_ratio: "16:9" }
      assert.deepStrictEqual(
        [pro.offer.quote(wide), pro.offer.quote({ ...wide, generate_audio: false })],
        [261_360, 130_680]
      )
    }).pipe(undici)
  )

  it.live("costs at most the quote, for every model, duration and resolution", () =>
    Effect.gen(function* () {
      const { ark } = yield* at()
      yield* makeAll(ModelArk.adapter, `${ark.url}/api/v3`, undefined, { aspect_ratio: "16:9" })
    }).pipe(undici)
  )

  it.live("takes references to images, and to audio beside an image", () =>
    Effect.gen(function* () {
      const { ark, offer, submit } = yield* at()
      const wanted: VideoRequest = { ...request, input_references: [reference("a"), reference("b"), voice] }
      yield* submit(wanted)
      assert.deepInclude(JSON.parse(ark.state.requests[0]?.text ?? ""), {
        content: [
          { type: "text", text: "a harbor at dawn" },
          { type: "image_url", image_url: url("a.png"), role: "reference_image" },
          { type: "image_url", image_url: url("b.png"), role: "reference_image" },
          { type: "audio_url", audio_url: url("a.mp3"), role: "reference_audio" }
        ]
      })
      const clip = { type: "video_url", video_url: url("a.mp4") } as const
      assert.deepStrictEqual(offer.ignored?.({ ...request, seed: 7, input_references: [voice, clip] }), [
        `input_references: ${seedance} uses audio only beside an image, so the audio was ignored.`,
        `input_references: ${seedance} takes no video references, so they were ignored.`,
        `seed: ${seedance} takes no seed, so it was ignored.`
      ])
    }).pipe(undici)
  )

  it.live("refuses, before it is called, what the model does not take", () =>
    Effect.gen(function* () {
      const { ark, offer } = yield* at()
      const check = (request: VideoRequest) =>
        Effect.map(Effect.flip(offer.check(request)), ({ reason }) => reason.message)
      const references = Array.from({ length: 10 }, (_, at) => reference(String(at)))
      assert.deepStrictEqual(
        [
          yield* check({ ...request, frame_images: [image], input_references: [reference("a")] }),
          yield* check({ ...request, input_references: references }),
          yield* check({ ...request, input_references: [reference("a"), voice, voice, voice, voice] }),
          yield* check({ ...request, duration: 3 }),
          yield* check({ ...request, resolution: "4K" }),
          yield* check({ ...request, size: "1x1" }),
          yield* check({ ...request, prompt: "a harbor --dur 12 --rs 1080p" }),
          yield* check({ ...request, options: { prompt: "a harbor --dur 12" } }),
          yield* check({ ...request, options: { draft: true } }),
          yield* check({ ...request, options: { service_tier: "flex" } }),
          yield* check({ ...request, options: { callback_url: "https://example.com" } })
        ].map((message) => message.slice(0, 110)),
        [
          `input_references: ${seedance} takes frame images or references, not both`,
          `input_references: ${seedance} takes at most 9 images, not 10`,
          `input_references: ${seedance} takes at most 3 audio files, not 4`,
          `duration: ${seedance} makes videos of 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 seconds`.slice(0, 110),
          `resolution: ${seedance} does not support 4K. Choose 480p, 720p or 1080p.`,
          `size: ${seedance} does not support 1x1. Choose 864x496, 752x560, 640x640, 560x752, 496x864`.slice(0, 110),
          `prompt: ${seedance} would read commands in the prompt, such as --duration. Use the fields`.slice(0, 110),
          "provider.options.modelark.prompt: repeats what a field of the request says, so it cannot be passed on",
          "provider.options.modelark.draft: changes the price, so it cannot be passed on",
          "provider.options.modelark.service_tier: changes the price, so it cannot be passed on",
          "provider.options.modelark.callback_url: says where results are sent, so it cannot be passed on"
        ]
      )
      assert.lengthOf(ark.state.requests, 0)
    }).pipe(undici)
  )

  it.live("says why a task failed, in words for callers, and cancels one that waits", () =>
    Effect.gen(function* () {
      const { ark, follow, offer, poll, submit } = yield* at()
      const failures = [
        ["InputImageSensitiveContentDetected", "the provider's content moderation rejected the input"],
        ["OutputVideoSensitiveContentDetected", "the provider's content moderation rejected the video"],
        ["InternalServiceError", "the provider could not make the video"],
        ["expired", "the provider did not make the video in time"]
      ] as const
      for (const [code, message] of failures) {
        ark.jobs.next("fail")
        ark.failWith(code)
        assert.deepStrictEqual(yield* follow(yield* submit(request), request), { status: "failed", message })
      }
      const waiting = yield* submit(request)
      yield* offer.cancel(waiting, credential)
      assert.deepStrictEqual(yield* follow(waiting, request), {
        status: "failed",
        message: "the provider canceled the job"
      })
      // Neither one that runs nor one that is gone can be canceled.
      const running = yield* submit(request)
      yield* poll(running, request)
      yield* offer.cancel(running, credential)
      yield* offer.cancel("cgt-0", credential)
      ark.next({ body: { status: "thinking" } })
      assert.strictEqual(told((yield* Effect.flip(poll(running, request))).reason), "BadResponse: an unknown status")
    }).pipe(undici)
  )

  it.live("reports a lost task, no output, and an expired link, which the next download renews", () =>
    Effect.gen(function* () {
      const { ark, ...calls } = yield* at()
      const { follow, poll, submit } = calls
      ark.jobs.next("lose", "empty")
      const lost = yield* submit(request)
      yield* poll(lost, request)
      const gone = yield* Effect.flip(poll(lost, request))
      assert.deepStrictEqual([gone.reason._tag, gone.status], ["UnknownModel", 404])
      assert.include(yield* follow(yield* submit(request), request), { status: "completed", outputs: 0 })
      yield* renewLink(ark, calls)
    }).pipe(undici)
  )

  it.live("maps every failure of a submission to its reason", () =>
    Effect.gen(function* () {
      const lost = "ConnectionLost: the connection to the provider was lost before its answer was complete"
      const failures: ReadonlyArray<readonly [Scripted, string]> = [
        [
          {
            status: 400,
            body: { error: { code: "InvalidParameter", message: "ratio is not valid", type: "BadRequest" } }
          },
          "InvalidRequest: ratio is not valid"
        ],
        [documentedErrors.invalidKey, "Unauthorized: the provider rejected its credentials"],
        [documentedErrors.overdue, "OutOfCredit: the account at the provider is out of credit"],
        [documentedErrors.notOpen, "UnknownModel: unknown model dreamina-seedance-2-0-260128"],
        [
          { status: 400, body: { error: { code: "InvalidEndpoint.ClosedEndpoint", message: "closed" } } },
          "UnknownModel: unknown model dreamina-seedance-2-0-260128"
        ],
        [
          { ...documentedErrors.rateLimit, headers: { "retry-after": "17" } },
          "RateLimited: the provider's rate limit is exceeded"
        ],
        [documentedErrors.server, "BadResponse: status 500"],
        [{ status: 503 }, "Overloaded: the provider is overloaded"],
        [{ body: "<html>", headers: { "content-type": "text/html" } }, "BadResponse: not JSON but text/html"],
        [{ body: { id: "../keys" } }, "BadResponse: JSON of another form at id"],
        [{ fault: "cut" }, lost],
        [{ fault: "cutBody" }, lost]
      ]
      const { ark, submit } = yield* at()
      for (const [scripted, expected] of failures) {
        ark.next(scripted)
        assert.strictEqual(told((yield* Effect.flip(submit(request))).reason), expected)
      }
      ark.next(documentedErrors.sensitive)
      assert.strictEqual((yield* Effect.flip(submit(request))).reason._tag, "InvalidRequest")
      ark.next({ body: { id: "cgt-2026-a", unknown: [] } })
      assert.strictEqual(yield* submit(request), "cgt-2026-a")
      const silent = yield* at(seedance, { timeLimit: "50 millis" })
      silent.ark.next({ fault: "hang" })
      assert.strictEqual((yield* Effect.flip(silent.submit(request))).reason._tag, "Timeout")
    }).pipe(undici)
  )

  it.live("shows the key in no error, log or span", () =>
    Effect.gen(function* () {
      const { ark, submit } = yield* at()
      for (const scripted of [{ status: 400, body: { error: { message: `bad ${key}` } } }, { fault: "cut" as const }]) {
        ark.next(scripted)
        assert.notInclude(yield* recorded(submit(request)), key)
      }
    }).pipe(undici)
  )

  it.effect("is the only kind of upstream whose models may have a price per token", () =>
    Effect.gen(function* () {
      const [model] = ModelArk.adapter.models
      if (model?.kind !== "video") return assert.fail("no video model")
      const priced: VideoModel = { ...model, upstreamId: "fal-ai/x", parameters: { fields: {} } }
      const upstream = { name: "fal", baseUrl: "https://queue.fal.run", credential }
      const error = yield* Effect.flip(Fal.adapter.offers(upstream, [priced]))
      assert.strictEqual(error.message, "must have a price per second or video")
    }).pipe(undici)
  )
})
