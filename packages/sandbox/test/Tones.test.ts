import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { keys, wav, type WavOptions } from "../src/DtmfTone.ts"
import { presses, segments } from "../src/Tones.ts"
import { parse } from "../src/Wav.ts"

const hear = (text: string, options?: WavOptions) => Effect.flatMap(parse(wav(text, options)), presses)

const transcribedKeys = (text: string, options?: WavOptions) =>
  Effect.map(hear(text, options), (found) => found.map((press) => press.key).join(""))

const rates = [8000, 11_025, 16_000, 22_050, 44_100, 48_000]

describe("Tones.presses", () => {
  for (const sampleRate of rates) {
    for (const bitsPerSample of [8, 16] as const) {
      for (const channels of [1, 2] as const) {
        it.effect(
          `all keys at ${sampleRate} Hz, ${bitsPerSample} bit, ${channels} channels, in noise 10 dB below`,
          () =>
            Effect.gen(function* () {
              const noise = { signalToNoise: 10, seed: sampleRate + bitsPerSample + channels }
              assert.strictEqual(yield* transcribedKeys(keys, { sampleRate, bitsPerSample, channels, noise }), keys)
            })
        )
      }
    }
  }

  it.effect.each([-6, 6, 8])("one tone %i dB louder than the other", (twist) =>
    Effect.gen(function* () {
      assert.strictEqual(yield* transcribedKeys(keys, { twist, noise: { signalToNoise: 15, seed: 3 } }), keys)
    })
  )

  it.effect("quiet tones", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* transcribedKeys(keys, { amplitude: 0.02 }), keys)
    })
  )

  it.effect("presses of 40 ms with pauses of 40 ms, and not one of 20 ms", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* transcribedKeys("1122##", { tone: 0.04, gap: 0.04 }), "1122##")
      assert.strictEqual(yield* transcribedKeys("5", { tone: 0.02 }), "")
    })
  )

  it.effect("a key that is pressed for long is one press", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* transcribedKeys("7", { tone: 3 }), "7")
    })
  )

  it.effect("reports when each key was pressed and released, to 10 ms", () =>
    Effect.gen(function* () {
      const found = yield* hear("4 2", { tone: 0.15, gap: 0.1, pause: 0.5, sampleRate: 16_000 })
      assert.deepStrictEqual(
        found.map((press) => press.key),
        ["4", "2"]
      )
      const expected = [0.1, 0.25, 0.85, 1]
      for (const [at, time] of found.flatMap((press) => [press.start, press.end]).entries()) {
        assert.approximately(time, expected[at] ?? Number.NaN, 0.01)
      }
    })
  )

  it.effect("finds no key in silence, in noise, or in a single tone", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* transcribedKeys("     "), "")
      for (let seed = 0; seed < 10; seed++) {
        assert.strictEqual(yield* transcribedKeys("     ", { noise: { signalToNoise: 0, seed } }), "")
      }
      assert.strictEqual(yield* transcribedKeys("5", { twist: 40, tone: 0.5 }), "")
      assert.strictEqual(yield* transcribedKeys("5", { twist: -40, tone: 0.5 }), "")
    })
  )
})

describe("Tones.segments", () => {
  it.effect("starts a new segment after a pause of half a second", () =>
    Effect.gen(function* () {
      const found = segments(yield* hear("555 0199", { pause: 0.6 }))
      assert.deepStrictEqual(
        found.map((segment) => segment.text),
        ["555", "0199"]
      )
      assert.isTrue(found.every((segment) => segment.end > segment.start))
      assert.deepStrictEqual(
        segments(yield* hear("555 0199", { pause: 0.2 })).map((segment) => segment.text),
        ["5550199"]
      )
      assert.deepStrictEqual(segments([]), [])
    })
  )
})
