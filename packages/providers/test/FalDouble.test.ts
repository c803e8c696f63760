// The real SDK drives the double, so that the double is known to speak fal's protocol.
import { assert, describe, it } from "@effect/vitest"
import { createFalClient, ApiError, ValidationError } from "@fal-ai/client"
import { Effect } from "effect"
import { startFalDouble } from "@model-gateway/test-doubles/FalDouble"
import { attempt, key, started } from "./support/videoJobs.ts"

const double = started(startFalDouble)

const statusOf = (error: unknown): unknown => (error instanceof ApiError ? error.status : error)

/** The SDK knows only its own hosts, so each request is sent to the double instead. */
const client = (url: string, credentials = key) =>
  createFalClient({
    credentials,
    retry: { maxRetries: 0 },
    requestMiddleware: (request) =>
      Promise.resolve({ ...request, url: request.url.replace("https://queue.fal.run", url) })
  })

const veo = "fal-ai/veo3.1"
const kling = "fal-ai/kling-video/v2.5-turbo/pro/image-to-video"
const input = { prompt: "a harbor", duration: "4s" } as const

describe("the double, called by fal's SDK", () => {
  it.live("makes videos, also of models whose path is longer", () =>
    Effect.gen(function* () {
      const { url } = yield* double
      const sdk = client(url)
      const seen: Array<string> = []
      const onQueueUpdate = ({ status }: { readonly status: string }) => {
        seen.push(status)
      }
      const { data } = yield* attempt(() => sdk.subscribe(veo, { input, pollInterval: 5, onQueueUpdate }))
      const file = yield* attempt(() => fetch(data.video.url))
      assert.deepStrictEqual([file.status, file.headers.get("content-type")], [200, "video/mp4"])
      assert.includeMembers(seen, ["IN_PROGRESS", "COMPLETED"])
      const image_url = "https://example.com/a.png"
      const other = yield* attempt(() => sdk.subscribe(kling, { input: { prompt: "a", image_url }, pollInterval: 5 }))
      assert.match(other.data.video.url, /\.mp4$/)
    })
  )

  it.live("serves a model at the paths that the SDK lists for it", () =>
    Effect.gen(function* () {
      const { unknown, url } = yield* double
      const sdk = client(url)
      const [first, last] = ["https://example.com/a.png", "https://example.com/b.png"] as const
      const prompt = "a harbor"
      const pollInterval = 5
      const frames = { first_frame_url: first, last_frame_url: last }
      const made = [
        yield* attempt(() =>
          sdk.subscribe("fal-ai/veo3.1/image-to-video", { input: { prompt, image_url: first }, pollInterval })
        ),
        yield* attempt(() =>
          sdk.subscribe("fal-ai/veo3.1/lite/first-last-frame-to-video", { input: { prompt, ...frames }, pollInterval })
        ),
        yield* attempt(() =>
          sdk.subscribe("fal-ai/veo3.1/reference-to-video", { input: { prompt, image_urls: [first] }, pollInterval })
        ),
        yield* attempt(() =>
          sdk.subscribe("fal-ai/kling-video/v3/pro/image-to-video", {
            input: { prompt, start_image_url: first, end_image_url: last, generate_audio: false },
            pollInterval
          })
        ),
        yield* attempt(() =>
          sdk.subscribe("xai/grok-imagine-video/reference-to-video", {
            input: { prompt, reference_image_urls: [first, last], duration: 5 },
            pollInterval
          })
        )
      ]
      for (const { data } of made) assert.match(data.video.url, /\.mp4$/)
      assert.deepStrictEqual(unknown, [])
    })
  )

  it.live("completes a failed job, whose result then fails", () =>
    Effect.gen(function* () {
      const { jobs, url } = yield* double
      const { queue } = client(url)
      jobs.next("fail")
      const { request_id: requestId } = yield* attempt(() => queue.submit(veo, { input }))
      yield* attempt(() => queue.subscribeToStatus(veo, { requestId, pollInterval: 5 }))
      const error = yield* Effect.flip(attempt(() => queue.result(veo, { requestId })))
      assert.instanceOf(error, ValidationError)
    })
  )

  it.live("checks the input when the job runs", () =>
    Effect.gen(function* () {
      const { url } = yield* double
      const sdk = client(url)
      const wrong = { prompt: "a", image_url: "nowhere" }
      const error = yield* Effect.flip(attempt(() => sdk.subscribe(kling, { input: wrong, pollInterval: 5 })))
      assert.strictEqual(error instanceof ValidationError ? error.fieldErrors[0]?.loc.at(-1) : error, "image_url")
    })
  )

  it.live("cancels a job, and loses one", () =>
    Effect.gen(function* () {
      const { jobs, url } = yield* double
      const { queue } = client(url)
      jobs.next("succeed", "lose")
      const first = yield* attempt(() => queue.submit(veo, { input }))
      yield* attempt(() => queue.cancel(veo, { requestId: first.request_id }))
      const { request_id: requestId } = yield* attempt(() => queue.submit(veo, { input }))
      yield* attempt(() => queue.status(veo, { requestId }))
      assert.strictEqual(statusOf(yield* Effect.flip(attempt(() => queue.status(veo, { requestId })))), 404)
    })
  )

  it.live("rejects what the documentation says is rejected", () =>
    Effect.gen(function* () {
      const { url } = yield* double
      const rejected: ReadonlyArray<readonly [() => Promise<unknown>, number]> = [
        [() => client(url, "another").queue.submit(veo, { input }), 401],
        [() => client(url).queue.submit("fal-ai/veo-0", { input }), 404],
        [() => client(url).queue.result(veo, { requestId: "unknown" }), 404]
      ]
      for (const [call, status] of rejected) {
        assert.strictEqual(statusOf(yield* Effect.flip(attempt(call))), status)
      }
    })
  )
})
