// Google's own SDKs drive the double, so that the double is known to speak Google's protocol.
import { assert, describe, it } from "@effect/vitest"
import { GoogleGenAI, VideoGenerationReferenceType } from "@google/genai"
import { Effect } from "effect"
import { JWT, OAuth2Client } from "google-auth-library"
import { video } from "@model-gateway/test-doubles/JobDouble"
import { project, startVertexDouble } from "@model-gateway/test-doubles/VertexDouble"
import { attempt, key, started } from "./support/videoJobs.ts"

const double = started((options) => startVertexDouble({ ...options, polls: 2 }))

const sdk = (baseUrl: string, token = key) => {
  const authClient = new OAuth2Client()
  authClient.setCredentials({ access_token: token, expiry_date: Date.now() + 3_600_000 })
  return new GoogleGenAI({
    vertexai: true,
    project,
    location: "us-central1",
    googleAuthOptions: { authClient },
    httpOptions: { baseUrl, apiVersion: "v1" }
  })
}

const image = { imageBytes: Buffer.from("a picture").toString("base64"), mimeType: "image/png" }

const prompt = "a harbor"

describe("the double, called by Google's SDKs", () => {
  it.live("makes videos from text, frames and references, and returns their bytes", () =>
    Effect.gen(function* () {
      const { url } = yield* double
      const ai = sdk(url)
      const model = "veo-3.1-generate-001"
      const config = { numberOfVideos: 1, resolution: "1080p", aspectRatio: "16:9", generateAudio: true, seed: 7 }
      const requests = [
        { model, source: { prompt }, config: { ...config, durationSeconds: 4 } },
        { model, source: { prompt, image }, config: { ...config, durationSeconds: 6, lastFrame: image } },
        {
          model,
          source: { prompt },
          config: {
            ...config,
            durationSeconds: 8,
            referenceImages: [{ image, referenceType: VideoGenerationReferenceType.ASSET }]
          }
        }
      ]
      for (const request of requests) {
        let operation = yield* attempt(() => ai.models.generateVideos(request))
        for (let polls = 0; polls < 2; polls++) {
          assert.isNotTrue(operation.done)
          const before = operation
          operation = yield* attempt(() => ai.operations.getVideosOperation({ operation: before }))
        }
        assert.isTrue(operation.done)
        const bytes = operation.response?.generatedVideos?.[0]?.video?.videoBytes ?? ""
        assert.deepStrictEqual(Buffer.from(bytes, "base64"), Buffer.from(video))
      }
    })
  )

  it.live("reports failures and filtered videos, and refuses what is wrong", () =>
    Effect.gen(function* () {
      const { failWith, jobs, url } = yield* double
      const ai = sdk(url)
      jobs.next("fail", "fail")
      failWith({ code: "filtered" }, { code: 3, message: "The prompt is not allowed." })
      const end = Effect.gen(function* () {
        const model = "veo-3.1-fast-generate-001"
        let operation = yield* attempt(() => ai.models.generateVideos({ model, source: { prompt } }))
        for (let polls = 0; polls < 2; polls++) {
          const before = operation
          operation = yield* attempt(() => ai.operations.getVideosOperation({ operation: before }))
        }
        return operation
      })
      assert.strictEqual((yield* end).response?.raiMediaFilteredCount, 1)
      assert.deepInclude((yield* end).error, { code: 3, message: "The prompt is not allowed." })
      const failing = (client: GoogleGenAI, model: string, durationSeconds: number) =>
        Effect.map(
          Effect.flip(
            attempt(() => client.models.generateVideos({ model, source: { prompt }, config: { durationSeconds } }))
          ),
          (error) => String(error)
        )
      assert.match(yield* failing(ai, "veo-3.1-generate-001", 5), /durationSeconds is invalid/)
      assert.match(yield* failing(ai, "veo-9", 4), /was not found/)
      assert.match(yield* failing(sdk(url, "another"), "veo-3.1-generate-001", 4), /invalid authentication credentials/)
    })
  )

  it.live("gives a token for a claim that Google's library signs, and for no other", () =>
    Effect.gen(function* () {
      const { serviceAccount, url } = yield* double
      const { client_email, private_key, private_key_id } = serviceAccount()
      const client = (email: string, scopes: ReadonlyArray<string>) =>
        new JWT({
          email,
          key: private_key,
          keyId: private_key_id,
          scopes: [...scopes],
          // The library knows one address only.
          transporterOptions: { fetchImplementation: (_, init) => fetch(`${url}/token`, init) }
        })
      const scope = "https://www.googleapis.com/auth/cloud-platform"
      const { access_token } = yield* attempt(() => client(client_email, [scope]).authorize())
      assert.match(access_token ?? "", /^ya29\./)
      for (const wrong of [client("another@example.com", [scope]), client(client_email, ["email"])]) {
        yield* Effect.flip(attempt(() => wrong.authorize()))
      }
    })
  )
})
