// The real SDK drives the double, so that the double is known to speak the service's protocol.
import { assert, describe, it } from "@effect/vitest"
import { OpenRouter } from "@openrouter/sdk"
import { Effect } from "effect"
import { video } from "@model-gateway/test-doubles/JobDouble"
import { documentedMessages, startOpenRouterDouble } from "@model-gateway/test-doubles/OpenRouterDouble"
import { attempt, key, started } from "./support/videoJobs.ts"

const double = started(startOpenRouterDouble)

const sdkOf = (url: string, apiKey = key) =>
  new OpenRouter({ apiKey, serverURL: `${url}/api/v1`, retryConfig: { strategy: "none" } })

const audio = new TextEncoder().encode("speech: hello world")

describe("the double of OpenRouter, called by its SDK", () => {
  it.live("lists models by their outputs, and video models with their prices", () =>
    Effect.gen(function* () {
      const sdk = sdkOf((yield* double).url)
      const { result } = yield* attempt(() => sdk.models.list({ outputModalities: "rerank,transcription,video" }))
      assert.deepStrictEqual(
        result.data.map(({ id }) => id),
        ["cohere/rerank-4-pro", "vendor/rerank", "openai/whisper-1", "vendor/video"]
      )
      const videos = yield* attempt(() => sdk.videoGeneration.listVideosModels())
      assert.deepStrictEqual(videos.data[0]?.pricingSkus, {
        duration_seconds_720p: "0.1",
        duration_seconds_1080p: "0.2"
      })
    })
  )

  it.live("ranks documents", () =>
    Effect.gen(function* () {
      const sdk = sdkOf((yield* double).url)
      const answer = yield* attempt(() =>
        sdk.rerank.rerank({
          requestBody: { model: "vendor/rerank", query: "tea", documents: ["coffee", { text: "green tea" }], topN: 1 }
        })
      )
      if (typeof answer === "string") return assert.fail(answer)
      assert.deepStrictEqual(
        answer.results.map(({ document, index }) => [index, document.text]),
        [[1, "green tea"]]
      )
      assert.strictEqual(answer.usage?.totalTokens, 5)
    })
  )

  it.live("transcribes base64 and files", () =>
    Effect.gen(function* () {
      const sdk = sdkOf((yield* double).url)
      const json = yield* attempt(() =>
        sdk.stt.createTranscription({
          sttRequest: {
            model: "openai/whisper-1",
            inputAudio: { data: Buffer.from(audio).toString("base64"), format: "wav" },
            responseFormat: "verbose_json",
            timestampGranularities: ["word"],
            provider: { options: { openai: { prompt: "a greeting" } } }
          }
        })
      )
      assert.deepStrictEqual([json.text, json.words?.length, json.usage?.seconds], ["hello world", 2, 2])
      const form = yield* attempt(() =>
        sdk.stt.createTranscriptionMultipart({
          requestBody: { model: "openai/whisper-1", file: { fileName: "a.wav", content: audio } }
        })
      )
      assert.strictEqual(form.text, "hello world")
    })
  )

  it.live("makes a video, whose content is a 409 before the end", () =>
    Effect.gen(function* () {
      const sdk = sdkOf((yield* double).url)
      const { id, status } = yield* attempt(() =>
        sdk.videoGeneration.generate({
          videoGenerationRequest: { model: "vendor/video", prompt: "a harbor", duration: 4, resolution: "720p" }
        })
      )
      assert.strictEqual(status, "pending")
      const early = yield* Effect.flip(attempt(() => sdk.videoGeneration.getVideoContent({ jobId: id })))
      assert.propertyVal(early, "statusCode", 409)
      yield* attempt(() => sdk.videoGeneration.getGeneration({ jobId: id }))
      const job = yield* attempt(() => sdk.videoGeneration.getGeneration({ jobId: id }))
      assert.deepStrictEqual([job.status, job.usage?.cost, job.unsignedUrls?.length], ["completed", 0.4, 1])
      const content = yield* attempt(() => sdk.videoGeneration.getVideoContent({ jobId: id }))
      const bytes = yield* attempt(async () => Buffer.from(await new Response(content).arrayBuffer()))
      assert.deepStrictEqual(bytes, Buffer.from(video))
    })
  )

  it.live("refuses a wrong key, an unknown model and an unknown value", () =>
    Effect.gen(function* () {
      const { url } = yield* double
      const ask = (sdk: OpenRouter, model: string, duration = 4) =>
        Effect.flip(
          attempt(() =>
            sdk.videoGeneration.generate({ videoGenerationRequest: { model, prompt: "a harbor", duration } })
          )
        )
      const wrong = yield* ask(sdkOf(url, "wrong"), "vendor/video")
      assert.propertyVal(wrong, "statusCode", 401)
      assert.propertyVal(wrong, "message", documentedMessages[401])
      assert.propertyVal(yield* ask(sdkOf(url), "vendor/none"), "statusCode", 404)
      assert.propertyVal(yield* ask(sdkOf(url), "vendor/video", 5), "statusCode", 400)
    })
  )
})
