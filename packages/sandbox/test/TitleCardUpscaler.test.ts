import { assert, describe, it, vi } from "@effect/vitest"
import { gatewayCredential } from "@model-gateway/offers/Offer"
import type { SubmittedVideo, VideoRequest } from "@model-gateway/offers/Video"
import { Effect, Stream } from "effect"
import * as Box from "../src/internal/titleCardBox.ts"
import { makePicture } from "../src/internal/titleCardPicture.ts"
import * as Renders from "../src/internal/titleCardRenders.ts"
import * as Tag from "../src/internal/titleCardTag.ts"
import { type Card, render } from "../src/TitleCard.ts"
import * as TitleCardUpscaler from "../src/TitleCardUpscaler.ts"
import * as TitleCardVideo from "../src/TitleCardVideo.ts"
import { inspect } from "./support/mp4.ts"

// A render takes a second or two, and longer where the processor is shared.
vi.setConfig({ testTimeout: 120_000 })

const credential = gatewayCredential()

const card: Card = { width: 160, height: 90, prompt: 'A "quiet" harbor — 静かな港 😀', duration: 1, seed: 7 }

/** What stands for the frames, where no one looks at them. */
const frames = Buffer.from([0, 0, 0, 16, 0x6d, 0x64, 0x61, 0x74, 1, 2, 3, 4, 5, 6, 7, 8])

const uriOf = (bytes: Uint8Array) => `data:video/mp4;base64,${Buffer.from(bytes).toString("base64")}`

const source = (...videos: ReadonlyArray<Uint8Array | string>): VideoRequest => ({
  input_references: videos.map((video) => ({
    type: "video_url",
    video_url: { url: typeof video === "string" ? video : uriOf(video) }
  }))
})

/** The request, as the service has it once the job is accepted. */
const stored = source("data:,")

const start = Effect.map(Renders.make(), (renders) => ({
  cards: TitleCardVideo.of(renders),
  upscaler: TitleCardUpscaler.make(renders)
}))

const download = (calls: TitleCardVideo.TitleCards, job: SubmittedVideo) =>
  Effect.map(
    Stream.runCollect(calls.content({ ...job, index: 0 }, credential)),
    (pieces) => new Uint8Array(Buffer.concat(Array.from(pieces)))
  )

/** The file without the card at its end. */
const framesOf = (bytes: Uint8Array) => bytes.subarray(0, Buffer.from(bytes).lastIndexOf("uuid") - 4)

let tokens = 0

const make = Effect.fnUntraced(function* (calls: TitleCardVideo.TitleCards, request: VideoRequest) {
  const handle = yield* calls.submit({ request, token: `token-${tokens++}` }, credential)
  return { handle, bytes: yield* download(calls, { handle, request: stored }) }
})

const issuesOf = (request: VideoRequest) =>
  Effect.gen(function* () {
    const { upscaler } = yield* start
    const { reason } = yield* Effect.flip(upscaler.check(request))
    return reason._tag === "InvalidRequest" ? reason.issues : reason._tag
  }).pipe(Effect.scoped)

const at0 = "input_references.0.video_url.url"

describe("TitleCardUpscaler", () => {
  it.live("renders the given card in a larger size, of the same duration, and charges its seconds", () =>
    Effect.gen(function* () {
      const { cards, upscaler } = yield* start
      const request = { prompt: "A quiet harbor", duration: 2, size: "160x90", seed: 7 }
      const made = yield* cards.submit({ request, token: "card" }, credential)
      const given = yield* download(cards, { handle: made, request })
      const wanted = { ...source(given), upscale_factor: 3 }
      const { bytes, handle } = yield* make(upscaler, wanted)
      const { codec, duration, frames, height, width } = yield* inspect(bytes)
      assert.deepStrictEqual(
        { codec, duration, frames, height, width },
        { codec: "avc1", duration: 2, frames: 48, height: 270, width: 480 }
      )
      assert.strictEqual(Number(TitleCardUpscaler.quote(wanted)), 20_000)
      assert.deepStrictEqual(yield* upscaler.poll({ handle, request: stored }, credential), {
        status: "completed",
        outputs: 1,
        charge: { cost: TitleCardUpscaler.quote(wanted), usage: { seconds: 2, videos: 1 } }
      })
      // The same as the card in this size.
      assert.deepStrictEqual(bytes, yield* render({ ...card, ...request, width: 480, height: 270 }))
    }).pipe(Effect.scoped)
  )

  it.live("doubles the size by default, and turns the colors by creativity", () =>
    Effect.gen(function* () {
      const { upscaler } = yield* start
      const given = source(yield* render(card))
      const plain = yield* make(upscaler, given)
      const free = yield* make(upscaler, { ...given, creativity: 0.5 })
      const { height, width } = yield* inspect(plain.bytes)
      assert.deepStrictEqual({ height, width }, { height: 180, width: 320 })
      assert.notDeepEqual(framesOf(free.bytes), framesOf(plain.bytes))
      // What it made can be upscaled again, and keeps its colors.
      const again = yield* make(upscaler, { ...source(free.bytes), upscale_factor: 1 })
      assert.deepStrictEqual(again.bytes, free.bytes)
    }).pipe(Effect.scoped)
  )

  it("turns each color further with more creativity, to the opposite ones", () => {
    /** The hues of the first picture, from -128 to 127. */
    const huesAt = (turn: number) =>
      Array.from(
        makePicture(64, 64, 7, turn, { width: 0, height: 0, ink: new Uint8Array(0) })
          .paint(0, 0)
          .slice(64 * 64),
        (value) => value - 128
      )
    const plain = huesAt(0)
    const distances = [0.1, 0.2, 0.3, 0.4, 0.5].map((turn) =>
      huesAt(turn).reduce((sum, value, at) => sum + (value - (plain[at] ?? 0)) ** 2, 0)
    )
    assert.isAbove(distances[0] ?? 0, 0)
    assert.deepStrictEqual(
      distances,
      distances.toSorted((left, right) => left - right)
    )
    // The values are rounded down.
    assert.isTrue(huesAt(0.5).every((value, at) => Math.abs(value + (plain[at] ?? 0)) <= 2))
  })

  it.live("renders a job of another process again, though the service no longer has the video", () =>
    Effect.gen(function* () {
      const before = yield* start
      const { bytes, handle } = yield* make(before.upscaler, source(yield* render(card)))
      const { upscaler } = yield* start
      const job: SubmittedVideo = { handle, request: stored }
      assert.strictEqual((yield* upscaler.poll(job, credential)).status, "in_progress")
      assert.deepStrictEqual(yield* download(upscaler, job), bytes)
      const unknown = yield* Effect.exit(download(upscaler, { handle: "card_1", request: stored }))
      assert.strictEqual(unknown._tag, "Failure")
    }).pipe(Effect.scoped)
  )

  it.effect("upscales only what title-card made", () =>
    Effect.gen(function* () {
      const other = `${TitleCardUpscaler.id} is a sandbox model: it upscales only videos that sandbox/title-card made, unchanged`
      const cut = Box.write(frames, card)
      for (const video of [frames, cut.subarray(0, frames.length), new Uint8Array(0), Buffer.from("no video at all")]) {
        assert.deepStrictEqual<unknown>(yield* issuesOf(source(video)), [{ path: at0, message: other }])
      }
      const link = yield* issuesOf(source("https://example.com/a.mp4"))
      assert.deepStrictEqual<unknown>(link, [
        {
          path: at0,
          message: "Expected a data:video/mp4;base64, URI, because the length of the video decides the price"
        }
      ])
    })
  )

  it.effect("refuses a card that the renderer cannot make, and one that is damaged", () =>
    Effect.gen(function* () {
      const damaged = [
        { path: at0, message: "the video is damaged: what sandbox/title-card wrote in it cannot be read" }
      ]
      const { upscaler } = yield* start
      yield* upscaler.check(source(Box.write(frames, card)))
      for (const change of [
        { width: 161 },
        { width: 62 },
        { width: 1e9 },
        { width: 2520, height: 2520 },
        { duration: 61 },
        { duration: 0 },
        { duration: 1.5 },
        { duration: 1e300 },
        { seed: Number.NaN },
        { creativity: 2 },
        { creativity: -1 }
      ]) {
        assert.deepStrictEqual<unknown>(
          [change, yield* issuesOf(source(Box.write(frames, { ...card, ...change })))],
          [change, damaged]
        )
      }
      const file = Buffer.from(Box.write(frames, card))
      const text = (from: string, to: string) => Buffer.from(file.toString("latin1").replace(from, to), "latin1")
      for (const changed of [
        text('"version":1', '"version":2'),
        text('"prompt"', '"Prompt"'),
        text('{"version"', '["version"'),
        file.subarray(0, -1)
      ]) {
        assert.deepStrictEqual<unknown>(yield* issuesOf(source(changed)), damaged)
      }
      // More than is read, although it is a card.
      const spaces = Buffer.from(file.toString("latin1") + " ".repeat(8192), "latin1")
      spaces.writeUInt32BE(file.readUInt32BE(frames.length) + 8192, frames.length)
      assert.deepStrictEqual<unknown>(yield* issuesOf(source(spaces)), damaged)
    }).pipe(Effect.scoped)
  )

  it.effect("never crashes, wherever a byte of the file is changed", () =>
    Effect.gen(function* () {
      const { upscaler } = yield* start
      const file = Buffer.from(Box.write(frames, card))
      for (let at = 0; at < file.length; at++) {
        for (const value of [0x00, 0x7f, 0xff]) {
          const changed = Buffer.from(file)
          changed[at] = value
          const outcome = yield* Effect.result(upscaler.check(source(changed)))
          if (outcome._tag === "Failure") assert.strictEqual(outcome.failure.reason._tag, "InvalidRequest")
        }
      }
    }).pipe(Effect.scoped)
  )

  it.effect("names the field that is out of bounds, or not a model's that upscales", () =>
    Effect.gen(function* () {
      const given = source(Box.write(frames, { ...card, width: 1280, height: 720 }))
      const { id } = TitleCardUpscaler
      const image = { type: "image_url", image_url: { url: "https://example.com/a.png" } } as const
      const refused: ReadonlyArray<readonly [VideoRequest, string, string]> = [
        [{}, "input_references", `${id} upscales one video, of type video_url, not 0`],
        [
          { input_references: [...(given.input_references ?? []), ...(given.input_references ?? [])] },
          "input_references",
          `${id} upscales one video, of type video_url, not 2`
        ],
        [given, "upscale_factor", "2 times 1280x720 is above 1080p, the maximum for title cards"],
        [
          { ...given, upscale_factor: 1.51 },
          "upscale_factor",
          "1.51 times 1280x720 is above 1080p, the maximum for title cards"
        ],
        [{ ...given, upscale_factor: 0.5 }, "upscale_factor", `${id} upscales by 1 to 4`],
        [{ ...given, upscale_factor: 4.1 }, "upscale_factor", `${id} upscales by 1 to 4`],
        [{ ...given, creativity: 1.1 }, "creativity", `${id} takes 0 to 1`],
        [{ ...given, creativity: -0.1 }, "creativity", `${id} takes 0 to 1`],
        [{ ...given, duration: 2 }, "duration", `${id} makes a video as long as the given one`],
        [{ ...given, generate_audio: true }, "generate_audio", `${id} makes no audio`],
        [{ ...given, resolution: "720p" }, "resolution", `${id} does not support resolution`],
        [{ ...given, size: "1280x720" }, "size", `${id} makes the size that upscale_factor says`],
        [
          { ...given, input_references: [...(given.input_references ?? []), image] },
          "input_references.1",
          `${id} takes no image references`
        ]
      ]
      for (const [request, path, message] of refused) {
        assert.deepStrictEqual<unknown>(yield* issuesOf(request), [{ path, message }])
      }
      const { upscaler } = yield* start
      yield* upscaler.check({ ...given, upscale_factor: 1.5, creativity: 1, generate_audio: false })
    }).pipe(Effect.scoped)
  )

  it("writes a prompt of any text within what is read", () => {
    for (const prompt of [
      "\\".repeat(5000),
      "\u0000".repeat(5000),
      "港".repeat(5000),
      "😀".repeat(5000),
      "\ud800x".repeat(3000)
    ]) {
      const read = Tag.read(Buffer.from(Box.write(frames, { ...card, prompt })).toString("base64"))
      assert.isObject(read)
    }
  })
})
