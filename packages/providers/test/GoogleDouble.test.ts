// The real SDK drives the double, so that the double is known to speak the Gemini API's protocol.
import { assert, describe, it } from "@effect/vitest"
import { GoogleGenAI } from "@google/genai"
import { Effect } from "effect"
import { startGoogleDouble } from "@model-gateway/test-doubles/GoogleDouble"
import { attempt, key, started } from "./support/videoJobs.ts"

const double = started(startGoogleDouble)

const client = (baseUrl: string, apiKey = key) =>
  new GoogleGenAI({
    apiKey,
    vertexai: false,
    httpOptions: { baseUrl, apiVersion: "v1beta", retryOptions: { attempts: 1 } }
  })

const request = {
  model: "gemini-omni-1.1-flash",
  input: [{ type: "text" as const, text: "a harbor" }],
  background: true as const,
  response_format: { type: "video" as const, delivery: "uri" as const, duration: "4s", resolution: "720p" as const }
}

describe("the double, called by Google's SDK", () => {
  it.live("makes a video in the background, and hands it out for the key", () =>
    Effect.gen(function* () {
      const { url } = yield* double
      const { interactions } = client(url)
      const { id, status } = yield* attempt(() => interactions.create(request))
      assert.strictEqual(status, "in_progress")
      assert.strictEqual((yield* attempt(() => interactions.get(id))).status, "in_progress")
      const done = yield* attempt(() => interactions.get(id))
      assert.strictEqual(done.status, "completed")
      const output = done.steps?.find((step) => step.type === "model_output")
      const [content] = output?.type === "model_output" ? (output.content ?? []) : []
      const uri = content?.type === "video" ? content.uri : undefined
      if (uri === undefined) return assert.fail("no video")
      const without = yield* attempt(() => fetch(uri))
      assert.strictEqual(without.status, 400)
      const file = yield* attempt(() => fetch(uri, { headers: { "x-goog-api-key": key } }))
      assert.deepStrictEqual([file.status, file.headers.get("content-type")], [200, "video/mp4"])
    })
  )

  it.live("takes a first and a last frame, and references, of the model that has them", () =>
    Effect.gen(function* () {
      const { url } = yield* double
      const { interactions } = client(url)
      const image = { type: "image" as const, mime_type: "image/png" as const, data: "aGFyYm9y" }
      const made = (model: string, task: "image_to_video" | "reference_to_video", images: number, duration = "4s") =>
        attempt(() =>
          interactions.create({
            ...request,
            model,
            input: [...Array.from({ length: images }, () => image), ...request.input],
            response_format: { ...request.response_format, duration },
            generation_config: { video_config: { task } }
          })
        )
      for (const [task, images, duration] of [
        ["image_to_video", 2, "10s"],
        ["reference_to_video", 6, "15s"]
      ] as const) {
        const { status } = yield* made("gemini-omni-1.2-flash", task, images, duration)
        assert.strictEqual(status, "in_progress")
      }
      const errors = [
        yield* Effect.flip(made("gemini-omni-1.1-flash", "image_to_video", 2)),
        yield* Effect.flip(made("gemini-omni-1.2-flash", "image_to_video", 2, "11s")),
        yield* Effect.flip(made("gemini-omni-1.2-flash", "reference_to_video", 7))
      ]
      assert.deepStrictEqual(errors.map(statusOf), [400, 400, 400])
    })
  )

  it.live("reports jobs that failed, are lost or canceled, and what is refused", () =>
    Effect.gen(function* () {
      const { jobs, url } = yield* double
      const { interactions } = client(url)
      jobs.next("fail", "lose")
      const failing = yield* attempt(() => interactions.create(request))
      yield* attempt(() => interactions.get(failing.id))
      assert.strictEqual((yield* attempt(() => interactions.get(failing.id))).status, "failed")
      const lost = yield* attempt(() => interactions.create(request))
      yield* attempt(() => interactions.get(lost.id))
      const canceled = yield* attempt(() => interactions.create(request))
      assert.strictEqual((yield* attempt(() => interactions.cancel(canceled.id))).status, "cancelled")
      const format = request.response_format
      const errors = [
        yield* Effect.flip(attempt(() => interactions.get(lost.id))),
        yield* Effect.flip(attempt(() => interactions.create({ ...request, model: "veo-3.1-generate-preview" }))),
        yield* Effect.flip(
          attempt(() => interactions.create({ ...request, response_format: { ...format, duration: "11s" } }))
        ),
        yield* Effect.flip(attempt(() => client(url, "another").interactions.create(request)))
      ]
      assert.deepStrictEqual(errors.map(statusOf), [400, 400, 400, 400])
    })
  )
})

function statusOf(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  return "status" in error ? error.status : "statusCode" in error ? error.statusCode : error.message
}
