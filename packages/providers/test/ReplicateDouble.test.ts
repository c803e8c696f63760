// The real SDK drives the double, so that the double is known to speak Replicate's protocol.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import Client from "replicate"
import { startReplicateDouble, version } from "@model-gateway/test-doubles/ReplicateDouble"
import { attempt, key, started } from "./support/videoJobs.ts"

const double = started(startReplicateDouble)

/** What the SDK's error says of the response. */
const statusOf = (error: unknown): unknown =>
  error instanceof Error && "response" in error && error.response instanceof Response ? error.response.status : error

const client = (url: string, auth = key) => new Client({ auth, baseUrl: `${url}/v1`, useFileOutput: false })

const input = { prompt: "a harbor", duration: 4 }

describe("the double, called by Replicate's SDK", () => {
  it.live("runs an official model and one by its version, and hands out their videos", () =>
    Effect.gen(function* () {
      const { url } = yield* double
      const sdk = client(url)
      const poll = { mode: "poll", interval: 5 } as const
      const official = yield* attempt(() => sdk.run("google/veo-3.1-fast", { input, wait: poll }))
      if (typeof official !== "string") return assert.fail("a string was expected")
      const file = yield* attempt(() => fetch(official))
      assert.deepStrictEqual([file.status, file.headers.get("content-type")], [200, "video/mp4"])
      const [, hash = ""] = version.split(":")
      const listed = yield* attempt(() =>
        sdk.run(`lucataco/animate:${hash}`, { input: { ...input, image: "https://example.com/a.png" }, wait: poll })
      )
      assert.isArray(listed)
    })
  )

  it.live("hands out a video in an object", () =>
    Effect.gen(function* () {
      const { outputAs, url } = yield* double
      outputAs((link) => ({ video: link }))
      const output = yield* attempt(() =>
        client(url).run("google/veo-3.1-fast", { input, wait: { mode: "poll", interval: 5 } })
      )
      assert.hasAllKeys(output, ["video"])
    })
  )

  it.live("starts, cancels and fails predictions", () =>
    Effect.gen(function* () {
      const { jobs, url } = yield* double
      const { predictions } = client(url)
      jobs.next("succeed", "fail", "lose")
      const create = () => attempt(() => predictions.create({ model: "google/veo-3.1-fast", input }))
      const first = yield* create()
      assert.strictEqual(first.status, "starting")
      assert.strictEqual((yield* attempt(() => predictions.cancel(first.id))).status, "canceled")
      const second = yield* create()
      const statuses: Array<string> = []
      for (let polls = 0; polls < 2; polls++) {
        const { error, status } = yield* attempt(() => predictions.get(second.id))
        statuses.push(status)
        assert.strictEqual(status === "failed", error !== null)
      }
      assert.deepStrictEqual(statuses, ["processing", "failed"])
      const third = yield* create()
      yield* attempt(() => predictions.get(third.id))
      assert.strictEqual(statusOf(yield* Effect.flip(attempt(() => predictions.get(third.id)))), 404)
    })
  )

  it.live("rejects what the documentation says is rejected", () =>
    Effect.gen(function* () {
      const { url } = yield* double
      const { predictions } = client(url)
      const veo = "google/veo-3.1-fast"
      const rejected: ReadonlyArray<readonly [() => Promise<unknown>, number]> = [
        [() => client(url, "another").predictions.create({ model: veo, input }), 401],
        [() => predictions.create({ model: "google/veo-0", input }), 404],
        [() => predictions.create({ model: veo, input: { ...input, fps: 60 } }), 422],
        [() => predictions.create({ model: veo, input: { ...input, duration: 5 } }), 422],
        [() => predictions.create({ model: veo, input: { duration: 4 } }), 422],
        [() => predictions.create({ version: "unknown", input }), 422],
        [() => predictions.get("unknown"), 404]
      ]
      for (const [call, status] of rejected) {
        assert.strictEqual(statusOf(yield* Effect.flip(attempt(call))), status)
      }
      // The SDK never sends the name of a model in the body.
      const headers = { authorization: `Bearer ${key}` }
      const body = JSON.stringify({ model: veo, input })
      const answer = yield* attempt(() => fetch(`${url}/v1/predictions`, { method: "POST", headers, body }))
      assert.strictEqual(answer.status, 422)
    })
  )
})
