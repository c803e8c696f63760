import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { wav } from "../src/DtmfTone.ts"
import { parse } from "../src/Wav.ts"

const change = (bytes: Uint8Array, edit: (view: DataView) => void): Uint8Array => {
  const copy = bytes.slice()
  edit(new DataView(copy.buffer))
  return copy
}

describe("Wav", () => {
  it.effect.each([
    { sampleRate: 8000, bitsPerSample: 8, channels: 1 },
    { sampleRate: 11_025, bitsPerSample: 8, channels: 2 },
    { sampleRate: 48_000, bitsPerSample: 16, channels: 2 }
  ] as const)("reads what was written, %o", (options) =>
    Effect.gen(function* () {
      const audio = yield* parse(wav("5", { ...options, tone: 0.2, gap: 0.1, amplitude: 0.5 }))
      assert.strictEqual(audio.sampleRate, options.sampleRate)
      assert.strictEqual(audio.channels, options.channels)
      assert.strictEqual(audio.bitsPerSample, options.bitsPerSample)
      assert.approximately(audio.duration, 0.4, 0.001)
      const samples = new Float32Array(audio.length)
      audio.read(0, samples)
      assert.approximately(Math.max(...samples), 0.5, 0.05)
      assert.approximately(samples[0] ?? 1, 0, 0.01)
    })
  )

  it.effect("is silent before its start and after its end", () =>
    Effect.gen(function* () {
      const audio = yield* parse(wav("5", { gap: 0 }))
      const samples = new Float32Array(40).fill(1)
      audio.read(-20, samples)
      assert.isTrue(samples.subarray(0, 20).every((sample) => sample === 0))
      audio.read(audio.length, samples)
      assert.isTrue(samples.every((sample) => sample === 0))
    })
  )

  it.effect("reads past chunks that it does not know", () =>
    Effect.gen(function* () {
      const plain = wav("5")
      const note = Uint8Array.of(0x4c, 0x49, 0x53, 0x54, 3, 0, 0, 0, 1, 2, 3, 0)
      const bytes = new Uint8Array(plain.length + note.length)
      bytes.set(plain.subarray(0, 36))
      bytes.set(note, 36)
      bytes.set(plain.subarray(36), 36 + note.length)
      assert.strictEqual((yield* parse(bytes)).length, (yield* parse(plain)).length)
    })
  )

  it.effect("accepts the extensible form of the format", () =>
    Effect.gen(function* () {
      const plain = wav("5")
      const bytes = new Uint8Array(plain.length + 24)
      bytes.set(plain.subarray(0, 36))
      bytes.set(plain.subarray(36), 60)
      const view = new DataView(bytes.buffer)
      view.setUint32(16, 40, true)
      view.setUint16(20, 0xfffe, true)
      view.setUint16(44, 1, true)
      assert.strictEqual((yield* parse(bytes)).length, (yield* parse(plain)).length)
    })
  )

  it.effect.each([0, 0xffff_ffff])("takes the rest of the file when the data's size is %i", (size) =>
    Effect.gen(function* () {
      const plain = wav("5")
      const audio = yield* parse(change(plain, (view) => view.setUint32(40, size, true)))
      assert.strictEqual(audio.length, (plain.length - 44) / 2)
    })
  )

  it.effect("accepts a truncated file and reads what is there", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* parse(wav("5").subarray(0, 44 + 401))).length, 200)
    })
  )

  it.effect.each([
    ["the audio is not a WAV file", new Uint8Array()],
    ["the audio is not a WAV file", new TextEncoder().encode("hello world, no audio")],
    ["the WAV file has no audio data", wav("5").subarray(0, 36)],
    ["the WAV file is cut short in its header", wav("5").subarray(0, 30)],
    ["the WAV file is not PCM", change(wav("5"), (view) => view.setUint16(20, 3, true))],
    ["the WAV file has 6 channels; 1 or 2 are supported", change(wav("5"), (view) => view.setUint16(22, 6, true))],
    [
      "the WAV file has 96000 samples per second; 8000 to 48000 are supported",
      change(wav("5"), (view) => view.setUint32(24, 96_000, true))
    ],
    [
      "the WAV file has 24 bits per sample; 8 or 16 are supported",
      change(wav("5"), (view) => view.setUint16(34, 24, true))
    ]
  ] as const)("refuses: %s", ([message, bytes]) =>
    Effect.gen(function* () {
      assert.strictEqual((yield* Effect.flip(parse(bytes))).message, message)
    })
  )
})
