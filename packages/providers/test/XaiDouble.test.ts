// A public SDK drives the double, so that the double is known to speak xAI's protocol.
import { createXai } from "@ai-sdk/xai"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { startXaiDouble } from "@model-gateway/test-doubles/XaiDouble"
import { attempt, key, started } from "./support/videoJobs.ts"

const double = started((options) => startXaiDouble({ ...options, polls: 2 }))

const sdk = (url: string, apiKey = key) => createXai({ apiKey, baseURL: `${url}/v1` })

const wanted = {
  prompt: "a harbor",
  n: 1,
  aspectRatio: "16:9" as const,
  resolution: "1280x720" as const,
  duration: 4,
  fps: undefined,
  seed: undefined,
  image: undefined,
  frameImages: undefined,
  inputReferences: undefined,
  generateAudio: true,
  providerOptions: {}
}

type Model = ReturnType<ReturnType<typeof sdk>["video"]>

const start = (model: Model, request: Parameters<NonNullable<Model["doStart"]>>[0]) =>
  attempt(async () => (model.doStart === undefined ? assert.fail("no doStart") : model.doStart(request)))

const statusOf = (model: Model, { operation }: Effect.Success<ReturnType<typeof start>>) =>
  attempt(async () => (model.doStatus === undefined ? assert.fail("no doStatus") : model.doStatus({ operation })))

const image = (name: string) => ({ type: "url" as const, url: `https://example.com/${name}.png` })

describe("the double, called by the AI SDK", () => {
  it.live("makes a video from text, frames and references, and says what it costs", () =>
    Effect.gen(function* () {
      const { url } = yield* double
      const model = sdk(url).video("grok-imagine-video-1.5")
      const requests = [
        wanted,
        {
          ...wanted,
          frameImages: [
            { image: image("a"), frameType: "first_frame" as const },
            { image: image("b"), frameType: "last_frame" as const }
          ]
        },
        { ...wanted, inputReferences: [{ ...image("c"), mediaType: "image/png" }] }
      ]
      const costs: Array<unknown> = []
      for (const request of requests) {
        const job = yield* start(model, request)
        assert.deepStrictEqual(job.warnings, [])
        assert.strictEqual((yield* statusOf(model, job)).status, "pending")
        const done = yield* statusOf(model, job)
        if (done.status !== "completed") return assert.fail(done.status)
        const [video] = done.videos
        const file = yield* attempt(() => fetch(video?.type === "url" ? video.url : ""))
        assert.deepStrictEqual([file.status, file.headers.get("content-type")], [200, "video/mp4"])
        costs.push(done.providerMetadata?.["xai"]?.["costInUsdTicks"])
      }
      assert.deepStrictEqual(costs, [5_600_000_000, 5_800_000_000, 5_700_000_000])
    })
  )

  it.live("reports videos that failed, were blocked or are lost, and a wrong key", () =>
    Effect.gen(function* () {
      const { failWith, jobs, url } = yield* double
      const model = sdk(url).video("grok-imagine-video")
      jobs.next("fail", "fail", "fail", "lose")
      failWith({ code: "invalid_argument", message: "bad image" }, { code: "blocked" }, { code: "expired" })
      const ends: Array<unknown> = []
      for (let jobs = 0; jobs < 4; jobs++) {
        const job = yield* start(model, wanted)
        yield* statusOf(model, job)
        const end = yield* Effect.result(statusOf(model, job))
        ends.push(end._tag === "Success" && end.success.status === "error" ? end.success.error : end._tag)
      }
      assert.deepStrictEqual(ends, [
        "Video generation failed: bad image",
        "Video generation was blocked due to a content policy violation.",
        "Video generation request expired.",
        "Failure"
      ])
      const wrong = yield* Effect.flip(start(sdk(url, "another").video("grok-imagine-video"), wanted))
      assert.match(String(wrong), /Incorrect API key/)
    })
  )

  it.live("transcribes, with the speakers of words", () =>
    Effect.gen(function* () {
      const { url } = yield* double
      const audio = new TextEncoder().encode("speech: hello wide world")
      const { durationInSeconds, segments, text } = yield* attempt(async () =>
        sdk(url)
          .transcription()
          .doGenerate({ audio, mediaType: "audio/wav", providerOptions: { xai: { language: "en", diarize: true } } })
      )
      assert.deepStrictEqual([text, durationInSeconds, segments.length], ["hello wide world", 3, 3])
      const silent = new TextEncoder().encode("music")
      const error = yield* Effect.flip(
        attempt(async () => sdk(url).transcription().doGenerate({ audio: silent, mediaType: "audio/wav" }))
      )
      assert.match(String(error), /decode the audio/)
    })
  )
})
