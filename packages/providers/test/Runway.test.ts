import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import type { Upstream } from "@model-gateway/offers/Adapter"
import * as Runway from "../src/Runway.ts"
import type { VideoRequest } from "@model-gateway/offers/Video"
import { recorded } from "@model-gateway/test-doubles/recorded"
import type { Scripted } from "@model-gateway/test-doubles/Double"
import { video } from "@model-gateway/test-doubles/JobDouble"
import { documentedMessages, emptyAccount, startRunwayDouble } from "@model-gateway/test-doubles/RunwayDouble"
import { credential, image, key, offered, renewLink, request, started, told, undici } from "./support/videoJobs.ts"

const double = started(startRunwayDouble)

const at = (model = "runway/gen4.5", options: Partial<Upstream> = {}) =>
  Effect.gen(function* () {
    const runway = yield* double
    return { runway, ...(yield* offered(Runway.adapter, runway.url, model, options)) }
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
