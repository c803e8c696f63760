// Files that say two things. Every one of them was measured shorter than decoders read it.
import { assert, describe, it } from "@effect/vitest"
import { NodeFileSystem } from "@effect/platform-node"
import { Effect, FileSystem } from "effect"
import { fileURLToPath } from "node:url"
import { measure } from "../src/AudioDuration.ts"
import { fromBytes, fromPath } from "../src/AudioSource.ts"
import * as Audio from "./support/audio.ts"

const { chunk, format, join, mp3Frame, repeat, riff, samples } = Audio

const fixture = (name: string) => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url))

const measured = (bytes: Uint8Array) => Effect.map(measure(fromBytes(bytes)), ({ duration }) => duration)

const counts = (title: string, bytes: () => Uint8Array, seconds: number, tolerance = 0.15) =>
  it.effect(title, () =>
    Effect.gen(function* () {
      assert.approximately(yield* measured(bytes()), seconds, tolerance)
    })
  )

const refuses = (title: string, bytes: () => Uint8Array, message: RegExp) =>
  it.effect(title, () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(measured(bytes()))
      assert.strictEqual(error._tag, "NotAudio")
      assert.match(error.message, message)
    })
  )

describe("the length of a file is all that a decoder reads of it", () => {
  describe("wav", () => {
    const plain = riff(format(), chunk("data", samples(3)))
    counts("counts its samples", () => plain, 3, 0)
    counts(
      "counts to the end if the length is 0, as programs write to a pipe",
      () => riff(format(), chunk("data", samples(3), 0)),
      3,
      0
    )
    counts(
      "counts to the end if the length is unknown",
      () => riff(format(), chunk("data", samples(3), 0xffff_ffff)),
      3,
      0
    )
    counts(
      "counts what is there if the length is larger",
      () => riff(format(), chunk("data", samples(3), 0x7fff_ffff)),
      3,
      0
    )
    counts(
      "skips chunks with other contents",
      () =>
        riff(
          chunk("LIST", new Uint8Array(26)),
          format(),
          chunk("data", samples(1)),
          chunk("id3 ", new Uint8Array(100))
        ),
      1,
      0
    )
    refuses(
      "refuses two `data` chunks",
      () => riff(format(), chunk("data", samples(1)), chunk("data", samples(9))),
      /2 `data` chunks/
    )
    refuses(
      "refuses a second `data` chunk behind an odd chunk without padding",
      () => riff(format(), chunk("data", samples(1)), chunk("LIST", new Uint8Array(3)), chunk("data", samples(9))),
      /decoded|2 `data` chunks/
    )
    refuses("refuses two `fmt ` chunks", () => riff(format(), format(), chunk("data", samples(1))), /2 `fmt ` chunks/)
    refuses(
      "refuses blocks that are larger than its samples",
      () => riff(format({ block: 2000 }), chunk("data", samples(1))),
      /blocks of 2000 bytes/
    )
    refuses(
      "refuses MP3 in its samples",
      () =>
        riff(
          format(),
          chunk(
            "data",
            repeat(500, () => mp3Frame)
          )
        ),
      /compressed audio/
    )
    refuses(
      "refuses AC-3 in its samples",
      () =>
        riff(
          format(),
          chunk(
            "data",
            repeat(50, () => join(Audio.u8(0x0b, 0x77, 0, 0, 0, 0x40), new Uint8Array(122)))
          )
        ),
      /compressed audio/
    )
  })

  describe("mp3", () => {
    counts("counts frames", () => repeat(100, () => mp3Frame), 2.4)
    counts(
      "counts frames behind bytes of something else",
      () =>
        join(
          repeat(10, () => mp3Frame),
          new Uint8Array(5000).fill(7),
          repeat(400, () => mp3Frame)
        ),
      9.84
    )
    counts(
      "counts single frames between bytes of something else",
      () =>
        join(
          repeat(10, () => mp3Frame),
          repeat(400, () => join(mp3Frame, Audio.u8(1, 2, 3)))
        ),
      9.84
    )
    counts(
      "counts the frames inside of other ones, which a decoder may read instead",
      () =>
        repeat(100, () => Audio.longMp3Frame(join(mp3Frame, mp3Frame, mp3Frame, mp3Frame, mp3Frame.subarray(0, 188)))),
      12
    )
    counts(
      "counts frames of AAC that follow",
      () =>
        join(
          repeat(10, () => mp3Frame),
          repeat(100, () => Audio.aacFrame)
        ),
      6.64
    )
    counts(
      "counts no picture in its tag",
      () =>
        join(
          Audio.id3(repeat(100, () => mp3Frame)),
          repeat(100, () => mp3Frame)
        ),
      2.4
    )
    refuses(
      "refuses a file that starts as another format",
      () =>
        join(
          "#!AMR\n",
          repeat(100, () => mp3Frame)
        ),
      /starts as another format/
    )
  })

  describe("aac", () => {
    counts("counts frames", () => repeat(100, () => Audio.aacFrame), 6.4)
    counts(
      "counts frames behind bytes of something else",
      () =>
        join(
          repeat(10, () => Audio.aacFrame),
          new Uint8Array(5000).fill(7),
          repeat(400, () => Audio.aacFrame)
        ),
      26.24
    )
  })

  describe("ogg", () => {
    counts("counts packets", () => Audio.oggOpus(3), 3)
    counts("counts packets, whatever its pages say of their time", () => Audio.oggOpus(60, { granule: 0.5 }), 60)
    counts("counts streams that follow each other", () => join(Audio.oggOpus(1), Audio.oggOpus(60, { serial: 2 })), 61)
    counts(
      "counts streams that follow each other under one number",
      () => join(Audio.oggOpus(1), Audio.oggOpus(60)),
      61
    )
    counts(
      "counts pages behind something else",
      () => join(Audio.oggOpus(1), "OggS and more", Audio.oggOpus(60, { serial: 2 })),
      61
    )
    refuses(
      "refuses streams of other formats",
      () => join(Audio.oggOpus(1), Audio.oggSpeex()),
      /neither Opus nor Vorbis/
    )
    it.effect("counts streams of Vorbis that follow each other", () =>
      Effect.gen(function* () {
        const bytes = yield* (yield* FileSystem.FileSystem).readFile(fixture("vorbis.ogg"))
        assert.approximately(yield* measured(join(...Array<Uint8Array>(4).fill(bytes))), 6, 0.2)
      }).pipe(Effect.provide(NodeFileSystem.layer))
    )
  })

  describe("flac", () => {
    it.effect("counts files that follow each other", () =>
      Effect.gen(function* () {
        const bytes = yield* (yield* FileSystem.FileSystem).readFile(fixture("tone.flac"))
        assert.strictEqual(yield* measured(bytes), 1.5)
        assert.strictEqual(yield* measured(join(bytes, bytes, bytes)), 4.5)
        assert.strictEqual(yield* measured(join(bytes, "something else", bytes)), 3)
      }).pipe(Effect.provide(NodeFileSystem.layer))
    )
    it.effect("refuses frames of another sample rate than the file's", () =>
      Effect.gen(function* () {
        const bytes = yield* (yield* FileSystem.FileSystem).readFile(fixture("tone.flac"))
        const others = repeat(30, (index) => join(Audio.flacHeader(index), new Uint8Array(100)))
        assert.match((yield* Effect.flip(measured(join(bytes, others)))).message, /another sample rate/)
      }).pipe(Effect.provide(NodeFileSystem.layer))
    )
  })

  describe("webm", () => {
    counts("counts packets", () => Audio.webmOpus([3]), 3)
    counts("counts packets, whatever the blocks say of their time", () => Audio.webmOpus([60], { isTimed: false }), 60)
    counts("counts the longest track", () => Audio.webmOpus([1, 60]), 60)
    refuses(
      "refuses blocks inside of what decoders skip",
      () => Audio.webmOpus([1], { hidden: 60 }),
      /do not fit into each other/
    )
    refuses(
      "refuses a second file in it",
      () => join(Audio.webmOpus([1]), Audio.webmOpus([60])),
      /lists its tracks twice/
    )
  })

  describe("m4a", () => {
    counts("counts samples", () => Audio.mp4({ samples: 100 }), 6.4)
    counts("counts samples, whatever the table says of their time", () => Audio.mp4({ samples: 1000, delta: 1 }), 64)
    counts(
      "accepts an edit list with a pause and one part",
      () =>
        Audio.mp4({
          samples: 100,
          edits: [
            [100, 0xffff_ffff],
            [6400, 0]
          ]
        }),
      6.4
    )
    refuses(
      "refuses an edit list that plays a part again",
      () =>
        Audio.mp4({
          samples: 100,
          edits: [
            [6400, 0],
            [6400, 0]
          ]
        }),
      /plays 2 parts/
    )
    refuses("refuses two lists of tracks", () => Audio.mp4({ samples: 100, isTwice: true }), /2 `moov` boxes/)
    refuses(
      "refuses samples that are longer than a frame",
      () => Audio.mp4({ samples: 100, sampleBytes: 4000 }),
      /frame of 4000 bytes/
    )
  })

  it.effect("is the same for a file that is too large for memory", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const path = yield* fs.makeTempFileScoped()
      const bytes = riff(format(), chunk("data", new Uint8Array(65 * 1024 * 1024)))
      yield* fs.writeFile(path, Uint8Array.from(bytes))
      const { duration } = yield* measure(yield* fromPath(path))
      assert.strictEqual(duration, (65 * 1024 * 1024) / 16_000)
    }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer))
  )
})
