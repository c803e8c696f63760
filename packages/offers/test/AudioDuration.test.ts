import { NodeFileSystem } from "@effect/platform-node"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { Effect, Fiber, FileSystem, Stream } from "effect"
import { fileURLToPath } from "node:url"
import { measure, type NotAudio, type Unreadable, type WrongFormat } from "../src/AudioDuration.ts"
import { fromBytes, fromPath } from "../src/AudioSource.ts"

const fixture = (name: string) => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url))

const known = [
  ["tone.wav", "wav", 1.5],
  ["ulaw.wav", "wav", 1.5],
  ["cbr.mp3", "mp3", 1.58],
  ["tagged.mp3", "mp3", 1.58],
  ["vbr.mp3", "mp3", 4.1],
  ["vbr-no-header.mp3", "mp3", 4.1],
  ["tone.flac", "flac", 1.5],
  // Two frames more than the tone: not every decoder drops what the encoder put before it.
  ["tone.m4a", "m4a", 1.6],
  ["fragmented.m4a", "m4a", 1.02],
  ["opus.ogg", "ogg", 1.5],
  ["vorbis.ogg", "ogg", 1.5],
  ["tone.webm", "webm", 1.5],
  ["live.webm", "webm", 1.5],
  ["tone.aac", "aac", 1.6]
] as const

describe("AudioDuration", () => {
  describe("format and length", () => {
    for (const [name, format, duration] of known) {
      it.effect(`of ${name}, from a file and from memory`, () =>
        Effect.gen(function* () {
          const file = yield* fromPath(fixture(name))
          const fromFile = yield* measure(file, format)
          const fromMemory = yield* measure(fromBytes(yield* file.bytes))
          assert.strictEqual(fromFile.format, format)
          assert.approximately(fromFile.duration, duration, 0.05)
          assert.deepStrictEqual(fromMemory, fromFile)
        }).pipe(Effect.provide(NodeFileSystem.layer))
      )
    }
  })

  it.effect("rejects audio of another format than declared, and names its format", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(measure(yield* fromPath(fixture("tone.flac")), "mp3"))
      assert.strictEqual(error._tag, "WrongFormat")
      assert.strictEqual(error.message, "the audio is declared as mp3 and is flac")
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  describe("rejects content that is not audio", () => {
    const text = new TextEncoder().encode("hello world, not audio at all\n".repeat(200))
    const noise = Uint8Array.from({ length: 5000 }, (_, at) => (Math.imul(at + 1, 2_654_435_761) >>> 13) & 255)
    const cases = { "no bytes": new Uint8Array(), text, noise, "one byte": Uint8Array.of(82) }
    for (const [name, bytes] of Object.entries(cases)) {
      it.effect(name, () =>
        Effect.gen(function* () {
          const error = yield* Effect.flip(measure(fromBytes(bytes), "wav"))
          assert.strictEqual(error._tag, "NotAudio")
        }).pipe(Effect.provide(NodeFileSystem.layer))
      )
    }

    for (const name of ["silent-film.m4a", "matroska.mkv", "README.md"]) {
      it.effect(name, () =>
        Effect.gen(function* () {
          const error = yield* Effect.flip(measure(yield* fromPath(fixture(name))))
          assert.strictEqual(error._tag, "NotAudio")
        }).pipe(Effect.provide(NodeFileSystem.layer))
      )
    }

    for (const [name] of known) {
      it.effect(`${name}, cut off after its first bytes, ends in an answer or a refusal`, () =>
        Effect.gen(function* () {
          const bytes = yield* (yield* fromPath(fixture(name))).bytes
          for (const length of [4, 12, 44, 100, 400]) {
            const outcome = yield* Effect.result(measure(fromBytes(bytes.subarray(0, length))))
            if (outcome._tag === "Failure") assert.strictEqual(outcome.failure._tag, "NotAudio")
            else assert.isAbove(outcome.success.duration, 0)
          }
        }).pipe(Effect.provide(NodeFileSystem.layer))
      )
    }
  })

  it.effect("reports a file that cannot be read", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(measure(yield* fromPath(fixture("missing.wav"))))
      assert.strictEqual(error._tag, "Unreadable")
      assert.notInclude(error.message, "missing.wav")
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("gives up on audio that its parser does not finish, and measures other audio meanwhile", () =>
    Effect.gen(function* () {
      // A recording cut short within its header: mediabunny 1.61.0 spins on it for ever.
      const bytes = yield* (yield* fromPath(fixture("live.webm"))).bytes
      const astray = yield* Effect.forkChild(Effect.flip(measure(fromBytes(bytes.subarray(0, 104)))))
      const { duration } = yield* measure(yield* fromPath(fixture("tone.wav")))
      assert.strictEqual(duration, 1.5)
      assert.isUndefined(astray.pollUnsafe())
      assert.strictEqual(
        (yield* Fiber.join(astray)).message,
        "the audio cannot be decoded in reasonable time; the file may be incomplete"
      )
      assert.strictEqual((yield* measure(fromBytes(bytes))).format, "webm")
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("measures the part of a truncated FLAC file that is there", () =>
    Effect.gen(function* () {
      const bytes = yield* (yield* fromPath(fixture("tone.flac"))).bytes
      const { duration } = yield* measure(fromBytes(bytes.subarray(0, Math.floor(bytes.length * 0.85))))
      assert.isAbove(duration, 0.5)
      assert.isBelow(duration, 1.5)
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("rejects a FLAC file that is truncated before its duration can be found", () =>
    Effect.gen(function* () {
      const bytes = yield* (yield* fromPath(fixture("tone.flac"))).bytes
      const error = yield* Effect.flip(measure(fromBytes(bytes.subarray(0, Math.floor(bytes.length * 0.3)))))
      assert.strictEqual(error._tag, "NotAudio")
      assert.match(error.message, /may be incomplete/)
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it("has an exact error type", () => {
    expectTypeOf<Effect.Error<ReturnType<typeof measure>>>().toEqualTypeOf<NotAudio | WrongFormat | Unreadable>()
  })
})

describe("AudioSource", () => {
  it.effect("reads a file whole and in chunks", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const path = fixture("tone.wav")
      const expected = yield* fs.readFile(path)
      const source = yield* fromPath(path)
      assert.deepStrictEqual(yield* source.bytes, expected)
      const pieces = yield* Stream.runCollect(source.stream)
      assert.deepStrictEqual(new Uint8Array(Buffer.concat(Array.from(pieces))), new Uint8Array(expected))
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )
})

describe("AudioSource in memory", () => {
  it.effect("reads the same bytes whole and in chunks", () =>
    Effect.gen(function* () {
      const source = fromBytes(Uint8Array.of(1, 2, 3))
      assert.deepStrictEqual(yield* source.bytes, Uint8Array.of(1, 2, 3))
      assert.deepStrictEqual(yield* Stream.runCollect(source.stream), [Uint8Array.of(1, 2, 3)])
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )
})
