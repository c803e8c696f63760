// A public SDK drives the double, so that the double is known to speak ModelArk's protocol.
import { createByteDance } from "@ai-sdk/bytedance"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { startModelArkDouble } from "@model-gateway/test-doubles/ModelArkDouble"
import { attempt, key, started } from "./support/videoJobs.ts"

const double = started((options) => startModelArkDouble({ ...options, polls: 2 }))

type Request = Parameters<ReturnType<ReturnType<typeof createByteDance>["video"]>["doGenerate"]>[0]

const wanted: Request = {
  prompt: "a harbor",
  n: 1,
  aspectRatio: "16:9",
  resolution: "1280x720",
  duration: 5,
  fps: undefined,
  seed: undefined,
  image: undefined,
  frameImages: undefined,
  inputReferences: undefined,
  generateAudio: undefined,
  providerOptions: { bytedance: { pollIntervalMs: 1 } }
}

const image = (name: string) => ({ type: "url" as const, url: `https://example.com/${name}.png` })

const generate = (url: string, request: Request, model = "dreamina-seedance-2-0-260128", apiKey = key) =>
  attempt(async () =>
    createByteDance({ apiKey, baseURL: `${url}/api/v3` })
      .video(model)
      .doGenerate(request)
  )

describe("the double, called by the AI SDK", () => {
  it.live("makes videos from text, frames and references, and counts the tokens", () =>
    Effect.gen(function* () {
      const { url } = yield* double
      const requests: ReadonlyArray<Request> = [
        wanted,
        {
          ...wanted,
          frameImages: [
            { image: image("a"), frameType: "first_frame" },
            { image: image("b"), frameType: "last_frame" }
          ]
        },
        {
          ...wanted,
          inputReferences: [{ ...image("c"), mediaType: "image/png" }],
          providerOptions: { bytedance: { pollIntervalMs: 1, referenceAudio: ["https://example.com/a.mp3"] } }
        }
      ]
      for (const request of requests) {
        const { providerMetadata, videos, warnings } = yield* generate(url, request)
        assert.deepStrictEqual(warnings, [])
        assert.deepInclude(providerMetadata?.["bytedance"], { usage: { completion_tokens: 108_900 } })
        const [video] = videos
        const file = yield* attempt(() => fetch(video?.type === "url" ? video.url : ""))
        assert.deepStrictEqual([file.status, file.headers.get("content-type")], [200, "video/mp4"])
      }
    })
  )

  it.live("refuses what the documentation says is refused, and reports a failure", () =>
    Effect.gen(function* () {
      const { failWith, jobs, url } = yield* double
      const messageOf = (...given: Parameters<typeof generate>) =>
        Effect.map(Effect.flip(generate(...given)), (error) => String(error))
      assert.match(yield* messageOf(url, { ...wanted, duration: 16 }), /duration specified in the request is not valid/)
      assert.match(yield* messageOf(url, { ...wanted, seed: 7 }), /seed specified/)
      assert.match(yield* messageOf(url, wanted, "seedance-9"), /has not activated the model/)
      assert.match(yield* messageOf(url, wanted, "dreamina-seedance-2-0-260128", "another"), /API key/)
      jobs.next("fail")
      failWith("OutputVideoSensitiveContentDetected")
      assert.match(yield* messageOf(url, wanted), /Video generation failed/)
    })
  )
})
