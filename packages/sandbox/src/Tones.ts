/**
 * Transcribes keypad (DTMF) tones.
 *
 * A window of 24 ms moves over the audio in steps of 6 ms. In each window, Goertzel's algorithm
 * measures the eight frequencies. A key is detected when one row and one column together make up
 * most of the energy, are about equally loud, and are clearly louder than the others. A word is one
 * key press; a segment ends at a pause of half a second.
 *
 * @since 0.1.0
 */
import { Effect } from "effect"
import { columns, keys, rows } from "./DtmfTone.ts"
import type { Wav } from "./Wav.ts"

/**
 * Window length in seconds: short enough for the shortest key press (40 ms), long enough to tell
 * 697 from 770 Hz.
 */
const windowSeconds = 0.024
/** Seconds between windows. Times are accurate to about half of it. */
const hopSeconds = 0.006
/**
 * The minimum fraction of a window's energy in the two tones. White noise has 1 % to 5 %, speech
 * rarely 30 %.
 */
const minShare = 0.4
/** The tones of one press may differ by 10 dB. */
const maxTwist = 10
/** A tone must be 5 dB louder than the other tones of its group. */
const minLead = 10 ** 0.5
/** Below this mean square (about -60 dB) is silence. */
const minPower = 1e-6
/** Minimum length of a press: 40 ms must be detected, less than 23 ms must not (ITU-T Q.24). */
const minPress = 0.03
/** A gap up to this length is a line error, not a new press. */
const maxHole = 0.014
/** A pause of this length starts a new segment. */
const pause = 0.5

/**
 * One key press.
 *
 * @category models
 * @since 0.1.0
 */
export interface Press {
  /** One of `0` to `9`, `A` to `D`, `*` and `#`. */
  readonly key: string
  /** Seconds from the start of the audio. */
  readonly start: number
  readonly end: number
}

/**
 * The key presses in the audio, in order. Long audio is processed in pieces; other fibers run in
 * between.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { wav } from "@model-gateway/sandbox/DtmfTone"
 * import { presses } from "@model-gateway/sandbox/Tones"
 * import { parse } from "@model-gateway/sandbox/Wav"
 *
 * const keys = parse(wav("42#")).pipe(
 *   Effect.flatMap(presses),
 *   Effect.map((found) => found.map((press) => press.key)) // ["4", "2", "#"]
 * )
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export const presses = Effect.fnUntraced(function* (audio: Wav) {
  const size = Math.round(windowSeconds * audio.sampleRate)
  const hop = Math.round(hopSeconds * audio.sampleRate)
  const detect = makeDetector(audio.sampleRate, size)
  const window = new Float32Array(size)
  const frames = Math.ceil(audio.length / hop) + 1
  const heard = new Int8Array(frames).fill(-1)
  const power = new Float32Array(frames)
  // About two million steps of the inner loop, a few milliseconds.
  const framesInOneGo = Math.max(1, Math.floor(250_000 / size))

  const fresh = window.subarray(size - hop)
  audio.read(-(size >> 1) - hop, window)
  for (let frame = 0; frame < frames; frame++) {
    window.copyWithin(0, hop)
    audio.read(frame * hop - (size >> 1) + size - hop, fresh)
    const found = detect(window)
    if (found !== undefined) {
      heard[frame] = found.key
      power[frame] = found.power
    }
    if (frame % framesInOneGo === framesInOneGo - 1) yield* Effect.yieldNow
  }
  return collect(heard, power, hop / audio.sampleRate, audio.duration)
})

/**
 * Presses grouped by pauses of half a second or more.
 *
 * @category running
 * @since 0.1.0
 */
export const segments = (
  found: ReadonlyArray<Press>
): ReadonlyArray<{ readonly start: number; readonly end: number; readonly text: string }> => {
  const groups: Array<{ start: number; end: number; text: string }> = []
  for (const press of found) {
    const last = groups.at(-1)
    if (last !== undefined && press.start - last.end < pause) {
      last.end = press.end
      last.text += press.key
    } else {
      groups.push({ start: press.start, end: press.end, text: press.key })
    }
  }
  return groups
}

interface Detected {
  /** Index in `keys`. */
  readonly key: number
  /** Power of both tones together. */
  readonly power: number
}

const makeDetector = (sampleRate: number, size: number): ((window: Float32Array) => Detected | undefined) => {
  const coefficients = [...rows, ...columns].map((hertz) => 2 * Math.cos((2 * Math.PI * hertz) / sampleRate))
  const powers = new Float64Array(8)

  /** The strongest of four tones, if it is clearly louder than the other three. */
  const strongest = (from: number): number | undefined => {
    let best = from
    for (let at = from + 1; at < from + 4; at++) {
      if ((powers[at] ?? 0) > (powers[best] ?? 0)) best = at
    }
    for (let at = from; at < from + 4; at++) {
      if (at !== best && (powers[at] ?? 0) * minLead > (powers[best] ?? 0)) return undefined
    }
    return best
  }

  return (window) => {
    let energy = 0
    for (let i = 0; i < size; i++) energy += (window[i] ?? 0) ** 2
    if (energy < minPower * size) return undefined
    for (let at = 0; at < 8; at++) {
      const coefficient = coefficients[at] ?? 0
      let before = 0
      let last = 0
      for (let i = 0; i < size; i++) {
        const next = (window[i] ?? 0) + coefficient * last - before
        before = last
        last = next
      }
      // Scaled so that the power of a single tone is its energy in the window.
      powers[at] = (2 * (last * last + before * before - coefficient * last * before)) / size
    }
    const row = strongest(0)
    const column = strongest(4)
    if (row === undefined || column === undefined) return undefined
    const low = powers[row] ?? 0
    const high = powers[column] ?? 0
    if (low + high < minShare * energy) return undefined
    if (Math.abs(10 * Math.log10(high / low)) > maxTwist) return undefined
    return { key: row * 4 + (column - 4), power: low + high }
  }
}

const milliseconds = (seconds: number): number => Math.round(seconds * 1000) / 1000

const collect = (heard: Int8Array, power: Float32Array, hop: number, duration: number): ReadonlyArray<Press> => {
  const found: Array<Press> = []
  const hole = Math.floor(maxHole / hop)
  for (let frame = 0; frame < heard.length;) {
    const key = heard[frame] ?? -1
    if (key === -1) {
      frame++
      continue
    }
    let end = frame
    let loudest = 0
    for (let at = frame; at < heard.length && at - end <= hole + 1; at++) {
      if (heard[at] !== key) {
        if (heard[at] !== -1) break
        continue
      }
      end = at
      loudest = Math.max(loudest, power[at] ?? 0)
    }
    // A window that half overlaps a tone's edge measures a quarter of its power, so the edge is
    // there.
    let first = frame
    let last = end
    while (first < last && (power[first] ?? 0) < loudest / 4) first++
    while (last > first && (power[last] ?? 0) < loudest / 4) last--
    const start = Math.max(0, (first - 0.5) * hop)
    const stop = Math.min(duration, (last + 0.5) * hop)
    if (stop - start >= minPress) {
      found.push({ key: keys.charAt(key), start: milliseconds(start), end: milliseconds(stop) })
    }
    frame = end + 1
  }
  return found
}
