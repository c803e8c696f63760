// The failures of a service of this contract. A real gateway is behind in the tests of the server.
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Stream } from "effect"
import type * as Adapter from "@model-gateway/offers/Adapter"
import { fromBytes } from "@model-gateway/offers/AudioSource"
import * as Gateway from "../src/Gateway.ts"
import type { Model } from "@model-gateway/offers/Model"
import { gatewayCredential, isIdempotent } from "@model-gateway/offers/Offer"
import type { Reason } from "@model-gateway/offers/ProviderError"
import type { TranscriptionRequest } from "@model-gateway/offers/Transcription"
import { recorded } from "@model-gateway/test-doubles/recorded"
import { type Scripted, startDouble } from "@model-gateway/test-doubles/Double"

const key = "mg_sk_secret0123456789"

const models: ReadonlyArray<Model> = [
  {
    kind: "rerank",
    publicId: "gateway/a/rank",
    upstreamId: "a/rank",
    name: "Rank",
    pricing: { unit: "search_unit", microCredits: 1000 }
  },
  {
    kind: "transcription",
    publicId: "gateway/a/hear",
    upstreamId: "a/hear",
    name: "Hear",
    pricing: { unit: "second", microCredits: 100 }
  },
  {
    kind: "video",
    publicId: "gateway/a/film",
    upstreamId: "a/film",
    name: "Film",
    pricing: { unit: "second", prices: [{ resolution: "4K", microCredits: 90 }, { microCredits: 30 }] }
  }
]

const request = { query: "tea", documents: [{ text: "coffee" }, { text: "green tea" }] }

const ranking = (more: object = {}) => ({ id: "gen-1", model: "a/rank", results: [], ...more })

const envelope = (status: number, message: string, metadata: object = {}): Scripted => ({
  status,
  headers: { "x-request-id": "req_behind" },
  body: { error: { code: status, message, metadata }, service_metadata: { request_id: "req_behind" }, user_id: null }
})

/** The offers of a gateway behind that says what a test tells it. */
const offered = (options: Partial<Adapter.Upstream> = {}) =>
  Effect.gen(function* () {
    const behind = yield* Effect.acquireRelease(
      Effect.promise(() => startDouble({ answerTo: () => ({ status: 404, body: "" }) })),
      (double) => Effect.promise(() => double.close())
    )
    const credential = gatewayCredential(Redacted.make(key))
    const upstream = { name: "gateway", baseUrl: `${behind.url}/api/v1`, credential, ...options }
    const [rerank, transcription, video] = yield* Gateway.adapter.offers(upstream, models)
    if (rerank?.kind !== "rerank" || transcription?.kind !== "transcription" || video?.kind !== "video") {
      return assert.fail("not the offers of the models")
    }
    return { behind, credential, rerank, transcription, video }
  })

const undici = Effect.provide(NodeHttpClient.layerUndici)

const told = (reason: Reason): string =>
  "description" in reason
    ? `${reason._tag}: ${reason.description}`
    : "retryAfter" in reason
      ? `${reason._tag} after ${String(reason.retryAfter)}`
      : `${reason._tag}: ${reason.message}`

const rerankFailure = (scripted: Scripted, options?: Partial<Adapter.Upstream>) =>
  Effect.gen(function* () {
    const { behind, credential, rerank } = yield* offered(options)
    behind.next(scripted)
    return told((yield* Effect.flip(rerank.run(request, credential))).reason)
  })

describe("Gateway", () => {
  it.live("maps every failure to its reason, and asks once", () =>
    Effect.gen(function* () {
      const { behind, credential, rerank } = yield* offered()
      const headers = { "retry-after": "17" }
      const failures: ReadonlyArray<readonly [Scripted, string]> = [
        [
          envelope(400, "invalid request parameters: top_n: must be 1 or more"),
          "InvalidRequest: top_n: must be 1 or more"
        ],
        [envelope(413, "request payload too large: at most 1 MiB"), "InputTooLarge: at most 1 MiB"],
        [envelope(401, "missing authentication header"), "Unauthorized: the provider rejected its credentials"],
        [envelope(402, "insufficient credits"), "OutOfCredit: the account at the provider is out of credit"],
        [envelope(403, "insufficient permissions"), "Unauthorized: the provider rejected its credentials"],
        [envelope(404, "resource not found"), "UnknownModel: unknown model a/rank"],
        [{ ...envelope(429, "rate limit exceeded"), headers }, "RateLimited after 17000 millis"],
        [envelope(529, "provider returned error", { retry_after: 3 }), "Overloaded after 3000 millis"],
        [envelope(500, "internal server error"), "BadResponse: status 500"],
        [envelope(502, "provider returned error"), "BadResponse: status 502"],
        [envelope(524, "request timed out"), "Timeout: the provider did not answer in time"],
        [{ status: 404, body: "<html>" }, "BadResponse: status 404 with a body that is not an error envelope"],
        [{ status: 504, body: "<html>" }, "Timeout: the provider did not answer in time"],
        [
          { status: 302, headers: { location: "http://127.0.0.1:1/" } },
          "BadResponse: status 302 with a status that the operation does not return"
        ],
        [
          { body: "<html>", headers: { "content-type": "text/html" } },
          "BadResponse: status 200 with a body that is not JSON"
        ],
        [{ body: { id: 1 } }, "BadResponse: status 200 with a body that does not match the contract at id"],
        [{ body: ranking({ results: [result(2)] }) }, "BadResponse: an index without a document"],
        [{ body: ranking({ results: [result(-1)] }) }, "BadResponse: an index without a document"],
        [{ body: ranking({ results: [result(1), result(1)] }) }, "BadResponse: a document ranked twice"],
        [{ body: ranking({ usage: { cost: -1 } }) }, "BadResponse: an impossible cost"],
        [{ body: ranking({ usage: { search_units: -5 } }) }, "BadResponse: an impossible count of search_units"],
        [{ fault: "endless" }, "BadResponse: more than 4194474 bytes"],
        [
          { fault: "cutBody" },
          "ConnectionLost: the connection to the provider was lost before its answer was complete"
        ],
        [{ fault: "cut" }, "ConnectionLost: the connection to the provider was lost before its answer was complete"],
        [{ fault: "notHttp" }, "BadResponse: not HTTP"]
      ]
      for (const [scripted, expected] of failures) {
        behind.next(scripted)
        const { reason } = yield* Effect.flip(rerank.run(request, credential))
        assert.strictEqual(told(reason), expected)
      }
      assert.lengthOf(behind.state.requests, failures.length)
    }).pipe(undici)
  )

  it.live("offers what the upstream lists, at prices of every unit, and leaves out what it cannot quote", () =>
    Effect.gen(function* () {
      const { behind, credential } = yield* offered()
      const listed = (id: string, kind: string, pricing: object, capabilities: object = {}) => ({
        id,
        name: id,
        architecture: { input_modalities: ["text"], output_modalities: [kind] },
        is_free: false,
        pricing: { prompt: "0", completion: "0", ...pricing },
        capabilities
      })
      const data = [
        listed("a/units", "rerank", { search_unit: "0.002" }),
        listed("a/tokens", "rerank", { prompt: "0.00000005" }),
        { ...listed("a/free", "rerank", {}), is_free: true },
        listed("a/seconds", "transcription", { second: "0.0000716666" }),
        listed("a/both", "transcription", { prompt: "0.0000025", completion: "0.00001" }),
        listed("a/film", "video", { request: "0.5" }, { max_duration: 12.5, prompt_optional: true }),
        listed("a/short", "video", { second: "0.1" }, { max_duration: 3 }),
        listed("a/unlisted", "video", { second: "0.1" }, { max_duration: 3 })
      ]
      const videos = [
        { id: "a/film", supported_resolutions: ["720p"], supported_frame_images: [], default_duration: 8 },
        { id: "a/short", supported_durations: null }
      ]
      behind.next({ body: { object: "list", data } }, { body: { data: videos } })
      const upstream = { name: "gateway", baseUrl: `${behind.url}/api/v1`, credential }
      const offers = yield* Gateway.adapter.offers(upstream, [])
      assert.deepStrictEqual<unknown>(
        offers.map(({ pricing, publicId }) => [publicId, pricing]),
        [
          ["gateway/a/units", { unit: "search_unit", microCredits: 2000 }],
          ["gateway/a/tokens", { unit: "token", inputMicroCredits: 50_000, outputMicroCredits: 0 }],
          ["gateway/a/free", { unit: "search_unit", microCredits: 0 }],
          ["gateway/a/seconds", { unit: "second", microCredits: 72 }],
          ["gateway/a/both", { unit: "token", inputMicroCredits: 2_500_000, outputMicroCredits: 10_000_000 }],
          ["gateway/a/film", { unit: "video", prices: [{ microCredits: 500_000 }] }],
          ["gateway/a/short", { unit: "second", microCredits: 100_000 }]
        ]
      )
      const [, tokens, , , both, film, short] = offers
      if (
        tokens?.kind !== "rerank" ||
        both?.kind !== "transcription" ||
        film?.kind !== "video" ||
        short?.kind !== "video"
      ) {
        return assert.fail("not the offers of the list")
      }
      // At most 50 tokens of input and 20 of output a second.
      assert.strictEqual(both.quote(hearing({ durationSeconds: 10 })), 3250)
      // 16 tokens between query and document, and a byte is at most a token.
      assert.strictEqual(tokens.quote({ query: "tea", documents: [{ text: "x".repeat(981) }] }), 50)
      assert.deepInclude(film.capabilities, {
        max_duration: 12,
        default_duration: 8,
        resolutions: ["720p"],
        frame_images: false,
        prompt_optional: true
      })
      assert.deepInclude(short.capabilities, { max_duration: 3, default_duration: 3, frame_images: true })
    }).pipe(undici)
  )

  it.live("offers what a gateway with the published fields alone lists, as far as it lists prices", () =>
    Effect.gen(function* () {
      const { behind, credential } = yield* offered()
      const listed = (id: string, output: string, pricing: object = {}, input = ["text"]) => ({
        id,
        name: id,
        canonical_slug: id,
        created: 1_750_000_000,
        architecture: { input_modalities: input, output_modalities: [output], modality: null },
        pricing: { prompt: "0", completion: "0", ...pricing },
        supported_parameters: []
      })
      behind.next(
        {
          body: {
            data: [
              listed("b/chat", "text", { prompt: "0.000001" }),
              listed("b/rank", "rerank", { request: "0.0025" }, ["text", "image"]),
              listed("b/tokens", "rerank", { prompt: "0.00000005" }),
              listed(`b/${"long".repeat(62)}`, "rerank", { prompt: "0.00000005" }),
              listed("b/\u0000", "rerank", { prompt: "0.00000005" }),
              listed("b/unpriced", "rerank"),
              listed("b/router", "rerank", { prompt: "-1" }),
              listed("b/hear", "transcription", { prompt: "0.0001" }),
              listed("b/hear-tokens", "transcription", { prompt: "0.0000025", completion: "0.00001" }),
              listed("b/hear-input", "transcription", { prompt: "0.00000018" }),
              listed("b/hear-hours", "transcription", { prompt: "0.11" }),
              ...["film", "whole", "mixed", "asked", "modes", "cents", "images", "least", "documented"].map((name) =>
                listed(`b/${name}`, "video")
              ),
              { id: "b/broken" }
            ],
            links: { next: null },
            total_count: 11
          }
        },
        {
          body: {
            data: [
              {
                id: "b/film",
                pricing_skus: { duration_seconds_without_audio: "0.05", duration_seconds_with_audio_720p: "0.08" },
                supported_resolutions: ["360p", "720p"],
                supported_aspect_ratios: ["16:9"],
                supported_durations: [8, 4, 6],
                supported_frame_images: [],
                generate_audio: true,
                upscale_factor: null
              },
              { id: "b/whole", pricing_skus: { generate: "0.5" }, supported_durations: null, generate_audio: null },
              { id: "b/mixed", pricing_skus: { duration_seconds: "0.1", video_tokens: "0.000001" } },
              { id: "b/asked", pricing_skus: { duration_seconds: "0.1", duration_seconds_with_audio: "on request" } },
              {
                id: "b/modes",
                pricing_skus: {
                  text_to_video_duration_seconds_720p: "0.1",
                  image_to_video_duration_seconds_720p: "0.12",
                  reference_duration_seconds_720p: "0.15"
                }
              },
              { id: "b/cents", pricing_skus: { cents_per_second_output: "4", cents_per_second_output_720p: "7" } },
              {
                id: "b/images",
                pricing_skus: { cents_per_image_input: "1", cents_per_video_output_second_480p: "5" }
              },
              {
                id: "b/least",
                pricing_skus: {
                  cents_per_video_output_second_720p_with_audio: "10",
                  minimum_cents_per_generation: "25"
                }
              },
              { id: "b/documented", pricing_skus: { "per-video-second": "0.5", "per-video-second-1080p": "0.75" } }
            ]
          }
        }
      )
      const upstream = { name: "gateway", baseUrl: `${behind.url}/api/v1`, credential }
      const offers = yield* Gateway.adapter.offers(upstream, [])
      assert.deepStrictEqual<unknown>(
        offers.map(({ pricing, publicId }) => [publicId, pricing]),
        [
          ["gateway/b/rank", { unit: "search_unit", microCredits: 2500 }],
          ["gateway/b/tokens", { unit: "token", inputMicroCredits: 50_000, outputMicroCredits: 0 }],
          ["gateway/b/hear", { unit: "second", microCredits: 100 }],
          ["gateway/b/hear-tokens", { unit: "token", inputMicroCredits: 2_500_000, outputMicroCredits: 10_000_000 }],
          ["gateway/b/hear-input", { unit: "token", inputMicroCredits: 180_000, outputMicroCredits: 0 }],
          ["gateway/b/film", { unit: "second", microCredits: 80_000 }],
          ["gateway/b/whole", { unit: "video", prices: [{ microCredits: 500_000 }] }],
          ["gateway/b/modes", { unit: "second", microCredits: 150_000 }],
          ["gateway/b/cents", { unit: "second", microCredits: 70_000 }],
          ["gateway/b/images", { unit: "second", microCredits: 50_000 }],
          ["gateway/b/least", { unit: "second", microCredits: 100_000 }],
          ["gateway/b/documented", { unit: "second", microCredits: 750_000 }]
        ]
      )
      assert.deepStrictEqual(
        behind.state.requests.map(({ url }) => url),
        ["/api/v1/models?output_modalities=rerank%2Ctranscription%2Cvideo", "/api/v1/videos/models"]
      )
      const of = (id: string) => offers.find(({ upstreamId }) => upstreamId === id)
      const [rank, film, images, least] = [of("b/rank"), of("b/film"), of("b/images"), of("b/least")]
      if (rank?.kind !== "rerank" || film?.kind !== "video" || images?.kind !== "video" || least?.kind !== "video") {
        return assert.fail("not the offers of the list")
      }
      const frame_images = (["first_frame", "last_frame"] as const).map((frame_type) => ({
        type: "image_url" as const,
        image_url: { url: "https://example.com/a.png" },
        frame_type
      }))
      assert.strictEqual(images.quote({ prompt: "tea", duration: 2, frame_images }), 120_000)
      assert.deepStrictEqual([least.quote({ duration: 2 }), least.quote({ duration: 5 })], [250_000, 500_000])
      assert.isTrue(rank.capabilities.image_documents)
      assert.deepInclude(film.capabilities, {
        resolutions: ["720p"],
        aspect_ratios: ["16:9"],
        max_duration: 8,
        default_duration: 4,
        frame_images: false,
        generate_audio: true,
        upscale: false
      })
    }).pipe(undici)
  )

  it.live("gives up a silent upstream at the time limit", () =>
    Effect.gen(function* () {
      for (const fault of ["hang", "hangBody"] as const) {
        assert.strictEqual(
          yield* rerankFailure({ fault }, { timeLimit: "50 millis" }),
          "Timeout: the provider did not answer in time"
        )
      }
    }).pipe(undici)
  )

  it.live("ignores unknown fields, and charges by its own price if the upstream says no cost", () =>
    Effect.gen(function* () {
      const { behind, credential, rerank, transcription } = yield* offered()
      behind.next({ body: ranking({ results: [result(1)], router: {}, usage: { total_tokens: 7 } }) })
      const { answer, charge } = yield* rerank.run(request, credential)
      assert.deepStrictEqual(answer.results, [{ index: 1, relevance_score: 0.5 }])
      assert.deepStrictEqual<unknown>(charge, { cost: 1000, usage: { search_units: 1, total_tokens: 7 } })
      // At a cost of the upstream's, only the upstream knows what it counted.
      behind.next({ body: ranking({ results: [result(1)], usage: { cost: 0.002, total_tokens: 7 } }) })
      assert.deepStrictEqual<unknown>((yield* rerank.run(request, credential)).charge, {
        cost: 2000,
        usage: { total_tokens: 7 }
      })
      behind.next({ body: { text: "tea" } })
      const audio = { source: fromBytes(new Uint8Array(9)), format: "ogg" as const, durationSeconds: 2.5 }
      const transcript = yield* transcription.run({ audio, timestamp_granularities: [], language: "en" }, credential)
      assert.deepStrictEqual<unknown>(transcript, {
        answer: { text: "tea", duration: 2.5, segments: [] },
        charge: { cost: 250, usage: { seconds: 2.5 } }
      })
      const { headers, text } = behind.state.requests[2] ?? assert.fail("no request")
      assert.include(text, 'filename="audio.ogg"')
      assert.isUndefined(headers["idempotency-key"])
    }).pipe(undici)
  )

  it.live("passes on what the upstream ignored, bounded, without secrets, with the model's id of this gateway", () =>
    Effect.gen(function* () {
      const { behind, credential, rerank, transcription, video } = yield* offered()
      const temperature = "temperature: a/hear takes no temperature, so it was ignored."
      const ignored = "temperature: gateway/a/hear takes no temperature, so it was ignored."
      const hostile = [
        `seed: ${key} takes none.`,
        `documents.0: cut, see https://${"x".repeat(2000)}.example.com for more`,
        "Your credits are low: top up your account.",
        "x ".repeat(5000)
      ]
      behind.next({ body: { text: "tea", warnings: [temperature, ...hostile] } })
      const audio = { source: fromBytes(new Uint8Array(9)), format: "ogg" as const, durationSeconds: 2.5 }
      const transcript = yield* transcription.run({ audio, timestamp_granularities: [], temperature: 0.5 }, credential)
      const { warnings = [] } = transcript.answer
      assert.deepStrictEqual(warnings.slice(0, 3), [
        ignored,
        "seed: <redacted> takes none.",
        "documents.0: cut, see <redacted> for more"
      ])
      assert.lengthOf(warnings, 4)
      assert.isAtMost(warnings[3]?.length ?? 0, 500)

      const many = Array.from({ length: 1000 }, (_, index) => `documents.${index}: cut`)
      behind.next({ body: ranking({ results: [result(1)], warnings: many }) })
      const documents = many.map((text) => ({ text }))
      assert.lengthOf((yield* rerank.run({ ...request, documents }, credential)).answer.warnings ?? [], 100)

      const job = { id: "vid_1", polling_url: "/api/v1/videos/vid_1", warnings: ["seed: a/film takes no seed."] }
      for (const more of [
        { status: "in_progress" },
        { status: "failed", error: "no" },
        { status: "completed", unsigned_urls: ["/a"] }
      ]) {
        behind.next({ body: { ...job, ...more } })
        const status = yield* video.poll({ handle: "vid_1", request: { prompt: "tea" } }, credential)
        assert.deepStrictEqual(status.warnings, ["seed: gateway/a/film takes no seed."])
      }
    }).pipe(undici)
  )

  it.live("reports seconds of a transcription that cannot be, before it computes a price of them", () =>
    Effect.gen(function* () {
      const { behind, credential, transcription } = yield* offered()
      const audio = { source: fromBytes(new Uint8Array(8)), format: "ogg" as const, durationSeconds: 2.5 }
      for (const seconds of ["1e300", "115292150460684700000", "-1", "10000001"]) {
        behind.next({ body: `{"text":"tea","usage":{"seconds":${seconds}}}` })
        const { reason } = yield* Effect.flip(transcription.run({ audio, timestamp_granularities: [] }, credential))
        assert.strictEqual(told(reason), "BadResponse: an impossible count of seconds")
      }
    }).pipe(undici)
  )

  it.live("follows a job to an end of any kind", () =>
    Effect.gen(function* () {
      const { behind, credential, video } = yield* offered()
      const submission = { request: { prompt: "tea", duration: 2, resolution: "4K" as const }, token: "job-1.0" }
      const job = { id: "vid_1", polling_url: "/api/v1/videos/vid_1" }
      behind.next({ status: 202, body: { ...job, status: "pending" } })
      const handle = yield* video.submit(submission, credential)
      assert.strictEqual(behind.state.requests[0]?.headers["idempotency-key"], "job-1.0")
      assert.strictEqual(video.quote(submission.request), 180)

      const statusOf = (scripted: Scripted) => {
        behind.next(scripted)
        return video.poll({ handle, request: submission.request }, credential)
      }
      const failed = (message: string) => ({ status: "failed" as const, message })
      assert.deepStrictEqual(yield* statusOf({ body: { ...job, status: "in_progress", progress: 0.5 } }), {
        status: "in_progress",
        progress: 0.5
      })
      const done = { ...job, status: "completed", unsigned_urls: ["https://elsewhere.example.com/steal"] }
      assert.deepStrictEqual<unknown>(yield* statusOf({ body: { ...done, usage: { cost: 0.5 } } }), {
        status: "completed",
        outputs: 1,
        charge: { cost: 500_000, usage: { seconds: 2, videos: 1 } }
      })
      for (const usage of [undefined, { cost: -1 }, { cost: 1e300 }]) {
        assert.deepStrictEqual<unknown>(yield* statusOf({ body: { ...done, usage } }), {
          status: "completed",
          outputs: 1,
          charge: { cost: 180, usage: { seconds: 2, videos: 1 } }
        })
      }
      assert.deepStrictEqual(
        yield* statusOf({ body: { ...job, status: "failed", error: "the prompt was blocked" } }),
        failed("the prompt was blocked")
      )
      assert.deepStrictEqual(
        yield* statusOf({ body: { ...job, status: "failed", error: `no voice ${key.slice(6, 14)}` } }),
        failed("no voice <redacted>")
      )
      assert.deepStrictEqual(
        yield* statusOf({ body: { ...job, status: "failed", error: `the key ${key} has no credit` } }),
        failed("the provider could not make the video")
      )
      assert.deepStrictEqual(
        yield* statusOf({ body: { ...job, status: "expired" } }),
        failed("the job expired at the provider")
      )
      assert.deepStrictEqual(
        yield* statusOf({ body: { ...job, status: "completed" } }),
        failed("the provider finished the job without a video")
      )
      assert.deepStrictEqual(
        yield* statusOf(envelope(404, "resource not found")),
        failed("the provider no longer has the job")
      )

      behind.next({ headers: { "content-type": "video/mp4" }, body: "video" })
      const text = yield* video
        .content({ handle, request: submission.request, index: 0 }, credential)
        .pipe(Stream.decodeText, Stream.mkString)
      assert.strictEqual(text, "video")
      assert.strictEqual(behind.state.requests.at(-1)?.url, "/api/v1/videos/vid_1/content?index=0")
      const etag = '"v1"'
      behind.next(
        { fault: "cutBody", headers: { etag, "content-length": "17" } },
        { status: 206, headers: { etag, "content-range": "bytes 12-16/17" }, body: "video" }
      )
      const continued = yield* video
        .content({ handle, request: submission.request, index: 0 }, credential)
        .pipe(Stream.decodeText, Stream.mkString)
      assert.strictEqual(continued, '{"results":[video')
      assert.deepInclude(behind.state.requests.at(-1)?.headers, { range: "bytes=12-", "if-range": etag })
      // It no longer has the job, or has no such operation.
      const cannot = [envelope(404, "resource not found"), { status: 404, body: "<html>" }, { status: 405, body: "" }]
      for (const scripted of cannot) {
        behind.next(scripted)
        yield* video.cancel(handle, credential)
      }
      behind.next(envelope(500, "internal server error"))
      assert.strictEqual((yield* Effect.flip(video.cancel(handle, credential))).status, 500)
    }).pipe(undici)
  )

  it.live("repeats the submission of a video only at an upstream that says that it recognizes its key", () =>
    Effect.gen(function* () {
      const isIdempotentAt = (answer: Scripted, options: Partial<Adapter.Upstream> = {}) =>
        Effect.gen(function* () {
          const { behind, video } = yield* offered(options)
          behind.always(answer)
          const first = yield* isIdempotent(video)
          assert.strictEqual(yield* isIdempotent(video), first)
          // It is asked once.
          assert.deepStrictEqual(
            behind.state.requests.map(({ method, url }) => [method, url]),
            options.baseUrl === undefined ? [["OPTIONS", "/api/v1/videos"]] : []
          )
          return first
        }).pipe(Effect.scoped)
      const says = (methods: string) => ({ status: 204, headers: { "accept-idempotency-key": methods }, body: null })
      assert.isTrue(yield* isIdempotentAt(says("POST")))
      assert.isTrue(yield* isIdempotentAt(says("PUT, POST")))
      const others: ReadonlyArray<Scripted> = [
        says("GET"),
        { status: 204, headers: { allow: "POST" }, body: null },
        { status: 200, headers: { "access-control-allow-origin": "*" }, body: "" },
        { status: 302, headers: { location: "/", "accept-idempotency-key": "POST" } },
        envelope(401, "missing authentication header"),
        envelope(404, "resource not found"),
        { status: 405, body: "" },
        { status: 503, body: "" },
        { fault: "cut" },
        { fault: "endless" },
        { fault: "notHttp" }
      ]
      for (const other of others) assert.isFalse(yield* isIdempotentAt(other))
      assert.isFalse(yield* isIdempotentAt({}, { baseUrl: "http://127.0.0.1:1/api/v1" }))
    }).pipe(undici)
  )

  it.live("sends audio with options as JSON, if the form of the upstream may ignore them", () =>
    Effect.gen(function* () {
      const { behind, credential, transcription } = yield* offered()
      const options = { options: { deepgram: { smart_format: true } } }
      const says = { status: 204, headers: { "accept-idempotency-key": "POST" }, body: null }
      const sent = Effect.fnUntraced(function* (...answers: ReadonlyArray<Scripted>) {
        behind.next(...answers, { body: { text: "tea" } })
        yield* transcription.run(hearing({ options }), credential)
        const { headers, text } = behind.state.requests.at(-1) ?? assert.fail("no request")
        return { type: headers["content-type"]?.split(";")[0], text }
      })
      const json = yield* sent({ status: 404, body: "" })
      assert.strictEqual(json.type, "application/json")
      assert.deepStrictEqual<unknown>(JSON.parse(json.text), {
        model: "a/hear",
        input_audio: { data: Buffer.from("audio").toString("base64"), format: "ogg" },
        response_format: "json",
        provider: options
      })
      // A gateway of this project takes them in the form, which is streamed.
      const own = yield* offered()
      own.behind.next(says, { body: { text: "tea" } })
      yield* own.transcription.run(hearing({ options }), credential)
      const { headers, text } = own.behind.state.requests[1] ?? assert.fail("no request")
      assert.match(headers["content-type"] ?? "", /^multipart\/form-data/)
      assert.include(text, JSON.stringify(options))
    }).pipe(undici)
  )

  it.live("refuses audio that is too large for JSON, without a submission", () =>
    Effect.gen(function* () {
      const { behind, credential, transcription } = yield* offered()
      behind.next({ status: 404, body: "" })
      const source = { ...fromBytes(new Uint8Array(1)), size: Effect.succeed(64 * 1024 * 1024 + 1) }
      const audio = { source, format: "ogg" as const, durationSeconds: 2 }
      const { reason } = yield* Effect.flip(
        transcription.run(hearing({ audio, options: { order: ["a"] } }), credential)
      )
      assert.match(told(reason), /^InputTooLarge: audio of more than 67108864 bytes/)
      assert.lengthOf(behind.state.requests, 1)
    }).pipe(undici)
  )

  it.live("keeps no more than two of the largest audios in memory at a time", () =>
    Effect.gen(function* () {
      const { behind, credential, transcription } = yield* offered()
      let inMemory = 0
      let most = 0
      const small = fromBytes(new Uint8Array(1))
      const read = Effect.suspend(() => {
        inMemory++
        most = Math.max(most, inMemory)
        return small.bytes
      })
      const source = { ...small, size: Effect.succeed(64 * 1024 * 1024), bytes: read }
      const audio = { source, format: "ogg" as const, durationSeconds: 2 }
      behind.next({ status: 404, body: "" })
      behind.always({ body: { text: "tea" } })
      const run = transcription
        .run(hearing({ audio, options: { order: ["a"] } }), credential)
        .pipe(Effect.tap(() => Effect.sync(() => inMemory--)))
      yield* Effect.all(
        Array.from({ length: 6 }, () => run),
        { concurrency: 6 }
      )
      assert.strictEqual(most, 2)
    }).pipe(undici)
  )

  it.live("shows the key in no error, log or span", () =>
    Effect.gen(function* () {
      const { behind, credential, rerank, video } = yield* offered()
      const request_ = { request: { prompt: "tea" }, token: "job-1.0" }
      for (const scripted of [
        envelope(400, `bad ${key}`),
        envelope(400, `bad ${key.slice(0, 10)}`),
        envelope(401, key),
        { fault: "cut" as const }
      ]) {
        behind.always(scripted)
        assert.notInclude(yield* recorded(rerank.run(request, credential)), key.slice(0, 10))
        assert.notInclude(yield* recorded(video.submit(request_, credential)), key.slice(0, 10))
      }
      assert.include(behind.state.requests[0]?.headers["authorization"] ?? "", key)
    }).pipe(undici)
  )

  it.live("calls nothing without a credential", () =>
    Effect.gen(function* () {
      const { behind, rerank } = yield* offered()
      const { reason } = yield* Effect.flip(rerank.run(request, { id: "none" }))
      assert.strictEqual(reason._tag, "Unauthorized")
      assert.lengthOf(behind.state.requests, 0)
    }).pipe(undici)
  )
})

function hearing({
  durationSeconds = 2.5,
  ...more
}: Partial<TranscriptionRequest> & { readonly durationSeconds?: number }): TranscriptionRequest {
  const source = fromBytes(new TextEncoder().encode("audio"))
  return { audio: { source, format: "ogg", durationSeconds }, timestamp_granularities: [], ...more }
}

function result(index: number) {
  return { index, relevance_score: 0.5, document: {} }
}
