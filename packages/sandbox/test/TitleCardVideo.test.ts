import { assert, describe, it, vi } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope, Stream } from "effect"
import { gatewayCredential } from "@model-gateway/offers/Offer"
import type { SubmittedVideo, VideoRequest } from "@model-gateway/offers/Video"
import * as TitleCardVideo from "../src/TitleCardVideo.ts"
import { inspect } from "./support/mp4.ts"

// A render takes a second or two, and longer where the processor is shared.
vi.setConfig({ testTimeout: 60_000 })

const request: VideoRequest = { prompt: "A quiet harbor", duration: 1, size: "160x90" }
const long: VideoRequest = { ...request, duration: 60, size: "1280x720" }

const download = (video: TitleCardVideo.TitleCards, job: SubmittedVideo) =>
  Effect.map(
    Stream.runCollect(video.content({ ...job, index: 0 }, credential)),
    (pieces) => new Uint8Array(Buffer.concat(Array.from(pieces)))
  )

const credential = gatewayCredential()

let tokens = 0

/** Default: a token of its own. */
const submit = (video: TitleCardVideo.TitleCards, request: VideoRequest, token = `token-${tokens++}`) =>
  Effect.map(video.submit({ request, token }, credential), (handle): SubmittedVideo => ({ handle, request }))

describe("TitleCardVideo", () => {
  it.live("a job is in progress, then completed, and its video can be fetched more than once", () =>
    Effect.gen(function* () {
      const video = yield* TitleCardVideo.make()
      const job = yield* submit(video, request)
      assert.strictEqual((yield* video.poll(job, credential)).status, "in_progress")
      const bytes = yield* download(video, job)
      assert.deepStrictEqual(yield* video.poll(job, credential), {
        status: "completed",
        outputs: 1,
        charge: { cost: TitleCardVideo.quote(request), usage: { seconds: 1, videos: 1 } }
      })
      assert.deepStrictEqual(yield* download(video, job), bytes)
      const { codec, duration, height, width } = yield* inspect(bytes)
      assert.deepStrictEqual({ codec, duration, height, width }, { codec: "avc1", duration: 1, height: 90, width: 160 })
    }).pipe(Effect.scoped)
  )

  it.live("a job that is unknown to this process is rendered again, with the same result", () =>
    Effect.gen(function* () {
      const before = yield* TitleCardVideo.make()
      const job = yield* submit(before, request)
      const expected = yield* download(before, job)

      const after = yield* TitleCardVideo.make()
      assert.strictEqual((yield* after.poll(job, credential)).status, "in_progress")
      assert.deepStrictEqual(yield* download(after, job), expected)
    }).pipe(Effect.scoped)
  )

  it.live("a token is one job, however often and in whichever process it is submitted", () =>
    Effect.gen(function* () {
      const before = yield* TitleCardVideo.make()
      const first = yield* submit(before, long, "one")
      assert.deepStrictEqual(yield* submit(before, long, "one"), first)
      assert.notDeepEqual(yield* submit(before, long, "another"), first)
      const after = yield* TitleCardVideo.make()
      assert.deepStrictEqual(yield* submit(after, long, "one"), first)
      // The one render of the token is gone; a second one of its own would still be under way.
      yield* before.cancel(first.handle, credential)
      const again = yield* submit(before, long, "one")
      assert.deepStrictEqual(yield* before.poll(again, credential), {
        status: "failed",
        message: "the job was cancelled"
      })
    }).pipe(Effect.scoped)
  )

  it.live("jobs without a seed differ, jobs with one do not", () =>
    Effect.gen(function* () {
      const video = yield* TitleCardVideo.make({ concurrency: 2 })
      const videoOf = (request: VideoRequest) => Effect.flatMap(submit(video, request), (job) => download(video, job))
      assert.notDeepEqual(yield* videoOf(request), yield* videoOf(request))
      assert.deepStrictEqual(yield* videoOf({ ...request, seed: 7 }), yield* videoOf({ ...request, seed: 7 }))
    }).pipe(Effect.scoped)
  )

  it.live("a cancelled job ends, gives its place to the next, and stays cancelled", () =>
    Effect.gen(function* () {
      const video = yield* TitleCardVideo.make({ concurrency: 1 })
      const first = yield* submit(video, long)
      const fetching = yield* Effect.forkChild(Effect.exit(download(video, first)))
      const second = yield* submit(video, request)
      assert.deepStrictEqual(yield* video.poll(second, credential), { status: "in_progress", progress: 0 })
      yield* video.cancel(first.handle, credential)
      assert.isTrue(Exit.isFailure(yield* Fiber.join(fetching)))
      yield* download(video, second)
      assert.deepStrictEqual(yield* video.poll(first, credential), {
        status: "failed",
        message: "the job was cancelled"
      })
      yield* video.cancel(first.handle, credential)
      yield* video.cancel("never-heard-of", credential)
      yield* video.cancel(second.handle, credential)
      assert.strictEqual((yield* video.poll(second, credential)).status, "completed")
    }).pipe(Effect.scoped)
  )

  it.live("a render stopped with its process has not failed", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const video = yield* Scope.provide(TitleCardVideo.make(), scope)
      const job = yield* submit(video, long)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual((yield* video.poll(job, credential)).status, "in_progress")
    })
  )

  it.live("keeps as many finished cards as fit in its bytes, many small ones or few large ones", () =>
    Effect.gen(function* () {
      const small = { ...request, seed: 1 }
      const large = { ...small, size: "640x360" }
      const any = yield* TitleCardVideo.make({ concurrency: 2 })
      const sizeOf = (request: VideoRequest) =>
        Effect.flatMap(submit(any, request), (job) => Effect.map(download(any, job), (bytes) => bytes.length))
      const [one, much] = yield* Effect.all([sizeOf(small), sizeOf(large)], { concurrency: 2 })
      assert.isAbove(much, 2 * one)

      // Each takes a little more than its bytes.
      const video = yield* TitleCardVideo.make({ keptBytes: much + 6 * one + 8 * 1024 })
      const render = Effect.fnUntraced(function* (request: VideoRequest) {
        const job = yield* submit(video, request)
        yield* download(video, job)
        return job
      })
      const isKept = (job: SubmittedVideo) =>
        Effect.map(video.poll(job, credential), ({ status }) => status === "completed")
      const jobs = yield* Effect.forEach([small, small, small, small, small, small, large], render)
      assert.isTrue((yield* Effect.forEach(jobs, isKept)).every(Boolean))
      const newest = yield* render(large)
      const oldest = jobs[0] ?? newest
      assert.deepStrictEqual(yield* Effect.forEach([newest, oldest], isKept), [true, false])
    }).pipe(Effect.scoped)
  )

  it.live("drops the oldest finished cards, and renders them again when they are requested", () =>
    Effect.gen(function* () {
      const video = yield* TitleCardVideo.make({ keptBytes: 0 })
      const first = yield* submit(video, request)
      const bytes = yield* download(video, first)
      yield* download(video, yield* submit(video, request))
      assert.strictEqual((yield* video.poll(first, credential)).status, "in_progress")
      assert.deepStrictEqual(yield* download(video, first), bytes)
    }).pipe(Effect.scoped)
  )

  it.effect.each([
    [{ prompt: undefined }, "a title card needs a prompt"],
    [{ prompt: "  \n" }, "a title card needs a prompt"],
    [{ duration: 61 }, "a title card lasts from 1 to 60 seconds"],
    [{ resolution: "4K" }, "4K is above 1080p"],
    [{ size: "161x90" }, "161x90 has an odd side"],
    [{ generate_audio: true }, "a title card has no audio"],
    [
      {
        frame_images: [{ type: "image_url", image_url: { url: "https://a.example/b.png" }, frame_type: "first_frame" }]
      },
      "a title card does not support frame images"
    ]
  ] as const)("says before the job is accepted that it cannot do %j", ([change, message]) =>
    Effect.gen(function* () {
      const video = yield* TitleCardVideo.make()
      const { size: _, prompt, ...rest } = request
      const changed: VideoRequest = {
        ...rest,
        ...("prompt" in change
          ? change.prompt === undefined
            ? {}
            : { prompt: change.prompt }
          : { prompt: prompt ?? "" }),
        ...("prompt" in change ? {} : change)
      }
      for (const attempt of [video.check(changed), video.submit({ request: changed, token: "t" }, credential)]) {
        const error = yield* Effect.flip(attempt)
        assert.strictEqual(error.reason._tag, "InvalidRequest")
        assert.include(error.message, message)
      }
    }).pipe(Effect.scoped)
  )

  it.effect("has one output", () =>
    Effect.gen(function* () {
      const video = yield* TitleCardVideo.make()
      const error = yield* Effect.flip(
        Stream.runDrain(video.content({ handle: "card_1", request, index: 1 }, credential))
      )
      assert.strictEqual(error.reason._tag, "InvalidRequest")
    }).pipe(Effect.scoped)
  )
})
