// The real SDK drives the double, so that the double is known to speak Runway's protocol.
import { assert, describe, it } from "@effect/vitest"
import Client from "@runwayml/sdk"
import { Effect } from "effect"
import { documentedMessages, emptyAccount, startRunwayDouble } from "@model-gateway/test-doubles/RunwayDouble"
import { attempt, key, started } from "./support/videoJobs.ts"

const double = started(startRunwayDouble)

const client = (baseURL: string, apiKey = key) => new Client({ apiKey, baseURL, maxRetries: 0 })

const text = { model: "gen4.5", promptText: "a harbor", ratio: "1280:720", duration: 4 } as const
const image = { model: "gen4_turbo", promptImage: "https://example.com/a.png", ratio: "960:960" } as const

const retrieve = (sdk: Client, id: string) => attempt(() => sdk.tasks.retrieve(id))

describe("the double, called by Runway's SDK", () => {
  it.live("makes videos from text and from an image, and hands them out", () =>
    Effect.gen(function* () {
      const { url } = yield* double
      const sdk = client(url)
      for (const { id } of [
        yield* attempt(() => sdk.textToVideo.create(text)),
        yield* attempt(() => sdk.imageToVideo.create(image))
      ]) {
        assert.strictEqual((yield* retrieve(sdk, id)).status, "RUNNING")
        const done = yield* retrieve(sdk, id)
        if (done.status !== "SUCCEEDED") return assert.fail(done.status)
        const file = yield* attempt(() => fetch(done.output[0] ?? ""))
        assert.deepStrictEqual([file.status, file.headers.get("content-type")], [200, "video/mp4"])
      }
    })
  )

  it.live("makes videos of the models of other makers, and says what they cost", () =>
    Effect.gen(function* () {
      const { url } = yield* double
      const sdk = client(url)
      const [uri, other] = ["https://example.com/a.png", "https://example.com/b.png"] as const
      const promptText = "a harbor"
      const frames = [
        { uri, position: "first" as const },
        { uri: other, position: "last" as const }
      ]
      const made = [
        yield* attempt(() =>
          sdk.imageToVideo.create({ model: "veo3.1", promptImage: frames, ratio: "1280:720", duration: 4, audio: true })
        ),
        yield* attempt(() =>
          sdk.textToVideo.create({
            model: "seedance2",
            promptText,
            references: [{ uri }],
            referenceAudio: [{ type: "audio", uri: "https://example.com/c.mp3" }],
            ratio: "3840:2160",
            duration: "auto"
          })
        ),
        yield* attempt(() =>
          sdk.textToVideo.create({
            model: "hailuo3",
            promptText,
            ratio: "16:9",
            resolution: "2k",
            references: [{ uri }]
          })
        ),
        yield* attempt(() =>
          sdk.imageToVideo.create({ model: "wan3", promptText, promptImage: frames, ratio: "auto_480p", audio: false })
        ),
        yield* attempt(() =>
          sdk.imageToVideo.create({
            model: "grok_imagine_1_5",
            promptImage: [{ uri, position: "first" }],
            resolution: "720p"
          })
        )
      ]
      const costs: Array<number> = []
      for (const { id } of made) {
        yield* retrieve(sdk, id)
        const done = yield* retrieve(sdk, id)
        if (done.status !== "SUCCEEDED") return assert.fail(done.status)
        costs.push(done.cost.credits)
      }
      assert.deepStrictEqual(costs, [160, 900, 77, 25, 81])
    })
  )

  it.live("reports tasks that failed, are lost or canceled", () =>
    Effect.gen(function* () {
      const { failWith, jobs, url } = yield* double
      const sdk = client(url)
      jobs.next("fail", "lose")
      failWith("SAFETY.INPUT.TEXT")
      const failing = yield* attempt(() => sdk.textToVideo.create(text))
      yield* retrieve(sdk, failing.id)
      const failed = yield* retrieve(sdk, failing.id)
      assert.deepStrictEqual(failed.status === "FAILED" ? [failed.failureCode, failed.cost.credits] : failed.status, [
        "SAFETY.INPUT.TEXT",
        0
      ])
      const lost = yield* attempt(() => sdk.textToVideo.create(text))
      yield* retrieve(sdk, lost.id)
      assert.instanceOf(yield* Effect.flip(retrieve(sdk, lost.id)), Client.NotFoundError)
      const canceled = yield* attempt(() => sdk.textToVideo.create(text))
      yield* attempt(() => sdk.tasks.delete(canceled.id))
      assert.strictEqual((yield* retrieve(sdk, canceled.id)).status, "CANCELLED")
    })
  )

  it.live("refuses what the documentation says is refused", () =>
    Effect.gen(function* () {
      const { next, url } = yield* double
      const sdk = client(url)
      const { ratio: _ratio, ...withoutRatio } = text
      const wrong: ReadonlyArray<object> = [
        { ...text, model: "gen4_turbo" },
        { ...text, ratio: "960:960" },
        { ...text, duration: 11 },
        { ...text, promptText: "a".repeat(1001) },
        { ...text, unknown: 1 },
        withoutRatio
      ]
      for (const body of wrong) {
        const error = yield* Effect.flip(attempt(() => sdk.post("/v1/text_to_video", { body })))
        assert.instanceOf(error, Client.BadRequestError)
      }
      const anotherKey = client(url, "another")
      assert.instanceOf(
        yield* Effect.flip(attempt(() => anotherKey.textToVideo.create(text))),
        Client.AuthenticationError
      )
      const versionless = new Client({ apiKey: key, baseURL: url, maxRetries: 0, runwayVersion: "2023-01-01" })
      assert.instanceOf(yield* Effect.flip(attempt(() => versionless.textToVideo.create(text))), Client.BadRequestError)
      next({ status: 400, body: { error: emptyAccount } }, { status: 429, body: { error: documentedMessages[429] } })
      const errors = [
        yield* Effect.flip(attempt(() => sdk.textToVideo.create(text))),
        yield* Effect.flip(attempt(() => sdk.textToVideo.create(text)))
      ]
      assert.deepStrictEqual(
        errors.map((error) => (error instanceof Client.APIError ? [error.status, error.error] : error)),
        [
          [400, { error: emptyAccount }],
          [429, { error: documentedMessages[429] }]
        ]
      )
    })
  )
})
