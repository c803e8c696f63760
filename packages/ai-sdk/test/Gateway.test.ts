/** The functions of the SDK against the gateway's executable. */
import { APICallError, NoSuchModelError } from "@ai-sdk/provider"
import { createModelGateway, type ModelGatewayProvider, type ModelGatewayVideoOptions } from "@model-gateway/ai-sdk"
import { DtmfTone } from "@model-gateway/sandbox"
import { type Gateway, startGateway } from "@model-gateway/test-services/GatewayProcess"
import {
  createProviderRegistry,
  experimental_generateVideo as generateVideo,
  experimental_getVideoStatus as getVideoStatus,
  experimental_startVideo as startVideo,
  rerank,
  transcribe,
  uploadFile,
  wrapProvider
} from "ai"
import { MockRerankingModelV4 } from "ai/test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest"
import { rejection } from "./support/serve.ts"
import { containing, matching, near, some } from "./support/parts.ts"

let data: string
let running: Gateway
let baseURL: string
let gateway: ModelGatewayProvider

beforeAll(async () => {
  vi.stubGlobal("AI_SDK_LOG_WARNINGS", false)
  data = mkdtempSync(join(tmpdir(), "model-gateway-ai-sdk-"))
  running = await startGateway(data)
  baseURL = `${running.origin}/api/v1`
  gateway = createModelGateway({ baseURL, apiKey: running.key })
})

afterAll(async () => {
  vi.unstubAllGlobals()
  await running?.stop()
  rmSync(data, { recursive: true, force: true })
})

const documents = ["sunny day at the beach", "rainy afternoon in the city", "snowy night in the mountains"]
const query = "rainy city"
const audio = DtmfTone.wav("555 0199")

const call = async (path: string, key: string, body?: object): Promise<unknown> => {
  const response = await fetch(baseURL + path, {
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body === undefined ? undefined : { method: "POST", body: JSON.stringify(body) })
  })
  return response.json()
}

/** A key of its own, and what was charged to it. */
const makeKey = async () => {
  const made = await call("/keys", running.managementKey, { name: "ai-sdk" })
  if (typeof made !== "object" || made === null || !("key" in made) || typeof made.key !== "string") {
    throw new Error("no key")
  }
  const { key } = made
  return { key, usage: () => call("/key", key) }
}

const charged = (credits: number) => ({ data: { usage: credits } })

const urlOf = (input: Parameters<typeof fetch>[0]): string => (input instanceof Request ? input.url : input.toString())

/** Loses the response to the first request that the path begins with: the gateway has done the work. */
const losesFirst = (path: string) => {
  const keys: Array<string | null> = []
  const send: typeof fetch = async (input, init) => {
    const response = await fetch(input, init)
    if (init?.method !== "POST" || !urlOf(input).endsWith(path)) return response
    keys.push(new Headers(init.headers).get("idempotency-key"))
    if (keys.length > 1) return response
    await response.arrayBuffer()
    throw new TypeError("fetch failed")
  }
  return { send, keys }
}

describe("rerank", () => {
  it("ranks texts as the SDK's documentation shows", async () => {
    const model = gateway.reranking("sandbox/bm25")
    const { ranking, rerankedDocuments, response } = await rerank({ model, documents, query, topN: 2 })
    expect(ranking).toHaveLength(2)
    expect(ranking[0]).toEqual({ originalIndex: 1, score: some(Number), document: documents[1] })
    expect(rerankedDocuments[0]).toBe(documents[1])
    expect(response).toMatchObject({
      id: matching(/./),
      modelId: "sandbox/bm25",
      body: { results: [{}, {}] }
    })
  })

  it("says what it used and cost, who served it, and the id of the request", async () => {
    const { providerMetadata, response } = await rerank({ model: gateway.reranking("sandbox/bm25"), documents, query })
    expect(providerMetadata).toEqual({
      modelGateway: {
        provider: "sandbox",
        cost: 0.001,
        usage: { cost: 0.001, search_units: 1, total_tokens: some(Number) },
        generationId: response.id,
        requestId: response.headers?.["x-request-id"]
      }
    })
    expect(providerMetadata).toMatchObject({ modelGateway: { requestId: matching(/^req_/) } })
  })

  it("ranks objects by their JSON text, and says so", async () => {
    const emails = [
      { from: "Paul Doe", subject: "Follow-up", text: "We are happy to give you a discount of 20%." },
      { from: "John McGill", subject: "Missing Info", text: "Sorry, but here is the pricing information from Oracle." }
    ]
    const model = gateway.reranking("sandbox/bm25")
    const { rerankedDocuments } = await rerank({ model, documents: emails, query: "pricing from Oracle", topN: 1 })
    expect(rerankedDocuments).toEqual([emails[1]])
    const { warnings } = await model.doRerank({ documents: { type: "object", values: emails }, query })
    expect(warnings).toMatchObject([{ type: "compatibility", feature: "object documents" }])
  })

  it("ranks objects with a text or an image as such", async () => {
    const model = gateway.reranking("sandbox/bm25")
    const values = [{ text: "rainy city" }, { text: "beach" }]
    const { ranking, warnings } = await model.doRerank({ documents: { type: "object", values }, query })
    expect([ranking[0]?.index, warnings]).toEqual([0, []])
    const pixel = "data:image/png;base64,iVBORw0KGgo="
    const images = { type: "object" as const, values: [{ image: pixel }] }
    expect(await rejection(model.doRerank({ documents: images, query }))).toMatchObject({ statusCode: 400 })
  })

  it("passes options of the gateway and of its providers, and the warnings about them", async () => {
    const model = gateway.reranking("sandbox/bm25")
    const { warnings } = await model.doRerank({
      documents: { type: "text", values: documents },
      query,
      providerOptions: { modelGateway: { provider: { only: ["sandbox"] } }, sandbox: { colors: 3 } }
    })
    expect(warnings).toEqual([{ type: "other", message: containing("takes no options") }])
    const nowhere = { modelGateway: { provider: { only: ["nobody"] } } }
    expect(await rejection(rerank({ model, documents, query, maxRetries: 0, providerOptions: nowhere }))).toMatchObject(
      { statusCode: 404 }
    )
  })

  it("is charged once if the response is lost and the SDK repeats the call", { timeout: 30_000 }, async () => {
    const { key, usage } = await makeKey()
    const { keys, send } = losesFirst("/rerank")
    const attempts: Array<unknown> = []
    const model = createModelGateway({ baseURL, apiKey: key, fetch: send }).reranking("sandbox/bm25")
    const { response } = await rerank({
      // A wrapper of the user sees each attempt, and changes nothing for the model.
      model: new MockRerankingModelV4({
        doRerank: (options) => {
          attempts.push(options)
          return model.doRerank(options)
        }
      }),
      documents,
      query
    })
    expect(attempts).toHaveLength(2)
    expect(keys).toEqual([matching(/^[0-9a-f]{32}$/), keys[0]])
    expect(response.headers).toMatchObject({ "idempotent-replayed": "true" })
    expect(await usage()).toMatchObject(charged(0.001))
  })

  it("reports to the SDK's telemetry", async () => {
    const events: Array<unknown> = []
    const onEvent = (event: unknown) => void events.push(event)
    const integrations = {
      onStart: onEvent,
      onRerankStart: onEvent,
      onRerankEnd: onEvent,
      onEnd: onEvent,
      onError: onEvent
    }
    const telemetry = { integrations, functionId: "search" }
    await rerank({ model: gateway.reranking("sandbox/bm25"), documents, query, telemetry })
    const names = { provider: "modelGateway.reranking", modelId: "sandbox/bm25" }
    expect(events).toMatchObject([
      { operationId: "ai.rerank", functionId: "search", ...names },
      { operationId: "ai.rerank.doRerank", ...names },
      { operationId: "ai.rerank.doRerank", ...names },
      { operationId: "ai.rerank", ...names, providerMetadata: { modelGateway: { cost: 0.001 } } }
    ])
    events.length = 0
    const model = gateway.reranking("sandbox/status-402")
    await rejection(rerank({ model, documents, query, telemetry }))
    expect(events.at(-1)).toMatchObject({ error: { statusCode: 402, message: containing("402") } })
    expect(JSON.stringify(events.at(-1))).not.toContain(documents[0])
  })
})

describe("transcribe", () => {
  it("transcribes as the SDK's documentation shows, with segments", async () => {
    const transcript = await transcribe({ model: gateway.transcription("sandbox/tones"), audio })
    expect(transcript).toMatchObject({
      text: "555 0199",
      segments: [
        { text: "555", startSecond: near(0.1), endSecond: near(0.6) },
        { text: "0199", startSecond: near(1.3), endSecond: near(2) }
      ],
      words: undefined,
      // The code of tones is not one of ISO 639-1.
      language: undefined,
      durationInSeconds: 2.1,
      warnings: [],
      providerMetadata: { modelGateway: { cost: 0.00021, requestId: matching(/^req_/) } }
    })
  })

  it("returns the times of words", async () => {
    const model = gateway.transcription("sandbox/tones")
    const { segments, words } = await transcribe({ model, audio, timestampGranularities: ["word", "segment"] })
    expect(words?.map(({ text }) => text).join("")).toBe("5550199")
    expect(segments).toHaveLength(2)
  })

  it("takes base64, and a URL that the SDK downloads", async () => {
    const model = gateway.transcription("sandbox/tones")
    const base64 = Buffer.from(audio).toString("base64")
    const download = async () => ({ data: audio, mediaType: "audio/wav" })
    const url = new URL("https://files.example/call.wav")
    expect(await transcribe({ model, audio: base64 })).toMatchObject({ text: "555 0199" })
    expect(await transcribe({ model, audio: url, download })).toMatchObject({ text: "555 0199" })
    expect(await model.doGenerate({ audio: base64, mediaType: "audio/wav" })).toMatchObject({ text: "555 0199" })
    expect(await rejection(model.doGenerate({ audio: "no!", mediaType: "audio/wav" }))).toMatchObject({
      argument: "audio"
    })
  })

  it("is charged once if the response is lost and the SDK repeats the call", { timeout: 30_000 }, async () => {
    const { key, usage } = await makeKey()
    const { keys, send } = losesFirst("/audio/transcriptions")
    const model = createModelGateway({ baseURL, apiKey: key, fetch: send }).transcription("sandbox/tones")
    await transcribe({ model, audio })
    expect(keys).toEqual([matching(/./), keys[0]])
    expect(await usage()).toMatchObject(charged(0.00021))
  })
})

describe("generateVideo", () => {
  it("generates a video as the SDK's documentation shows", async () => {
    const { providerMetadata, video, warnings } = await generateVideo({
      model: gateway.video("sandbox/title-card"),
      prompt: "A cat walking on a treadmill",
      duration: 1,
      resolution: "854x480",
      seed: 3,
      fps: 24
    })
    expect(video.mediaType).toBe("video/mp4")
    expect(Buffer.from(video.uint8Array.subarray(4, 8)).toString()).toBe("ftyp")
    expect(warnings).toMatchObject([{ type: "unsupported", feature: "fps" }])
    expect(providerMetadata).toEqual({
      modelGateway: {
        videos: [
          {
            jobId: matching(/^video_/),
            generationId: some(String),
            requestId: matching(/^req_/),
            cost: 0.01,
            isByok: false
          }
        ]
      }
    })
  })

  it("polls several jobs, of which each is charged once if a response is lost", { timeout: 40_000 }, async () => {
    const { key, usage } = await makeKey()
    const { keys, send } = losesFirst("/videos")
    const model = createModelGateway({ baseURL, apiKey: key, fetch: send }).video("sandbox/title-card")
    const options: ModelGatewayVideoOptions = { resolution: "480p" }
    const { providerMetadata, videos } = await generateVideo({
      model,
      prompt: "A rocket launching into space",
      n: 2,
      duration: 1,
      poll: { intervalMs: 50 },
      providerOptions: { modelGateway: { ...options } }
    })
    expect(videos).toHaveLength(2)
    expect(providerMetadata).toMatchObject({ modelGateway: { videos: [{ cost: 0.01 }, { cost: 0.01 }] } })
    // The SDK makes these keys.
    expect(keys).toEqual([matching(/^aisdk_vid_/), matching(/^aisdk_vid_/), keys[0]])
    expect(await usage()).toMatchObject(charged(0.02))
  })

  it("waits for a webhook instead of polling", async () => {
    const submitted = Promise.withResolvers<string>()
    const polls: Array<string> = []
    const send: typeof fetch = async (input, init) => {
      const response = await fetch(input, init)
      if (init?.method !== "POST") polls.push(urlOf(input))
      else submitted.resolve(await response.clone().text())
      return response
    }
    const model = createModelGateway({ baseURL, apiKey: running.key, fetch: send }).video("sandbox/title-card")
    /** The gateway would call it now. */
    const received = async () => {
      const [id = ""] = /video_\w+/.exec(await submitted.promise) ?? []
      await expect.poll(() => call(`/videos/${id}?wait=20`, running.key)).toMatchObject({ status: "completed" })
      return { headers: {}, body: { type: "video.completed", data: { id } } }
    }
    const { videos } = await generateVideo({
      model,
      prompt: "Dawn",
      duration: 1,
      resolution: "854x480",
      webhook: async () => ({ url: "https://hooks.example/video", received: received() })
    })
    expect(videos).toHaveLength(1)
    expect(polls.map((url) => url.replace(/video_\w+/, "id"))).toEqual([
      `${baseURL}/videos/id`,
      `${baseURL}/videos/id/content?index=0`
    ])
  })

  it("is started now and looked at later, by its id", async () => {
    const model = gateway.video("sandbox/title-card")
    const { operation, providerMetadata } = await startVideo({ model, prompt: "Dusk", duration: 1 })
    expect(providerMetadata).toMatchObject({ modelGateway: { jobId: operation } })
    expect(await call(`/videos/${JSON.stringify(operation).slice(1, -1)}/cancel`, running.key, {})).toMatchObject({
      status: "cancelled"
    })
    expect(await getVideoStatus(model, { operation })).toMatchObject({
      status: "error",
      error: containing("ended as cancelled")
    })
    expect(await rejection(getVideoStatus(model, { operation: { id: 1 } }))).toMatchObject({ argument: "operation" })
  })

  it("cancels the job if it is aborted, so that nothing is charged", async () => {
    const { key, usage } = await makeKey()
    const controller = new AbortController()
    const posted: Array<string> = []
    const send: typeof fetch = async (input, init) => {
      if (init?.method === "POST") posted.push(urlOf(input))
      // The first poll: the job is there.
      else queueMicrotask(() => controller.abort())
      return fetch(input, init)
    }
    const model = createModelGateway({ baseURL, apiKey: key, fetch: send }).video("sandbox/title-card")
    const { signal } = controller
    const error = await rejection(generateVideo({ model, prompt: "Night", duration: 10, abortSignal: signal }))
    expect(error).toBe(signal.reason)
    // The rejection does not wait for the cancellation.
    await expect.poll(() => posted).toEqual([`${baseURL}/videos`, matching(/\/video_\w+\/cancel$/)])
    const [id = ""] = /video_\w+/.exec(posted[1] ?? "") ?? []
    await expect.poll(() => call(`/videos/${id}`, key)).toMatchObject({ status: "cancelled" })
    expect(await usage()).toMatchObject(charged(0))
  })
})

describe("files", () => {
  it("are uploaded, described, downloaded and deleted", async () => {
    const uploaded = await uploadFile({
      api: gateway,
      data: audio,
      filename: "call.wav",
      mediaType: "audio/wav",
      providerOptions: { modelGateway: { purpose: "calls" } }
    })
    expect(uploaded).toMatchObject({
      providerReference: { modelGateway: matching(/^file_/) },
      mediaType: "audio/wav",
      filename: "call.wav",
      byteSize: audio.byteLength,
      createdAt: some(Date),
      providerMetadata: { modelGateway: { purpose: "calls", requestId: matching(/^req_/) } },
      warnings: []
    })
    const files = gateway.files()
    const file = { ...uploaded.providerReference, other: "file-1" }
    expect(await files.getFileMetadata?.({ file })).toMatchObject({ filename: "call.wav", byteSize: audio.byteLength })
    const downloaded = await files.downloadFile?.({ file })
    expect(downloaded?.mediaType).toBe("audio/wav")
    expect(new Uint8Array(await new Response(downloaded?.content).arrayBuffer())).toEqual(audio)
    expect(await files.deleteFile?.({ file })).toMatchObject({
      deleted: true,
      providerReference: uploaded.providerReference
    })
    expect(await rejection(files.downloadFile?.({ file }) ?? Promise.resolve())).toMatchObject({ statusCode: 404 })
    expect(await rejection(files.getFileMetadata?.({ file: { other: "file-1" } }) ?? Promise.resolve())).toMatchObject({
      name: "AI_NoSuchProviderReferenceError"
    })
  })

  it("refuses a stream, which the SDK then cancels", async () => {
    let isCanceled = false
    const stream = new ReadableStream<Uint8Array>({ cancel: () => void (isCanceled = true) })
    const error = await rejection(uploadFile({ api: gateway.files(), data: { type: "stream", stream } }))
    expect(error).toMatchObject({ name: "AI_UnsupportedFunctionalityError" })
    expect(isCanceled).toBe(true)
  })
})

describe("the provider", () => {
  it("is in a registry, wrapped and global, with its methods taken from it", async () => {
    const registry = createProviderRegistry({ gateway })
    const wrapped = wrapProvider({ provider: gateway, languageModelMiddleware: [] })
    vi.stubGlobal("AI_SDK_DEFAULT_PROVIDER", gateway)
    onTestFinished(() => void vi.stubGlobal("AI_SDK_DEFAULT_PROVIDER", undefined))
    for (const model of [
      registry.rerankingModel("gateway:sandbox/bm25"),
      wrapped.rerankingModel?.("sandbox/bm25") ?? "",
      "sandbox/bm25"
    ]) {
      const { ranking } = await rerank({ model, documents, query })
      expect(ranking[0]?.originalIndex).toBe(1)
    }
    expect(registry.transcriptionModel("gateway:sandbox/tones").modelId).toBe("sandbox/tones")
    expect(registry.videoModel("gateway:sandbox/title-card")).toMatchObject({ specificationVersion: "v4" })
    expect(registry.files("gateway").provider).toBe("modelGateway.files")
  })

  it("has no models that generate text, embeddings and images", () => {
    for (const make of [gateway.languageModel, gateway.embeddingModel, gateway.imageModel]) {
      expect(() => make("openai/gpt")).toThrow(NoSuchModelError)
    }
  })

  it("maps each status that the gateway returns", async () => {
    const statuses = [400, 401, 402, 403, 404, 413, 429, 500, 502, 503, 524, 529]
    const errors = await Promise.all(
      statuses.map((status) =>
        rejection(rerank({ model: gateway.reranking(`sandbox/status-${status}`), documents, query, maxRetries: 0 }))
      )
    )
    const fields = errors.map((error) =>
      APICallError.isInstance(error) ? [error.statusCode, error.isRetryable, error.url] : error
    )
    const retryable = [429, 502, 503, 524, 529]
    expect(fields).toEqual(statuses.map((status) => [status, retryable.includes(status), `${baseURL}/rerank`]))
    expect(errors[6]).toMatchObject({
      message: matching(/^rerank: 429 rate limit exceeded.*request req_/),
      responseHeaders: { "retry-after": "1", "x-request-id": matching(/^req_/) },
      responseBody: containing("rate limit exceeded"),
      data: { error: { code: 429 }, service_metadata: { request_id: matching(/^req_/) } },
      requestBodyValues: { model: "sandbox/status-429" }
    })
    const stranger = createModelGateway({ baseURL, apiKey: "mg_sk_unknown" }).reranking("sandbox/bm25")
    expect(await rejection(rerank({ model: stranger, documents, query }))).toMatchObject({ statusCode: 401 })
    const missing = gateway.reranking("nobody/nothing")
    expect(await rejection(rerank({ model: missing, documents, query }))).toMatchObject({ statusCode: 404 })
  })
})
