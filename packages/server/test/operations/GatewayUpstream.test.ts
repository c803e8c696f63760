// One gateway behind another: both are this service, the one behind serves the sandbox's models.
import { NodeHttpClient } from "@effect/platform-node"
import { expect, it } from "@effect/vitest"
import * as Models from "@model-gateway/core/Models"
import * as Rerank from "@model-gateway/core/Rerank"
import * as Transcription from "@model-gateway/core/Transcription"
import { Job } from "@model-gateway/core/Video"
import * as Gateway from "@model-gateway/providers/Gateway"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import type { Model } from "@model-gateway/offers/Model"
import { gatewayCredential } from "@model-gateway/offers/Offer"
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import { HttpClient, HttpClientError, type HttpClientRequest } from "effect/http"
import type { SqlClient } from "effect/sql/SqlClient"
import { KeyStore } from "../../src/access/KeyStore.ts"
import type { Workspace } from "../../src/access/WorkspaceStore.ts"
import * as TestLedger from "../accounting/TestLedger.ts"
import { envelopeOf, inSet, issuePaths, post } from "../TestEnvelope.ts"
import { form, formHeaders, layer, TestGateway } from "../TestGateway.ts"
import { keypad } from "./TestAudio.ts"

/** The gateway behind. */
class Behind extends Context.Service<
  Behind,
  {
    readonly port: number
    readonly key: string
    readonly workspace: Workspace
    readonly services: Context.Context<SqlClient | KeyStore>
    /** What it was sent, as `METHOD path body`. */
    readonly requests: Array<string>
    /** Whether the next response is lost on its way, after the request arrived. */
    isLossy: boolean
  }
>()("test/Behind") {}

const layerBehind = Layer.effect(
  Behind,
  Effect.gen(function* () {
    const context = yield* Layer.build(layer())
    const { ordinaryKey, port, workspace } = Context.get(context, TestGateway)
    return { port, key: ordinaryKey, workspace, services: context, requests: [], isLossy: false }
  })
)

const textOf = ({ body, headers, method, url }: HttpClientRequest.HttpClientRequest): string =>
  [
    method,
    new URL(url).pathname,
    headers["idempotency-key"] === undefined ? "" : "with a key",
    body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : body._tag
  ].join(" ")

/** A client that records what it sends, and can lose a response. */
const layerClient = Layer.effect(
  HttpClient.HttpClient,
  Effect.gen(function* () {
    const behind = yield* Behind
    const client = yield* HttpClient.HttpClient
    return HttpClient.transform(client, (responding, request) => {
      behind.requests.push(textOf(request))
      return Effect.flatMap(responding, (response) => {
        if (!behind.isLossy) return Effect.succeed(response)
        behind.isLossy = false
        const reason = new HttpClientError.TransportError({ request, cause: new Error("socket hang up") })
        return Effect.fail(new HttpClientError.HttpClientError({ reason }))
      })
    })
  })
).pipe(Layer.provide(NodeHttpClient.layerUndici))

const offers = (models: ReadonlyArray<Model>, key?: string) =>
  Effect.gen(function* () {
    const behind = yield* Behind
    return yield* Gateway.adapter.offers(
      {
        name: "gateway",
        baseUrl: `http://127.0.0.1:${behind.port}/api/v1`,
        credential: gatewayCredential(Redacted.make(key ?? behind.key))
      },
      models
    )
  })

/** A gateway that offers what the one behind lists. */
const gateway = Layer.unwrap(
  Effect.map(offers([]), (offers) => layer({ circuits: { failures: 1000 } }, [offers]))
).pipe(Layer.provide(layerClient), Layer.provideMerge(layerBehind))

const decodeModels = Schema.decodeUnknownSync(Schema.fromJsonString(Models.ListResponse))
const decodeRanking = Schema.decodeUnknownSync(Schema.fromJsonString(Rerank.Response))
const decodeTranscript = Schema.decodeUnknownSync(Schema.fromJsonString(Transcription.Response))
const decodeJob = Schema.decodeUnknownSync(Schema.fromJsonString(Job))

const request = {
  model: "gateway/sandbox/bm25",
  query: "green tea",
  documents: ["coffee", { text: "green tea leaves" }, "black tea"]
}

const film = { model: "gateway/sandbox/title-card", prompt: "a harbor", duration: 1, resolution: "480p" }

const submit = (body: object) =>
  Effect.map(post("/api/v1/videos", body), (answer) => {
    expect([answer.status, answer.text]).toEqual([202, expect.any(String)])
    return decodeJob(answer.text)
  })

const ended = (job: Job) =>
  Effect.gen(function* () {
    const { ask } = yield* TestGateway
    let now = job
    while (now.status === "pending" || now.status === "in_progress") {
      now = decodeJob((yield* ask(`${job.polling_url}?wait=20`)).text)
    }
    return now
  })

/** What the gateway behind charged. */
const chargedBehind = Effect.flatMap(Behind, ({ services }) => Effect.provideContext(TestLedger.usageOf(), services))

it.layer(gateway, { excludeTestServices: true })("a gateway behind a gateway", (it) => {
  it.effect("lists its models, with their prices and capabilities", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const { data } = decodeModels((yield* ask("/api/v1/models")).text)
      const film = data.find(({ id }) => id === "gateway/sandbox/title-card")
      expect(film).toMatchObject({
        name: "Title card",
        kind: "video",
        is_free: false,
        providers: ["gateway"],
        pricing: { prompt: "0", completion: "0", second: "0.01" },
        capabilities: { max_duration: 60, prompt_optional: false, upscale: false }
      })
      expect(data.find(({ id }) => id === "gateway/sandbox/bm25")?.pricing).toMatchObject({ search_unit: "0.001" })
      expect(data.find(({ id }) => id === "gateway/sandbox/tones")?.kind).toBe("transcription")
    })
  )

  it.effect("ranks, and is charged what the gateway behind charges", () =>
    Effect.gen(function* () {
      const { requests } = yield* Behind
      const options = { gateway: { sort: "price" } }
      const answer = yield* post("/api/v1/rerank", {
        ...request,
        top_n: 2,
        provider: { options },
        user: "person-17",
        trace: { trace_id: "trace-17" }
      })
      inSet("rerank", answer)
      const { id, results, usage, ...rest } = decodeRanking(answer.text)
      expect(rest).toEqual({ model: "gateway/sandbox/bm25", provider: "gateway" })
      expect(results.map(({ document, index }) => [index, document.text])).toEqual([
        [1, "green tea leaves"],
        [2, "black tea"]
      ])
      expect(usage).toMatchObject({ search_units: 1, cost: 0.001 })
      expect(yield* TestLedger.usageOf()).toContainEqual(
        expect.objectContaining({ id, provider: "gateway", reserved: 1000, cost: 1000 })
      )
      expect((yield* chargedBehind).at(-1)).toMatchObject({ operation: "rerank", model: "sandbox/bm25", cost: 1000 })
      // The end user and the trace stay here. Only a video needs an idempotency key.
      expect(requests.at(-1)).toBe(
        `POST /api/v1/rerank  ${JSON.stringify({
          model: "sandbox/bm25",
          query: request.query,
          documents: [{ text: "coffee" }, { text: "green tea leaves" }, { text: "black tea" }],
          top_n: 2,
          provider: { sort: "price" }
        })}`
      )
    })
  )

  it.effect("transcribes uploads and base64, with timestamps if they are asked for", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const audio = keypad("1259")
      const upload = yield* ask("/api/v1/audio/transcriptions", {
        method: "POST",
        headers: formHeaders,
        body: form(
          { name: "model", value: "gateway/sandbox/tones" },
          { name: "response_format", value: "verbose_json" },
          { name: "timestamp_granularities[]", value: "word" },
          { name: "file", filename: "tones.wav", type: "audio/wav", value: audio }
        )
      })
      const { segments, text, usage, words } = decodeTranscript(upload.text)
      expect([text, segments?.length, words?.map(({ word }) => word)]).toEqual(["1259", 1, ["1", "2", "5", "9"]])
      expect(usage).toEqual({ seconds: 0.8, cost: 0.00008 })
      const plain = yield* post("/api/v1/audio/transcriptions", {
        model: "gateway/sandbox/tones",
        input_audio: { data: audio.toString("base64"), format: "wav" }
      })
      expect(decodeTranscript(plain.text)).toEqual({ text: "1259", usage: { seconds: 0.8, cost: 0.00008 } })
    })
  )

  it.effect("makes a video, which is stored here and costs what the gateway behind charges", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const { requests } = yield* Behind
      const job = yield* ended(yield* submit(film))
      expect(job).toMatchObject({ status: "completed", usage: { cost: 0.01 }, model: film.model })
      const video = yield* ask(job.unsigned_urls?.[0] ?? "")
      expect([video.status, video.bytes.subarray(4, 8).toString()]).toEqual([200, "ftyp"])
      const { services } = yield* Behind
      const charges = yield* Effect.provideContext(TestLedger.usageOf(), services)
      expect(charges.filter(({ operation }) => operation === "video")).toMatchObject([{ cost: 10_000 }])
      expect(requests.filter((request) => request.startsWith("POST /api/v1/videos with a key"))).toHaveLength(1)
    })
  )

  it.effect("submits a video again if the response was lost, and pays for one", () =>
    Effect.gen(function* () {
      const behind = yield* Behind
      const before = (yield* chargedBehind).length
      const { ask } = yield* TestGateway
      const job = yield* submit({ ...film, prompt: "a lighthouse" })
      behind.isLossy = true
      const done = yield* ended(job)
      expect(done.status).toBe("completed")
      expect((yield* ask(done.unsigned_urls?.[0] ?? "")).status).toBe(200)
      const submissions = behind.requests.filter((request) => request.includes("a lighthouse"))
      expect([submissions.length, new Set(submissions).size]).toEqual([2, 1])
      expect((yield* chargedBehind).slice(before)).toHaveLength(1)
    })
  )

  it.effect("cancels the job behind", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const { requests } = yield* Behind
      const job = yield* submit({ ...film, duration: 60, resolution: "1080p" })
      while ((yield* ask(`${job.polling_url}`)).text.includes("generation_id") === false) yield* Effect.yieldNow
      yield* ask(`${job.polling_url}/cancel`, { method: "POST" })
      while (!requests.some((request) => /^POST \S+\/cancel/.test(request))) yield* Effect.yieldNow
      expect((yield* ended(job)).status).toBe("cancelled")
    })
  )

  it.effect("fails a job with the reason of the gateway behind", () =>
    Effect.gen(function* () {
      const { resolution: _resolution, ...sized } = film
      const job = yield* submit({ ...sized, size: "1x1" })
      const { error, status } = yield* ended(job)
      expect(status).toBe("failed")
      expect(error).toContain("1x1 is too small")
    })
  )

  it.effect("says what the gateway behind ignored, of every operation", () =>
    Effect.gen(function* () {
      const provider = { options: { gateway: { options: { sandbox: { speed: 2 } } } } }
      const ignored = (model: string) => `provider.options.sandbox: ${model} takes no options, so they were ignored.`
      const ranked = yield* post("/api/v1/rerank", { ...request, provider })
      expect(decodeRanking(ranked.text).warnings).toEqual([ignored(request.model)])
      const transcript = yield* post("/api/v1/audio/transcriptions", {
        model: "gateway/sandbox/tones",
        input_audio: { data: keypad("1259").toString("base64"), format: "wav" },
        temperature: 0.5
      })
      expect(decodeTranscript(transcript.text).warnings).toEqual([
        "temperature: gateway/sandbox/tones takes no temperature, so it was ignored."
      ])
      const job = yield* ended(yield* submit({ ...film, prompt: "a pier", provider }))
      expect([job.status, job.warnings]).toEqual(["completed", [ignored(film.model)]])
    })
  )

  it.effect("refuses what the listed model does not support, without a call", () =>
    Effect.gen(function* () {
      const { requests } = yield* Behind
      const before = requests.length
      const image_url = { url: "https://example.com/a.png" }
      const frame = { type: "image_url", frame_type: "first_frame", image_url }
      const answer = yield* post("/api/v1/videos", { ...film, frame_images: [frame] })
      expect([answer.status, issuePaths(answer)]).toEqual([400, ["frame_images"]])
      expect(requests).toHaveLength(before)
    })
  )

  it.effect("refuses preferences that the gateway behind would not understand, without a call", () =>
    Effect.gen(function* () {
      const { requests } = yield* Behind
      const before = requests.length
      const provider = { options: { gateway: { order: "cohere" } } }
      const answer = yield* post("/api/v1/rerank", { ...request, provider })
      expect([answer.status, envelopeOf(answer).error.message]).toEqual([
        400,
        expect.stringContaining("provider.options.gateway: must be provider preferences")
      ])
      expect((yield* post("/api/v1/videos", { ...film, provider })).status).toBe(400)
      expect(requests).toHaveLength(before)
    })
  )

  it.effect("answers every failure of the gateway behind with the contract's status, and charges nothing", () =>
    Effect.gen(function* () {
      const { services } = yield* Behind
      const before = yield* TestLedger.usageOf()
      const statuses = {
        400: 400,
        401: 502,
        402: 502,
        403: 502,
        404: 502,
        413: 413,
        429: 529,
        500: 502,
        502: 502,
        503: 529,
        524: 524,
        529: 529
      }
      for (const [status, expected] of Object.entries(statuses)) {
        const answer = yield* post("/api/v1/rerank", { ...request, model: `gateway/sandbox/status-${status}` })
        inSet("rerank", answer)
        expect([status, answer.status]).toEqual([status, expected])
      }
      const image = yield* post("/api/v1/rerank", { ...request, documents: [{ image: "https://example.com/a.png" }] })
      expect([image.status, issuePaths(image)]).toEqual([400, ["documents.0.image"]])
      expect(yield* TestLedger.usageOf()).toEqual(before)
      expect(yield* Effect.provideContext(TestLedger.openReservations, services)).toEqual([])
    })
  )
})

const model: Model = {
  kind: "rerank",
  publicId: "acme/rank",
  upstreamId: "sandbox/bm25",
  name: "Rank",
  pricing: { unit: "search_unit", microCredits: 5000 }
}

const built = Layer.mergeAll(layerBehind, NodeHttpClient.layerUndici)

it.layer(built, { excludeTestServices: true })("offers of a gateway behind", (it) => {
  const failing = (key: string) =>
    Effect.gen(function* () {
      const [offer] = yield* offers([model], key)
      if (offer?.kind !== "rerank" || offer.credential === undefined) return yield* Effect.die("no rerank offer")
      const { reason, status } = yield* Effect.flip(
        offer.run({ query: "tea", documents: [{ text: "green tea" }] }, offer.credential)
      )
      return [reason._tag, status]
    })

  it.effect("have the price of the settings as their quote, and the upstream's cost as their charge", () =>
    Effect.gen(function* () {
      const [offer] = yield* offers([model])
      if (offer?.kind !== "rerank" || offer.credential === undefined) return yield* Effect.die("no rerank offer")
      const wanted = { query: "tea", documents: [{ text: "green tea" }] }
      expect(offer.quote(wanted)).toBe(5000)
      expect((yield* offer.run(wanted, offer.credential)).charge.cost).toBe(1000)
    })
  )

  it.effect("tell a rejected key from an account without credit", () =>
    Effect.gen(function* () {
      const { services, workspace } = yield* Behind
      expect(yield* failing("mg_sk_unknown")).toEqual(["Unauthorized", 401])
      const { plain } = yield* Context.get(services, KeyStore).create({
        organizationId: workspace.organizationId,
        workspaceId: workspace.id,
        name: "poor",
        limit: MicroCredits.make(0)
      })
      expect(yield* failing(Redacted.value(plain))).toEqual(["OutOfCredit", 402])
    })
  )

  it.effect("are none if the gateway behind is down, and the start goes on", () =>
    Effect.gen(function* () {
      const down = {
        name: "gateway",
        baseUrl: "http://127.0.0.1:1/api/v1",
        credential: gatewayCredential(Redacted.make("k"))
      }
      expect(yield* Gateway.adapter.offers(down, [])).toEqual([])
      const [offer] = yield* Gateway.adapter.offers(down, [model])
      if (offer?.kind !== "rerank") return yield* Effect.die("no rerank offer")
      const error = yield* Effect.flip(offer.run({ query: "tea", documents: [{ text: "tea" }] }, down.credential))
      expect(error.reason._tag).toBe("Unavailable")
    })
  )

  it.effect("name the wrong field of a model's parameters", () =>
    Effect.gen(function* () {
      const video: Model = {
        kind: "video",
        publicId: "acme/film",
        upstreamId: "sandbox/title-card",
        name: "Film",
        pricing: { unit: "second", microCredits: 1 },
        parameters: { max_durations: 3 }
      }
      expect((yield* Effect.flip(offers([video]))).message).toContain("max_durations")
      expect((yield* Effect.flip(offers([{ ...video, parameters: { max_duration: "3" } }]))).message).toContain(
        "max_duration"
      )
    })
  )
})
