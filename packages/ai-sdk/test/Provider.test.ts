/** The provider over the scripted gateway: what it sends, and what it makes of each answer. */
import { APICallError } from "@ai-sdk/provider"
import { expect, it } from "@effect/vitest"
import { createModelGateway, fromHttpClient, modelGateway, type ModelGatewayProvider } from "@model-gateway/ai-sdk"
import { GatewayError } from "@model-gateway/core"
import { GatewayTest, Samples } from "@model-gateway/testing"
import { experimental_generateVideo as generateVideo, rerank, transcribe } from "ai"
import { Effect } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { inspect } from "node:util"
import { afterAll, beforeAll, describe, vi } from "vitest"
import { envelope, json, rejection, serve } from "./support/serve.ts"
import { containing, matching, some } from "./support/parts.ts"

beforeAll(() => void vi.stubGlobal("AI_SDK_LOG_WARNINGS", false))
afterAll(() => void vi.unstubAllGlobals())

/** Runs a test with a provider over the scripted gateway. */
const scripted = (handlers: GatewayTest.Handlers, test: (gateway: ModelGatewayProvider) => Promise<void>) =>
  Effect.gen(function* () {
    const client = yield* GatewayTest.makeHttpClient(handlers)
    const gateway = fromHttpClient(client, { baseURL: "http://gateway.test/api/v1", apiKey: "mg_sk_test" })
    yield* Effect.promise(() => test(gateway))
  }).pipe(Effect.scoped)

const documents = ["pears"]
const query = "pears"
const audio = Samples.wav

describe("rerank", () => {
  it.live("sends the SDK's arguments, and the options of the gateway and of its providers", () =>
    scripted(
      {
        rerank: ({ payload }) => {
          expect(payload).toEqual({
            model: "cohere/rerank-v3.5",
            query,
            documents,
            top_n: 1,
            user: "u1",
            provider: { sort: "price", options: { cohere: { max_tokens_per_doc: 480 } } }
          })
          return { ...Samples.rerankResponse, results: [{ index: 0, relevance_score: 1, document: {} }] }
        }
      },
      async (gateway) => {
        const { ranking } = await rerank({
          model: gateway.reranking("cohere/rerank-v3.5"),
          query,
          documents,
          topN: 1,
          providerOptions: {
            modelGateway: { user: "u1", provider: { sort: "price" } },
            cohere: { max_tokens_per_doc: 480 }
          }
        })
        expect(ranking).toEqual([{ originalIndex: 0, score: 1, document: "pears" }])
      }
    )
  )
})

describe("transcribe", () => {
  it.live("asks for a plain text where no provider returns timestamps, at once the second time", () => {
    const formats: Array<unknown> = []
    const keys: Array<unknown> = []
    return scripted(
      {
        transcribe: ({ http, payload }) => {
          const { response_format: format } = payload
          formats.push(format)
          keys.push(http.headers["idempotency-key"])
          if (format !== "verbose_json") return Samples.transcriptionResponse
          const issues = [{ path: "response_format", message: "no provider supports verbose_json" }]
          return Effect.fail(
            new GatewayError.BadRequest({ error: { code: 400, message: "invalid", metadata: { issues } } })
          )
        }
      },
      async (gateway) => {
        const model = gateway.transcription("openai/gpt-transcribe")
        const { segments, text, warnings } = await transcribe({
          model,
          audio,
          timestampGranularities: ["word"],
          headers: { "idempotency-key": "call-1" }
        })
        expect([text, segments]).toEqual([Samples.transcriptionResponse.text, []])
        expect(warnings).toMatchObject([{ type: "unsupported", feature: "timestampGranularities" }])
        expect(await transcribe({ model: gateway.transcription("openai/gpt-transcribe"), audio })).toMatchObject({
          warnings: []
        })
        expect(formats).toEqual(["verbose_json", "json", "json"])
        expect(keys.slice(0, 2)).toEqual(["call-1", "call-1-json"])
      }
    )
  })

  it.live("does not replace a format that the caller chose", () =>
    scripted(
      {
        transcribe: ({ payload }) => {
          expect(payload).toMatchObject({ response_format: "json", language: "de", temperature: 0.5, user: "u1" })
          return Samples.transcriptionResponse
        }
      },
      async (gateway) => {
        const modelGateway = { response_format: "json", language: "de", temperature: 0.5, user: "u1" }
        const model = gateway.transcription("m")
        expect(await transcribe({ model, audio, providerOptions: { modelGateway } })).toMatchObject({ warnings: [] })
      }
    )
  )

  it.live("returns language, words and segments with their times", () =>
    scripted({ transcribe: Samples.transcriptionVerboseResponse }, async (gateway) => {
      const transcript = await transcribe({ model: gateway.transcription("m"), audio })
      const { duration, language, segments = [] } = Samples.transcriptionVerboseResponse
      expect(transcript).toMatchObject({ language, durationInSeconds: duration })
      expect(transcript.segments).toEqual(
        segments.map(({ end, start, text }) => ({ text, startSecond: start, endSecond: end }))
      )
    })
  )
})

describe("generateVideo", () => {
  it.live("sends images and references by their kinds, and reads every video of a job", () => {
    const bytes = new Uint8Array([0, 0, 0, 24])
    return scripted(
      {
        submitVideo: ({ payload }) => {
          expect(payload).toEqual({
            model: "m",
            prompt: "Dawn",
            duration: 4,
            size: "1280x720",
            aspect_ratio: "16:9",
            seed: 7,
            generate_audio: true,
            creativity: 0.3,
            input_references: [
              { type: "image_url", image_url: { url: "https://a/b.png" } },
              { type: "video_url", video_url: { url: "https://a/b.mp4" } }
            ]
          })
          return Samples.videoJobs.pending
        },
        getVideo: { ...Samples.videoJobs.completed, warnings: ["seed was ignored"], unsigned_urls: ["/0", "/1"] },
        videoContent: ({ query }) => Effect.succeed(new Uint8Array([...bytes, query.index ?? 9]))
      },
      async (gateway) => {
        const { videos, warnings } = await generateVideo({
          model: gateway.video("m"),
          prompt: "Dawn",
          duration: 4,
          resolution: "1280x720",
          aspectRatio: "16:9",
          seed: 7,
          generateAudio: true,
          inputReferences: ["https://a/b.png", { data: "https://a/b.mp4", mediaType: "video/mp4" }],
          providerOptions: { modelGateway: { creativity: 0.3 } }
        })
        expect(videos.map(({ uint8Array }) => uint8Array.at(-1))).toEqual([0, 1])
        expect(warnings).toEqual([{ type: "other", message: "seed was ignored" }])
      }
    )
  })

  it.live("sends a first and a last frame once each", () =>
    scripted(
      {
        submitVideo: ({ payload }) => {
          expect(payload.frame_images).toEqual([
            { type: "image_url", frame_type: "first_frame", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
            { type: "image_url", frame_type: "last_frame", image_url: { url: "https://a/last.png" } }
          ])
          return Samples.videoJobs.pending
        },
        getVideo: { ...Samples.videoJobs.failed, error: "no dawn" }
      },
      async (gateway) => {
        const png = new Uint8Array(Buffer.from("iVBORw0KGgo=", "base64"))
        const error = await rejection(
          generateVideo({
            model: gateway.video("m"),
            prompt: "Dawn",
            aspectRatio: "adaptive",
            frameImages: [
              { image: png, frameType: "first_frame" },
              { image: "https://a/last.png", frameType: "last_frame" }
            ]
          })
        )
        expect(error).toMatchObject({
          name: "ModelGateway_VideoNotCompletedError",
          message: matching(/ended as failed: no dawn$/)
        })
      }
    )
  )

  it.live("does not repeat a job that the client has followed in vain", () => {
    let submitted = 0
    return scripted(
      {
        submitVideo: () => {
          submitted++
          return Samples.videoJobs.pending
        },
        getVideo: Effect.fail(new GatewayError.NotFound({ error: { code: 404, message: "gone" } }))
      },
      async (gateway) => {
        const error = await rejection(generateVideo({ model: gateway.video("m"), prompt: "Dawn" }))
        expect(error).toMatchObject({
          url: `http://gateway.test/api/v1/videos/${Samples.videoJobs.pending.id}`,
          statusCode: 404,
          isRetryable: false,
          message: containing(`The video job is ${Samples.videoJobs.pending.id}.`)
        })
        expect(submitted).toBe(1)
      }
    )
  })
})

describe("errors without a status", () => {
  const errorOf = async (gateway: ModelGatewayProvider) =>
    rejection(rerank({ model: gateway.reranking("m"), query, documents, maxRetries: 0 }))

  it("of the connection can be retried", async () => {
    const { baseURL } = await serve(({ request }) => request.destroy())
    const error = await errorOf(createModelGateway({ baseURL, apiKey: "k" }))
    expect(APICallError.isInstance(error)).toBe(true)
    expect(error).toMatchObject({ isRetryable: true, message: containing("the connection failed") })
    expect(error).not.toHaveProperty("statusCode", some(Number))
  })

  it("of a response that no gateway sent cannot", async () => {
    const { baseURL } = await serve(({ response }) => void response.end("<html>"))
    const error = await errorOf(createModelGateway({ baseURL, apiKey: "k" }))
    expect(error).toMatchObject({ statusCode: 200, isRetryable: false, message: containing("not JSON") })
    expect(APICallError.isInstance(error)).toBe(true)
  })

  it("of settings say which, at the first call", async () => {
    vi.stubEnv("MODEL_GATEWAY_API_KEY", undefined)
    vi.stubEnv("MODEL_GATEWAY_BASE_URL", undefined)
    expect(await errorOf(modelGateway)).toMatchObject({
      name: "AI_LoadAPIKeyError",
      message: 'The API key of the model gateway is missing. Pass it as "apiKey", or set MODEL_GATEWAY_API_KEY.'
    })
    expect(await errorOf(createModelGateway({ apiKey: "k", baseURL: "https://a/v1" }))).toMatchObject({
      name: "AI_InvalidArgumentError",
      argument: "baseURL",
      message: containing("https://a/api/v1")
    })
    vi.stubEnv("MODEL_GATEWAY_BASE_URL", "https://a/v1")
    expect(await errorOf(createModelGateway({ apiKey: "k" }))).toMatchObject({
      name: "AI_LoadSettingError",
      message: matching(/^MODEL_GATEWAY_BASE_URL: /)
    })
    const broken = createModelGateway({ apiKey: () => Promise.reject(new Error("secret")), baseURL: "http://a/api/v1" })
    const error = await errorOf(broken)
    expect(error).toMatchObject({ name: "AI_LoadAPIKeyError" })
    expect(String(error)).not.toContain("secret")
  })

  it("of a header do not quote its value, and are not retried", async () => {
    const { baseURL, received } = await serve(({ response }) => void response.end())
    const model = createModelGateway({ baseURL, apiKey: "k" }).reranking("m")
    for (const headers of [{ "x-proxy": "secret\n2" }, { "x proxy": "secret" }]) {
      const error = await rejection(rerank({ model, query, documents, headers }))
      expect(error).toMatchObject({ name: "AI_InvalidArgumentError", argument: "headers" })
      expect(inspect(error, { depth: 9 })).not.toContain("secret")
    }
    expect(received).toEqual([])
  })

  it("have no cookies of a proxy", async () => {
    const { baseURL } = await serve((each) => json(each, 400, envelope(400), { "set-cookie": "s=1", "x-proxy": "p" }))
    const error = await errorOf(createModelGateway({ baseURL, apiKey: "k" }))
    expect(error).toMatchObject({ responseHeaders: { "x-proxy": "p" } })
    expect(error).not.toHaveProperty("responseHeaders.set-cookie")
  })

  it("of a function that returns no key say so, instead of sending it", async () => {
    const { baseURL, received } = await serve(({ response }) => void response.end())
    // It returns undefined, as one of a program in JavaScript may.
    const apiKey = vi.fn<() => string>()
    expect(await errorOf(createModelGateway({ baseURL, apiKey }))).toMatchObject({ name: "AI_LoadAPIKeyError" })
    expect(received).toEqual([])
  })

  it("are over once the environment is set", async () => {
    const { baseURL, received } = await serve(({ response }) => void response.writeHead(404).end())
    vi.stubEnv("MODEL_GATEWAY_API_KEY", "mg_sk_env")
    vi.stubEnv("MODEL_GATEWAY_BASE_URL", baseURL)
    await errorOf(modelGateway)
    expect(received.map(({ request }) => request.headers.authorization)).toEqual(["Bearer mg_sk_env"])
    vi.unstubAllEnvs()
  })
})

it("uses nothing of Node, so that it runs in pages and workers", () => {
  const folder = join(import.meta.dirname, "../src")
  const sources = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ts"))
  expect(sources.length).toBeGreaterThan(10)
  for (const path of sources) {
    const code = readFileSync(join(folder, path), "utf8")
    expect([path, /"node:|\bBuffer\b/.exec(code)?.[0]]).toEqual([path, undefined])
  }
})
