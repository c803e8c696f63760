import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, FileSystem, Layer, Redacted } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { TestClock } from "effect/testing"
import type { Upstream } from "@model-gateway/offers/Adapter"
import { type Credential, gatewayCredential, type Offer } from "@model-gateway/offers/Offer"
import type { RerankRequest } from "@model-gateway/offers/Rerank"
import type { VideoRequest } from "@model-gateway/offers/Video"
import * as Vertex from "../src/Vertex.ts"
import type { Scripted } from "@model-gateway/test-doubles/Double"
import { video } from "@model-gateway/test-doubles/JobDouble"
import { recorded } from "@model-gateway/test-doubles/recorded"
import {
  documentedErrors,
  project,
  type ServiceAccount,
  startVertexDouble
} from "@model-gateway/test-doubles/VertexDouble"
import { speaking } from "./support/transcription.ts"
import { callsOf, image, key, request, started, told } from "./support/videoJobs.ts"

const { provide } = Effect

const services = Layer.mergeAll(NodeHttpClient.layerUndici, NodeServices.layer)

const double = started(startVertexDouble)

const base64 = (account: ServiceAccount): string => Buffer.from(JSON.stringify(account, null, 2)).toString("base64")

const own = (secret: string): Credential => gatewayCredential(Redacted.make(secret))

/** The offers at a double, with its service account. */
const at = (options: Partial<Upstream> = {}) =>
  Effect.gen(function* () {
    const google = yield* double
    const { credential = own(base64(google.serviceAccount())) } = options
    const upstream = { name: "vertex", baseUrl: google.url, ...options, credential }
    const offers = yield* Vertex.adapter.offers(upstream, Vertex.adapter.models)
    const of = <K extends Offer["kind"]>(kind: K, model: string) => {
      const isOfKind = (offer: Offer): offer is Extract<Offer, { readonly kind: K }> => offer.kind === kind
      return offers.filter(isOfKind).find(({ upstreamId }) => upstreamId === model) ?? assert.fail("no offer")
    }
    const veo = of("video", "veo-3.1-generate-001")
    return {
      google,
      veo,
      ...callsOf(veo),
      ranker: of("rerank", "semantic-ranker-default-004"),
      chirp: of("transcription", "chirp_2"),
      own: credential,
      requestsTo: (path: string) => google.state.requests.filter(({ url }) => url.includes(path))
    }
  })

const ranking: RerankRequest = {
  query: "green tea",
  documents: [{ text: "coffee" }, { text: "green tea leaves" }, { text: "black tea" }]
}

const inline = (name: string) => ({ url: `data:image/png;base64,${Buffer.from(name).toString("base64")}` })

const frame = <T extends "first_frame" | "last_frame">(name: string, frame_type: T) =>
  ({ type: "image_url", image_url: inline(name), frame_type }) as const

const reference = (name: string) => ({ type: "image_url", image_url: inline(name) }) as const

describe("Google Cloud's tokens", () => {
  it.effect("are asked for once, and again shortly before they end", () =>
    Effect.gen(function* () {
      const { own, ranker, requestsTo } = yield* at()
      // The claims have the time of the clock.
      yield* TestClock.setTime(Date.now())
      yield* Effect.all([ranker.run(ranking, own), ranker.run(ranking, own)], { concurrency: 2 })
      assert.lengthOf(requestsTo("/token"), 1)
      yield* TestClock.adjust(Duration.minutes(58))
      yield* ranker.run(ranking, own)
      assert.lengthOf(requestsTo("/token"), 1)
      yield* TestClock.adjust(Duration.minutes(1))
      // The double has another clock, by which this claim is of the future.
      yield* Effect.exit(ranker.run(ranking, own))
      assert.lengthOf(requestsTo("/token"), 2)
      const [{ headers } = assert.fail("no request")] = requestsTo(":rank")
      assert.match(headers["authorization"] ?? "", /^Bearer ya29\./)
    }).pipe(provide(services))
  )

  it.live("are replaced after Google rejects one", () =>
    Effect.gen(function* () {
      const { google, own, ranker, requestsTo } = yield* at()
      yield* ranker.run(ranking, own)
      google.revoke()
      const { reason } = yield* Effect.flip(ranker.run(ranking, own))
      assert.strictEqual(reason._tag, "Unauthorized")
      yield* ranker.run(ranking, own)
      assert.lengthOf(requestsTo("/token"), 2)
    }).pipe(provide(services))
  )

  it.live("are those of a key file, which is read again when it is needed", () =>
    Effect.gen(function* () {
      const google = yield* double
      const files = yield* FileSystem.FileSystem
      const path = `${yield* files.makeTempDirectoryScoped()}/key.json`
      yield* files.writeFileString(path, JSON.stringify(google.serviceAccount()))
      const upstream = { name: "vertex", baseUrl: google.url, credential: own(path) }
      const [ranker] = yield* Vertex.adapter.offers(upstream, Vertex.adapter.models)
      if (ranker?.kind !== "rerank") return assert.fail("no ranker")
      yield* ranker.run(ranking, upstream.credential)
      // A caller must not name a file of the gateway.
      const caller: Credential = { id: "caller", secret: Redacted.make(path) }
      assert.strictEqual((yield* Effect.flip(ranker.run(ranking, caller))).reason._tag, "Unauthorized")
      yield* files.remove(path)
      yield* ranker.run(ranking, upstream.credential)
    }).pipe(Effect.scoped, provide(services))
  )

  it.live("are those of the machine, for the gateway alone", () =>
    Effect.gen(function* () {
      const google = yield* double
      const redirected = HttpClient.mapRequest(yield* HttpClient.HttpClient, (request) =>
        request.url.startsWith("http://metadata.google.internal/")
          ? HttpClientRequest.setUrl(request, request.url.replace("http://metadata.google.internal", google.url))
          : request
      )
      const upstream = { name: "vertex", baseUrl: google.url, credential: own("metadata") }
      const [ranker] = yield* Vertex.adapter
        .offers(upstream, Vertex.adapter.models)
        .pipe(Effect.provideService(HttpClient.HttpClient, redirected))
      if (ranker?.kind !== "rerank") return assert.fail("no ranker")
      yield* ranker.run(ranking, upstream.credential)
      assert.include(google.state.requests.at(-1)?.url ?? "", `/projects/${project}/`)
      const caller: Credential = { id: "caller", secret: Redacted.make("metadata") }
      assert.strictEqual((yield* Effect.flip(ranker.run(ranking, caller))).reason._tag, "Unauthorized")
    }).pipe(provide(services))
  )

  it.live("are not asked for with a wrong key, nor at a server or a path that a key file names", () =>
    Effect.gen(function* () {
      const { google, ranker, requestsTo } = yield* at()
      const other = yield* double
      const wrong = [
        base64(google.serviceAccount({ token_uri: `${other.url}/token` })),
        base64(google.serviceAccount({ token_uri: `${google.url}/admin/token` })),
        base64(google.serviceAccount({ project_id: "x/../../admin?" })),
        base64(google.serviceAccount({ private_key: "no key" })),
        base64(google.serviceAccount({ type: "authorized_user" })),
        "AIzaSy-an-api-key"
      ]
      for (const secret of wrong) {
        const error = yield* Effect.flip(ranker.run(ranking, { id: secret.slice(-8), secret: Redacted.make(secret) }))
        assert.strictEqual(error.reason._tag, "Unauthorized")
      }
      assert.deepStrictEqual([google.state.requests.length, other.state.requests.length], [0, 0])
      const unknown = base64(google.serviceAccount({ client_email: "another@example.com" }))
      const error = yield* Effect.flip(ranker.run(ranking, { id: "x", secret: Redacted.make(unknown) }))
      assert.deepStrictEqual([error.reason._tag, requestsTo("/token").length], ["Unauthorized", 1])
      yield* ranker.run(ranking, { id: "y", secret: Redacted.make(`${project}:${key}`) })
    }).pipe(provide(services))
  )

  it.live("that cannot be had mean that no job was submitted", () =>
    Effect.gen(function* () {
      const { google, requestsTo, submit } = yield* at()
      const failures: ReadonlyArray<readonly [Scripted, string]> = [
        [{ fault: "cut" }, "Unavailable"],
        [{ fault: "cutBody" }, "Unavailable"],
        [{ status: 500 }, "Unavailable"],
        [{ body: "<html>" }, "Unavailable"],
        [{ status: 404 }, "Unavailable"],
        [{ status: 503 }, "Overloaded"],
        [{ status: 400, body: { error: "invalid_grant" } }, "Unauthorized"]
      ]
      for (const [scripted, expected] of failures) {
        google.next(scripted)
        assert.strictEqual((yield* Effect.flip(submit(request))).reason._tag, expected)
      }
      assert.lengthOf(requestsTo("predictLongRunning"), 0)
      yield* submit(request)
    }).pipe(provide(services))
  )

  it.live("and keys are in no error, log or span", () =>
    Effect.gen(function* () {
      const { google, own, ranker } = yield* at()
      const { private_key } = google.serviceAccount()
      const secrets = [base64(google.serviceAccount()), private_key.slice(40, 90)]
      for (const scripted of [{ status: 400, body: { error: "invalid_grant" } }, { fault: "cut" as const }]) {
        google.next(scripted)
        const text = yield* recorded(ranker.run(ranking, own))
        for (const secret of secrets) assert.notInclude(text, secret)
      }
      yield* ranker.run(ranking, own)
      const token = google.state.requests.at(-1)?.headers["authorization"]?.slice(7) ?? assert.fail("no token")
      google.next({ status: 400, body: { error: { message: `bad ${token}` } } })
      assert.notInclude(yield* recorded(ranker.run(ranking, own)), token)
    }).pipe(provide(services))
  )
})

describe("Google Cloud's ranking", () => {
  it.live("sends records with ids, and returns scores by index", () =>
    Effect.gen(function* () {
      const { own, ranker, requestsTo } = yield* at()
      const { answer, charge } = yield* ranker.run(
        { ...ranking, top_n: 2, options: { userLabels: { team: "a" } } },
        own
      )
      assert.deepStrictEqual<unknown>(answer.results, [
        { index: 1, relevance_score: 1 },
        { index: 2, relevance_score: 0.5 }
      ])
      assert.deepStrictEqual<unknown>(charge, { cost: 1000, usage: { search_units: 1 } })
      assert.strictEqual(ranker.quote(ranking), 1000)
      const [{ text, url } = assert.fail("no request")] = requestsTo(":rank")
      assert.strictEqual(url, `/v1/projects/${project}/locations/global/rankingConfigs/default_ranking_config:rank`)
      assert.deepStrictEqual(JSON.parse(text), {
        model: "semantic-ranker-default-004",
        query: "green tea",
        records: [
          { id: "0", content: "coffee" },
          { id: "1", content: "green tea leaves" },
          { id: "2", content: "black tea" }
        ],
        topN: 2,
        ignoreRecordDetailsInResponse: true,
        userLabels: { team: "a" }
      })
    }).pipe(provide(services))
  )

  it.live("splits more than 200 documents, and charges a search unit for each 100", () =>
    Effect.gen(function* () {
      const { own, ranker, requestsTo } = yield* at()
      const documents = Array.from({ length: 450 }, (_, at) => ({ text: at === 449 ? "green tea" : `coffee ${at}` }))
      const { answer, charge } = yield* ranker.run({ query: "green tea", documents, top_n: 1 }, own)
      assert.strictEqual(answer.results[0]?.index, 449)
      assert.deepStrictEqual<unknown>(charge, { cost: 5000, usage: { search_units: 5 } })
      assert.lengthOf(requestsTo(":rank"), 3)
    }).pipe(provide(services))
  )

  it.live("maps every failure to its reason", () =>
    Effect.gen(function* () {
      const credential = own(`${project}:${key}`)
      const { google, ranker } = yield* at({ credential })
      const lost = "ConnectionLost: the connection to the provider was lost before its answer was complete"
      const failures: ReadonlyArray<readonly [Scripted, string]> = [
        [
          { status: 400, body: { error: { code: 400, message: "query is required.", status: "INVALID_ARGUMENT" } } },
          "InvalidRequest: query is required."
        ],
        [documentedErrors.unauthenticated, "Unauthorized: the provider rejected its credentials"],
        [documentedErrors.denied, "Unauthorized: the provider rejected its credentials"],
        [documentedErrors.noBilling, "OutOfCredit: the account at the provider is out of credit"],
        [documentedErrors.noModel, "UnknownModel: unknown model semantic-ranker-default-004"],
        [
          { ...documentedErrors.exhausted, headers: { "retry-after": "17" } },
          "RateLimited: the provider's rate limit is exceeded"
        ],
        [documentedErrors.internal, "BadResponse: status 500"],
        [{ status: 503 }, "Overloaded: the provider is overloaded"],
        [{ body: "<html>", headers: { "content-type": "text/html" } }, "BadResponse: not JSON but text/html"],
        [{ body: { records: [{ id: "9", score: 1 }] } }, "BadResponse: an index without a document"],
        [{ body: { records: [{ id: "a", score: 1 }] } }, "BadResponse: JSON of another form at records.0.id"],
        [{ fault: "cut" }, lost],
        [{ fault: "cutBody" }, lost]
      ]
      for (const [scripted, expected] of failures) {
        google.next(scripted)
        assert.strictEqual(told((yield* Effect.flip(ranker.run(ranking, credential))).reason), expected)
      }
      const silent = yield* at({ credential, timeLimit: "50 millis" })
      silent.google.next({ fault: "hang" })
      assert.strictEqual((yield* Effect.flip(silent.ranker.run(ranking, credential))).reason._tag, "Timeout")
    }).pipe(provide(services))
  )
})

describe("Veo on Vertex AI", () => {
  it.live("makes a video, whose bytes are in the answer, and charges the quote", () =>
    Effect.gen(function* () {
      const { content, follow, google, requestsTo, submit, veo } = yield* at()
      const wanted: VideoRequest = {
        ...request,
        duration: 4,
        resolution: "4K",
        aspect_ratio: "9:16",
        generate_audio: false,
        seed: 7,
        frame_images: [frame("a", "first_frame"), frame("b", "last_frame")],
        options: { negativePrompt: "rain" }
      }
      const handle = yield* submit(wanted)
      assert.deepStrictEqual<unknown>(yield* follow(handle, wanted), {
        status: "completed",
        outputs: 1,
        charge: { cost: 2_400_000, usage: { seconds: 4, videos: 1 } }
      })
      assert.strictEqual(veo.quote(wanted), 2_400_000)
      assert.deepStrictEqual(yield* content(handle, wanted), Buffer.from(video))
      const [{ text, url } = assert.fail("no request")] = requestsTo("predictLongRunning")
      assert.strictEqual(
        url,
        `/v1/projects/${project}/locations/us-central1/publishers/google/models/veo-3.1-generate-001:predictLongRunning`
      )
      const image = (name: string) => ({
        bytesBase64Encoded: Buffer.from(name).toString("base64"),
        mimeType: "image/png"
      })
      assert.deepStrictEqual(JSON.parse(text), {
        instances: [{ prompt: "a harbor at dawn", image: image("a"), lastFrame: image("b") }],
        parameters: {
          durationSeconds: 4,
          resolution: "4k",
          aspectRatio: "9:16",
          generateAudio: false,
          seed: 7,
          sampleCount: 1,
          negativePrompt: "rain"
        }
      })
      assert.deepStrictEqual([veo.pollInterval, veo.isIdempotent], [Duration.seconds(10), false])
      // Google documents no way to cancel.
      const before = google.state.requests.length
      yield* veo.cancel(handle, own("unused"))
      assert.lengthOf(google.state.requests, before)
    }).pipe(provide(services))
  )

  it.live("decodes a large video as it arrives, with what JSON may escape in it", () =>
    Effect.gen(function* () {
      const { content, google, poll, submit } = yield* at()
      const handle = yield* submit(request)
      const bytes = Buffer.alloc(12_000_001, 0)
      for (let at = 0; at < bytes.length; at++) bytes[at] = (at * 31 + (at >> 8)) & 0xff
      const text = bytes.toString("base64").replaceAll("/", "\\/").replaceAll("=", "\\u003d")
      const body = `{"name":"x","done":true,"response":{"videos":[{"mimeType":"video/mp4","bytesBase64Encoded":"${text}"}]}}`
      google.next({ body })
      assert.deepInclude(yield* poll(handle, request), { status: "completed", outputs: 1 })
      google.next({ body })
      const read = yield* content(handle, request)
      assert.isTrue(read.equals(bytes))
    }).pipe(provide(services))
  )

  it.live("bounds what it reads of an answer without a video", () =>
    Effect.gen(function* () {
      const { google, poll, submit } = yield* at()
      const handle = yield* submit(request)
      for (const scripted of [
        { body: `{"done":true,"error":{"message":"${"a".repeat(200_000)}"}}` },
        { fault: "endless" as const }
      ]) {
        google.next(scripted)
        assert.strictEqual(
          told((yield* Effect.flip(poll(handle, request))).reason),
          "BadResponse: more than 65536 bytes without a file"
        )
      }
      google.next({ fault: "cutBody" })
      assert.strictEqual((yield* Effect.flip(poll(handle, request))).reason._tag, "ConnectionLost")
    }).pipe(provide(services))
  )

  it.live("fails a download whose answer ends early, is no base64 or has no video", () =>
    Effect.gen(function* () {
      const { content, google, submit } = yield* at()
      const handle = yield* submit(request)
      const bodies: ReadonlyArray<readonly [Scripted, string]> = [
        [{ body: '{"response":{"videos":[{"bytesBase64Encoded":"AAAA' }, "BadResponse: no output 0"],
        [{ body: '{"response":{"videos":[{"bytesBase64Encoded":"A<AA"}]}}' }, "BadResponse: a file that is not base64"],
        [{ body: '{"response":{"videos":[{"gcsUri":"gs://a/b.mp4"}]}}' }, "BadResponse: no output 0"]
      ]
      for (const [scripted, expected] of bodies) {
        google.next(scripted)
        assert.strictEqual(told((yield* Effect.flip(content(handle, request))).reason), expected)
      }
    }).pipe(provide(services))
  )

  it.live("takes references to images of its longest videos", () =>
    Effect.gen(function* () {
      const { requestsTo, submit } = yield* at()
      yield* submit({ ...request, input_references: [reference("a"), reference("b")] })
      const [{ text } = assert.fail("no request")] = requestsTo("predictLongRunning")
      const image = (name: string) => ({
        image: { bytesBase64Encoded: Buffer.from(name).toString("base64"), mimeType: "image/png" },
        referenceType: "asset"
      })
      assert.deepInclude(JSON.parse(text), {
        instances: [{ prompt: "a harbor at dawn", referenceImages: [image("a"), image("b")] }]
      })
    }).pipe(provide(services))
  )

  it.live("refuses, before it is called, what the model does not take", () =>
    Effect.gen(function* () {
      const { google, veo } = yield* at()
      const check = (request: VideoRequest) =>
        Effect.map(Effect.flip(veo.check(request)), ({ reason }) => reason.message)
      const id = "vertex/veo-3.1-generate-001"
      assert.deepStrictEqual(
        [
          yield* check({ ...request, frame_images: [image] }),
          yield* check({
            ...request,
            frame_images: [frame("a", "first_frame")],
            input_references: [reference("b")]
          }),
          yield* check({ ...request, duration: 4, input_references: [reference("a")] }),
          yield* check({ ...request, duration: 5 }),
          yield* check({ ...request, options: { storageUri: "gs://mine" } }),
          yield* check({ ...request, options: { sampleCount: 4 } })
        ],
        [
          `frame_images.0.image_url.url: ${id} takes images as data:image/…;base64, URIs only`,
          `input_references: ${id} takes frame images or references, not both`,
          `duration: ${id} makes videos with input_references of 8 seconds, not 4`,
          `duration: ${id} makes videos of 4, 6, 8 seconds`,
          "provider.options.vertex.storageUri: says where results are sent, so it cannot be passed on",
          "provider.options.vertex.sampleCount: changes the price, so it cannot be passed on"
        ]
      )
      assert.lengthOf(google.state.requests, 0)
    }).pipe(provide(services))
  )

  it.live("says why a job failed, and reports a lost one and one without a video", () =>
    Effect.gen(function* () {
      const { follow, google, poll, submit } = yield* at()
      const failures = [
        [{ code: 3, message: "The prompt violates the guidelines." }, "The prompt violates the guidelines."],
        [{ code: 13, message: "node 7 is down" }, "the provider could not make the video"],
        [{ code: "filtered" }, "the provider's content moderation rejected the video"]
      ] as const
      for (const [failure, message] of failures) {
        google.jobs.next("fail")
        google.failWith(failure)
        assert.deepStrictEqual(yield* follow(yield* submit(request), request), { status: "failed", message })
      }
      google.jobs.next("lose", "empty")
      const lost = yield* submit(request)
      yield* poll(lost, request)
      const gone = yield* Effect.flip(poll(lost, request))
      assert.deepStrictEqual([gone.reason._tag, gone.status], ["UnknownModel", 404])
      assert.include(yield* follow(yield* submit(request), request), { status: "completed", outputs: 0 })
      const another = yield* Effect.flip(poll("projects/a/operations/b", request))
      assert.strictEqual(told(another.reason), "BadResponse: no handle of Vertex AI")
      google.next({ body: "<html>" })
      assert.strictEqual(
        told((yield* Effect.flip(poll(lost, request))).reason),
        "BadResponse: not the JSON of an operation"
      )
      google.next({ body: { name: "../keys" } })
      assert.strictEqual(
        told((yield* Effect.flip(submit(request))).reason),
        "BadResponse: JSON of another form at name"
      )
    }).pipe(provide(services))
  )
})

describe("Chirp", () => {
  it.live("sends the audio in base64, and returns words and segments", () =>
    Effect.gen(function* () {
      const { chirp, own, requestsTo } = yield* at()
      const { answer, charge } = yield* chirp.run(
        speaking("one two", { language: "de", timestamp_granularities: ["word", "segment"] }),
        own
      )
      assert.deepStrictEqual<unknown>(answer, {
        text: "one two",
        duration: 2,
        language: "de-de",
        segments: [{ id: 0, start: 0, end: 2, text: "one two" }],
        words: [
          { word: "one", start: 0, end: 0.5 },
          { word: "two", start: 1, end: 1.5 }
        ]
      })
      assert.deepStrictEqual<unknown>(charge, { cost: 534, usage: { seconds: 2 } })
      const [{ text, url } = assert.fail("no request")] = requestsTo(":recognize")
      assert.strictEqual(url, `/v2/projects/${project}/locations/us-central1/recognizers/_:recognize`)
      assert.deepStrictEqual(JSON.parse(text), {
        config: {
          model: "chirp_2",
          autoDecodingConfig: {},
          languageCodes: ["de-DE"],
          features: { enableAutomaticPunctuation: true, enableWordTimeOffsets: true }
        },
        content: Buffer.from("speech: one two").toString("base64")
      })
    }).pipe(provide(services))
  )

  it.live("detects a language that it does not take, and says so", () =>
    Effect.gen(function* () {
      const { chirp, google, own, requestsTo } = yield* at()
      const finnish = speaking("yksi", { language: "fi" })
      assert.deepStrictEqual(chirp.ignored?.(finnish), [
        "language: vertex/chirp_2 does not take fi, so it detects the language."
      ])
      yield* chirp.run({ ...finnish, options: { features: { profanityFilter: true } } }, own)
      assert.deepInclude(JSON.parse(requestsTo(":recognize")[0]?.text ?? ""), {
        config: {
          model: "chirp_2",
          autoDecodingConfig: {},
          languageCodes: ["auto"],
          features: { enableAutomaticPunctuation: true, enableWordTimeOffsets: false, profanityFilter: true }
        }
      })
      // Silence has no results.
      google.next({ body: { metadata: { totalBilledDuration: "1s" } } })
      const { answer } = yield* chirp.run(speaking("one", { timestamp_granularities: ["word"] }), own)
      assert.deepStrictEqual<unknown>([answer.text, answer.segments, answer.words], ["", [], []])
    }).pipe(provide(services))
  )

  it.live("leaves out a word without an end, and maps failures", () =>
    Effect.gen(function* () {
      const credential = own(`${project}:${key}`)
      const { chirp, google } = yield* at({ credential })
      const words = [
        { word: "a", endOffset: "0.500s" },
        { word: "b" },
        { word: "c", startOffset: "1s", endOffset: "2s" }
      ]
      google.next({
        body: {
          results: [
            { alternatives: [{ transcript: " a b c ", words }], resultEndOffset: "2s" },
            { alternatives: [{ transcript: "d" }], resultEndOffset: "3s", unknown: {} }
          ]
        }
      })
      const { answer } = yield* chirp.run(speaking("a b c", { timestamp_granularities: ["word"] }), credential)
      assert.deepStrictEqual<unknown>(answer, {
        text: "a b c d",
        duration: 3,
        segments: [
          { id: 0, start: 0, end: 2, text: "a b c" },
          { id: 1, start: 2, end: 3, text: "d" }
        ],
        words: [
          { word: "a", start: 0, end: 0.5 },
          { word: "c", start: 1, end: 2 }
        ]
      })
      const failures: ReadonlyArray<readonly [Scripted, string]> = [
        [
          { status: 400, body: { error: { message: "Audio is too long.", status: "INVALID_ARGUMENT" } } },
          "InvalidRequest: Audio is too long."
        ],
        [documentedErrors.unauthenticated, "Unauthorized: the provider rejected its credentials"],
        [documentedErrors.exhausted, "RateLimited: the provider's rate limit is exceeded"],
        [documentedErrors.internal, "BadResponse: status 500"],
        [{ fault: "cutBody" }, "ConnectionLost: the connection to the provider was lost before its answer was complete"]
      ]
      for (const [scripted, expected] of failures) {
        google.next(scripted)
        assert.strictEqual(told((yield* Effect.flip(chirp.run(speaking("a"), credential))).reason), expected)
      }
      const { reason } = yield* Effect.flip(
        chirp.run(speaking("a", { options: { features: { multiChannelMode: "SEPARATE" } } }), credential)
      )
      assert.match(told(reason), /provider\.options\.vertex\.features\.multiChannelMode: changes the price/)
    }).pipe(provide(services))
  )
})

describe("Google Cloud's hosts", () => {
  it.effect("are those of each service and location", () =>
    Effect.gen(function* () {
      const urls: Array<string> = []
      const seen = HttpClient.mapRequest(yield* HttpClient.HttpClient, (request) => {
        urls.push(request.url)
        return HttpClientRequest.setUrl(request, "http://127.0.0.1:1")
      })
      const credential = own(`${project}:${key}`)
      const upstream = { name: "vertex", baseUrl: Vertex.adapter.defaultBaseUrl ?? "", credential }
      const offers = yield* Vertex.adapter
        .offers(upstream, Vertex.adapter.models)
        .pipe(Effect.provideService(HttpClient.HttpClient, seen))
      for (const offer of offers) {
        yield* Effect.ignore(
          offer.kind === "rerank"
            ? offer.run(ranking, credential)
            : offer.kind === "transcription"
              ? offer.run(speaking("a"), credential)
              : offer.submit({ request, token: "token" }, credential)
        )
      }
      assert.deepStrictEqual(
        [...new Set(urls.map((url) => new URL(url).origin))],
        [
          "https://discoveryengine.googleapis.com",
          "https://us-central1-speech.googleapis.com",
          "https://us-central1-aiplatform.googleapis.com"
        ]
      )
    }).pipe(provide(services))
  )
})
