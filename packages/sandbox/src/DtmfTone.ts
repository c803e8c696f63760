/**
 * Keypad (DTMF) tones: the sixteen keys, their two frequencies each, and WAV audio of key presses.
 *
 * @since 0.1.0
 */
import { encode, type EncodeOptions } from "./WavEncoder.ts"

/**
 * The lower frequency of each row of the keypad, in hertz.
 *
 * @category constants
 * @since 0.1.0
 */
export const rows = [697, 770, 852, 941] as const

/**
 * The higher frequency of each column of the keypad, in hertz.
 *
 * @category constants
 * @since 0.1.0
 */
export const columns = [1209, 1336, 1477, 1633] as const

/**
 * The keys, row by row.
 *
 * @category constants
 * @since 0.1.0
 */
export const keys = "123A456B789C*0#D"

/**
 * @category options
 * @since 0.1.0
 */
export interface WavOptions extends EncodeOptions {
  /** How long a key is pressed, in seconds. Default: 0.1. */
  readonly tone?: number
  /** Silence between two keys, in seconds. Default: 0.1. */
  readonly gap?: number
  /** Silence for every character that is not a key, in seconds. Default: 0.6. */
  readonly pause?: number
  /** The peak of both tones together, as a fraction of full scale. Default: 0.5. */
  readonly amplitude?: number
  /** How much louder the column's tone is than the row's, in decibels. Default: 0. */
  readonly twist?: number
  /** White noise over the whole audio: the signal-to-noise ratio in decibels, and the seed. */
  readonly noise?: { readonly signalToNoise: number; readonly seed: number }
}

/**
 * WAV audio of the keys of a text, pressed one after the other. Other characters make a pause.
 *
 * @example
 * ```ts
 * import { wav } from "@model-gateway/sandbox/DtmfTone"
 *
 * const bytes = wav("555 0199", { sampleRate: 16_000 })
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export const wav = (text: string, options?: WavOptions): Uint8Array<ArrayBuffer> =>
  encode(synthesize(text, options?.sampleRate ?? 8000, options), options)

const synthesize = (text: string, rate: number, options: WavOptions | undefined): Float64Array => {
  const tone = Math.round((options?.tone ?? 0.1) * rate)
  const gap = Math.round((options?.gap ?? 0.1) * rate)
  const pause = Math.round((options?.pause ?? 0.6) * rate)
  const amplitude = options?.amplitude ?? 0.5
  const ratio = 10 ** ((options?.twist ?? 0) / 20)
  const low = amplitude / (1 + ratio)
  const high = amplitude - low

  const pressed = Array.from(text.toUpperCase(), (character) => keys.indexOf(character))
  const samples = new Float64Array(gap + pressed.reduce((length, key) => length + (key === -1 ? pause : tone + gap), 0))
  let at = gap
  for (const key of pressed) {
    if (key === -1) {
      at += pause
      continue
    }
    const row = (2 * Math.PI * (rows[key >> 2] ?? 0)) / rate
    const column = (2 * Math.PI * (columns[key & 3] ?? 0)) / rate
    for (let i = 0; i < tone; i++) samples[at + i] = low * Math.sin(row * i) + high * Math.sin(column * i)
    at += tone + gap
  }

  if (options?.noise !== undefined) {
    const power = (low ** 2 + high ** 2) / 2
    const spread = Math.sqrt(power / 10 ** (options.noise.signalToNoise / 10))
    const random = normal(options.noise.seed)
    for (let i = 0; i < samples.length; i++) samples[i] = (samples[i] ?? 0) + spread * random()
  }
  return samples
}

/**
 * Normally distributed numbers (Box-Muller over mulberry32), the same for the same seed on every
 * machine.
 */
const normal = (seed: number): (() => number) => {
  let state = seed | 0
  const uniform = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return (((mixed ^ (mixed >>> 14)) >>> 0) + 0.5) / 4_294_967_296
  }
  return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform())
}
