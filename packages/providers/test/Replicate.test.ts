import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Redacted } from "effect"
import type { Upstream } from "@model-gateway/offers/Adapter"
import type { Model } from "@model-gateway/offers/Model"
import * as Replicate from "../src/Replicate.ts"
import type { VideoRequest } from "@model-gateway/offers/Video"
import type { Scripted } from "@model-gateway/test-doubles/Double"
import { video } from "@model-gateway/test-doubles/JobDouble"
import { documentedMessages, startReplicateDouble, version } from "@model-gateway/test-doubles/ReplicateDouble"
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

const veo = "replicate/google/veo-3.1-fast"
const seedance = "replicate/bytedance/seedance-1-lite"

const parameters = {
  fields: { duration: "duration", first_frame: "image" },
  durations: [5],
  resolutions: ["480p"],
  aspect_ratios: ["16:9"],
  image_required: true
}

/** A model that is not official, as a settings file may define it. */
const community: Model = {
  kind: "video",
  publicId: "replicate/lucataco/animate",
  upstreamId: version,
  name: "Animate",
  pricing: { unit: "video", prices: [{ microCredits: 90_000 }] },
  parameters
}

const double = started(startReplicateDouble)

const at = (model = veo, options: Partial<Upstream> = {}) =>
  Effect.gen(function* () {
    const replicate = yield* double
    const models = [...Replicate.adapter.models, community]
    return { replicate, ...(yield* offered(Replicate.adapter, `${replicate.url}/v1`, model, { models, ...options })) }
  })

/** Says what a submission fails with. */
const refusedWith = (scripted: Scripted, options?: Partial<Upstream>) =>
  Effect.gen(function* () {
    const { replicate, submit } = yield* at(veo, options)
    replicate.next(scripted)
    return told((yield* Effect.flip(submit(request))).reason)
  })

describe("Replicate", () => {
  it.live("makes a video, fetches it without the token, and charges the quote", () =>
    Effect.gen(function* () {
      const { content, follow, offer, replicate, submit } = yield* at()
      const wanted: VideoRequest = { ...request, duration: 4, resolution: "720p", generate_audio: false }
      const handle = yield* submit(wanted)
      const status = yield* follow(handle, wanted)
      assert.deepStrictEqual<unknown>(status, {
        status: "completed",
        outputs: 1,
        charge: { cost: 400_000, usage: { seconds: 4, videos: 1 } }
      })
      assert.strictEqual(offer.quote(wanted), 400_000)
      assert.deepStrictEqual(yield* content(handle, wanted), Buffer.from(video))
      const seen = replicate.state.requests
      assert.deepStrictEqual(
        seen.map(({ method, url }) => `${method} ${url.replace(/[0-9a-f-]{20,}/, "id")}`),
        [
          "POST /v1/models/google/veo-3.1-fast/predictions",
          "GET /v1/predictions/id",
          "GET /v1/predictions/id",
          "GET /v1/predictions/id",
          "GET /files/id.mp4"
        ]
      )
      assert.deepStrictEqual(
        seen.map(({ headers }) => headers["authorization"]),
        [...Array.from({ length: 4 }, () => `Bearer ${key}`), undefined]
      )
      assert.isTrue(seen.every(({ headers }) => headers["prefer"] === undefined))
    }).pipe(undici)
  )

  it.live("finds the video in an object, also in one of a list", () =>
    Effect.gen(function* () {
      const { content, follow, replicate, submit } = yield* at()
      const forms: ReadonlyArray<readonly [(link: string) => unknown, number]> = [
        [(link) => ({ video: link, seed: 7 }), 1],
        [(link) => ({ url: link }), 1],
        [(link) => ({ output: [link, link] }), 2],
        [(link) => [{ url: link }, { url: link }], 2],
        [(link) => ({ video: null, output: link }), 1],
        [(link) => [link], 1]
      ]
      for (const [form, outputs] of forms) {
        replicate.outputAs(form)
        const handle = yield* submit(request)
        assert.deepInclude(yield* follow(handle, request), { status: "completed", outputs })
        assert.deepStrictEqual(yield* content(handle, request, outputs - 1), Buffer.from(video))
      }
      // One level only, and no other member: what is in there is not known to be the video.
      for (const form of [(link: string) => ({ result: { video: link } }), (link: string) => ({ thumbnail: link })]) {
        replicate.outputAs(form)
        assert.deepInclude(yield* follow(yield* submit(request), request), { status: "completed", outputs: 0 })
      }
    }).pipe(undici)
  )

  it.live("writes the input as the model's page says, with everything that the price depends on", () =>
    Effect.gen(function* () {
      const { replicate, submit } = yield* at()
      yield* submit(request)
      yield* submit({
        prompt: "a harbor",
        duration: 6,
        resolution: "720p",
        aspect_ratio: "9:16",
        seed: 7,
        generate_audio: false,
        frame_images: [image, last],
        options: { negative_prompt: "rain", prompt: "a harbor in fog", seed: 8 }
      })
      const { submit: submitSeedance } = yield* offered(Replicate.adapter, `${replicate.url}/v1`, seedance)
      yield* submitSeedance({
        ...request,
        input_references: [{ type: "image_url", image_url: { url: "https://example.com/c.png" } }]
      })
      assert.deepStrictEqual(
        replicate.state.requests.map(({ text }): unknown => JSON.parse(text)),
        [
          { input: { prompt: "a harbor at dawn", duration: 8, resolution: "1080p", generate_audio: true } },
          {
            input: {
              negative_prompt: "rain",
              prompt: "a harbor in fog",
              duration: 6,
              resolution: "720p",
              aspect_ratio: "9:16",
              seed: 8,
              generate_audio: false,
              image: "https://example.com/a.png",
              last_frame: "https://example.com/b.png"
            }
          },
          {
            input: {
              prompt: "a harbor at dawn",
              duration: 5,
              resolution: "720p",
              reference_images: ["https://example.com/c.png"]
            }
          }
        ]
      )
    }).pipe(undici)
  )

  it.live("runs a model of the settings file by its version, whose output is a list", () =>
    Effect.gen(function* () {
      const { content, follow, replicate, submit } = yield* at(community.publicId)
      const wanted: VideoRequest = { ...request, frame_images: [image] }
      const handle = yield* submit(wanted)
      assert.deepStrictEqual<unknown>(yield* follow(handle, wanted), {
        status: "completed",
        outputs: 1,
        charge: { cost: 90_000, usage: { seconds: 5, videos: 1 } }
      })
      assert.deepStrictEqual(yield* content(handle, wanted), Buffer.from(video))
      const [first] = replicate.state.requests
      assert.strictEqual(first?.url, "/v1/predictions")
      assert.deepStrictEqual<unknown>(JSON.parse(first?.text ?? ""), {
        version,
        input: { prompt: "a harbor at dawn", duration: 5, image: "https://example.com/a.png" }
      })
    }).pipe(undici)
  )

  it.live("refuses, without a call, what the model does not support", () =>
    Effect.gen(function* () {
      const { offer, replicate, submit } = yield* at()
      const refused: ReadonlyArray<readonly [VideoRequest, string]> = [
        [{}, `prompt: ${veo} needs a prompt`],
        [{ ...request, duration: 5 }, `duration: ${veo} makes videos of 4, 6, 8 seconds`],
        [{ ...request, duration: 9 }, `duration: ${veo} supports at most 8 seconds`],
        [{ ...request, resolution: "480p" }, `resolution: ${veo} does not support 480p. Choose 720p or 1080p.`],
        [
          { ...request, size: "640x360" },
          `size: ${veo} does not support 640x360. Choose 1280x720, 720x1280, 1920x1080 or 1080x1920.`
        ],
        [{ ...request, size: "1280x720", resolution: "1080p" }, "size: 1280x720 contradicts resolution 1080p"],
        [{ ...request, frame_images: [last] }, `frame_images: ${veo} takes a last frame with a first one only`],
        [
          { ...request, input_references: [{ type: "image_url", image_url: { url: "https://example.com/c.png" } }] },
          `input_references.0: ${veo} takes no image references`
        ],
        [
          { ...request, options: { fps: 60 } },
          "provider.options.replicate.fps: changes the price, so it cannot be passed on"
        ]
      ]
      for (const [wanted, message] of refused) {
        for (const call of [offer.check(wanted), submit(wanted)]) {
          assert.strictEqual(told((yield* Effect.flip(call)).reason), `InvalidRequest: ${message}`)
        }
      }
      const { offer: silent } = yield* offered(Replicate.adapter, replicate.url, seedance)
      assert.strictEqual(
        told((yield* Effect.flip(silent.check({ ...request, generate_audio: true }))).reason),
        `InvalidRequest: generate_audio: ${seedance} makes videos without audio`
      )
      assert.deepStrictEqual(replicate.state.requests, [])
    }).pipe(undici)
  )

  it.live("reports a failed job with what its message says of the input", () =>
    Effect.gen(function* () {
      const { follow, replicate, submit } = yield* at()
      replicate.jobs.next("fail")
      const status = yield* follow(yield* submit(request), request)
      assert.strictEqual(status.status, "failed")
      const message = status.status === "failed" ? status.message : ""
      assert.match(message, /^The input image at <redacted> is not readable/)
      assert.notMatch(message, /cdn|r8_|abc/)
      const answers = [
        [
          { status: "failed", error: "Your API token r8_abcdefgh1234 is out of credit" },
          "the provider could not make the video"
        ],
        [{ status: "failed", error: `no voice ${key.slice(6, 14)}` }, "no voice <redacted>"],
        [{ status: "failed", error: null }, "the provider could not make the video"],
        [{ status: "canceled" }, "the provider canceled the job"],
        [{ status: "aborted" }, "the provider canceled the job"]
      ] as const
      for (const [body, message] of answers) {
        replicate.next({ body })
        assert.deepStrictEqual(yield* follow("abc", request), { status: "failed", message })
      }
    }).pipe(undici)
  )

  it.live("says that a job is complete without output, or that it is lost", () =>
    Effect.gen(function* () {
      const { follow, replicate, submit } = yield* at()
      replicate.jobs.next("empty", "lose")
      assert.deepInclude(yield* follow(yield* submit(request), request), { status: "completed", outputs: 0 })
      const handle = yield* submit(request)
      const { reason, status } = yield* Effect.flip(follow(handle, request))
      assert.deepStrictEqual([reason._tag, status], ["UnknownModel", 404])
    }).pipe(undici)
  )

  it.live("fetches again under a new link when one has expired", () =>
    Effect.gen(function* () {
      const { replicate, ...calls } = yield* at()
      yield* renewLink(replicate, calls)
    }).pipe(undici)
  )

  it.live("cancels a job, also one that is over or unknown", () =>
    Effect.gen(function* () {
      const { follow, offer, replicate, submit } = yield* at()
      const handle = yield* submit(request)
      yield* offer.cancel(handle, credential)
      assert.deepStrictEqual(
        [...replicate.jobs.jobs.values()].map(({ isCanceled }) => isCanceled),
        [true]
      )
      assert.deepStrictEqual(yield* follow(handle, request), {
        status: "failed",
        message: "the provider canceled the job"
      })
      yield* offer.cancel(handle, credential)
      yield* offer.cancel("unknown", credential)
      assert.strictEqual((yield* Effect.flip(offer.cancel("../account", credential))).reason._tag, "BadResponse")
      assert.isTrue(replicate.state.requests.every(({ url }) => !url.includes("account")))
    }).pipe(undici)
  )

  it.live("says what went wrong", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [Scripted, string]> = [
        [
          {
            status: 422,
            body: { title: "Input validation failed", detail: "- input.duration: 4 is too short\n", status: 422 }
          },
          "InvalidRequest: - input.duration: 4 is too short"
        ],
        [
          { status: 401, body: { detail: documentedMessages[401] } },
          "Unauthorized: the provider rejected its credentials"
        ],
        [
          { status: 402, body: { detail: documentedMessages[402] } },
          "OutOfCredit: the account at the provider is out of credit"
        ],
        [{ status: 404, body: { detail: documentedMessages[404] } }, "UnknownModel: unknown model google/veo-3.1-fast"],
        [
          { status: 429, body: { detail: documentedMessages[429] } },
          "RateLimited: the provider's rate limit is exceeded"
        ],
        [{ status: 500, body: { detail: "Internal server error" } }, "BadResponse: status 500"],
        [{ status: 201, body: {} }, "BadResponse: JSON of another form at id"],
        [
          { status: 201, headers: { "content-type": "text/html" }, body: "<html>" },
          "BadResponse: not JSON but text/html"
        ],
        [
          { fault: "cutBody" },
          "ConnectionLost: the connection to the provider was lost before its answer was complete"
        ],
        [{ fault: "cut" }, "ConnectionLost: the connection to the provider was lost before its answer was complete"],
        [{ fault: "hang" }, "Timeout: the provider did not answer in time"]
      ]
      for (const [scripted, expected] of cases) {
        assert.strictEqual(yield* refusedWith(scripted, { timeLimit: Duration.seconds(1) }), expected)
      }
    }).pipe(undici)
  )

  it.live("waits as long as a rate limit says, in the header or in the message", () =>
    Effect.gen(function* () {
      const { replicate, submit } = yield* at()
      const body = { detail: documentedMessages[429] }
      const waits: Array<number | undefined> = []
      for (const headers of [{}, { "retry-after": "7" }]) {
        replicate.next({ status: 429, headers, body })
        const { reason } = yield* Effect.flip(submit(request))
        waits.push(
          reason._tag === "RateLimited" && reason.retryAfter !== undefined
            ? Duration.toSeconds(reason.retryAfter)
            : undefined
        )
      }
      assert.deepStrictEqual(waits, [30, 7])
    }).pipe(undici)
  )

  it.live("ignores fields that it does not know", () =>
    Effect.gen(function* () {
      const { poll, replicate } = yield* at()
      replicate.next({ body: { status: "processing", output: null, error: null, queue: { position: 3 } } })
      assert.deepStrictEqual(yield* poll("abc", request), { status: "in_progress" })
    }).pipe(undici)
  )

  it.live("offers every built-in model in each of its forms, at the price of the quote", () =>
    Effect.gen(function* () {
      yield* makeAll(Replicate.adapter, `${(yield* double).url}/v1`)
    }).pipe(undici)
  )

  it.live("uses the credential of the call", () =>
    Effect.gen(function* () {
      const { offer, replicate } = yield* at()
      const own = { id: "tenant", secret: Redacted.make("tenant-token") }
      yield* Effect.flip(offer.submit({ request, token: "t" }, own))
      assert.strictEqual(replicate.state.requests[0]?.headers["authorization"], "Bearer tenant-token")
    }).pipe(undici)
  )

  it.live("names the field of a model that it cannot offer", () =>
    Effect.gen(function* () {
      const upstream = { name: "replicate", baseUrl: "https://api.replicate.com/v1", credential }
      const problem = (model: Model) =>
        Effect.map(Effect.flip(Replicate.adapter.offers(upstream, [model])), ({ message }) => message)
      assert.match(yield* problem({ ...community, upstreamId: "animate" }), /^must have an upstream id/)
      assert.match(yield* problem({ ...community, parameters: {} }), /fields/)
      assert.match(yield* problem({ ...community, parameters: { ...parameters, resolutions: ["8K"] } }), /resolutions/)
      assert.match(yield* problem({ ...community, parameters: { ...parameters, ratios: ["16:9"] } }), /ratios/)
    }).pipe(undici)
  )
})
