/**
 * Reads the WAV audio that `sandbox/tones` supports: PCM of 8 or 16 bits, one or two channels, 8 to
 * 48 kHz.
 *
 * @since 0.1.0
 */
import { Effect, Schema } from "effect"

/**
 * The bytes are not WAV audio, or of an unsupported kind. The message says which.
 *
 * @category errors
 * @since 0.1.0
 */
export class WavError extends Schema.TaggedError<WavError>("@model-gateway/sandbox/WavError")("WavError", {
  message: Schema.String
}) {}

/**
 * WAV audio. Samples are read from the original bytes.
 *
 * @category models
 * @since 0.1.0
 */
export interface Wav {
  /** Samples per second. */
  readonly sampleRate: number
  readonly channels: 1 | 2
  readonly bitsPerSample: 8 | 16
  /** Samples per channel. */
  readonly length: number
  /** In seconds. */
  readonly duration: number
  /**
   * Fills `target` with the samples from `start`, from -1 to 1, with two channels mixed to one.
   * Outside the audio, samples are silent.
   */
  readonly read: (start: number, target: Float32Array) => void
}

/**
 * Reads the header. If the file is cut short, the samples are those that it has. A data size that
 * was never filled in (streaming recorders write 0 or 0xFFFFFFFF) means the rest of the file.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { wav } from "@model-gateway/sandbox/DtmfTone"
 * import { parse } from "@model-gateway/sandbox/Wav"
 *
 * const duration = Effect.map(parse(wav("0")), (audio) => audio.duration) // 0.3
 * ```
 *
 * @category decoding
 * @since 0.1.0
 */
export const parse = (bytes: Uint8Array): Effect.Effect<Wav, WavError> =>
  Effect.suspend(() => {
    const parsed = parseSync(bytes)
    return typeof parsed === "string" ? Effect.fail(new WavError({ message: parsed })) : Effect.succeed(parsed)
  })

/** The audio, or what is wrong with it. */
const parseSync = (bytes: Uint8Array): Wav | string => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const tag = (at: number) => String.fromCharCode(...bytes.subarray(at, at + 4))
  if (bytes.length < 12 || tag(0) !== "RIFF" || tag(8) !== "WAVE") return "the audio is not a WAV file"

  let format: Format | undefined
  for (let at = 12; at + 8 <= bytes.length;) {
    const name = tag(at)
    const size = view.getUint32(at + 4, true)
    const start = at + 8
    if (name === "fmt ") {
      if (size < 16 || start + size > bytes.length) return "the WAV file is cut short in its header"
      const read = readFormat(view, start, size)
      if (typeof read === "string") return read
      format = read
    } else if (name === "data") {
      if (format === undefined) return "the WAV file has no format before its data"
      const rest = bytes.length - start
      return makeWav(view, format, start, size === 0 ? rest : Math.min(size, rest))
    }
    at = start + size + (size % 2)
  }
  return "the WAV file has no audio data"
}

interface Format {
  readonly sampleRate: number
  readonly channels: 1 | 2
  readonly bitsPerSample: 8 | 16
}

const pcm = 1
const extensible = 0xfffe

const readFormat = (view: DataView, start: number, size: number): Format | string => {
  const declared = view.getUint16(start, true)
  // The extensible format has the plain format's code in the first two bytes of its sub-format.
  const code = declared === extensible && size >= 40 ? view.getUint16(start + 24, true) : declared
  if (code !== pcm) return "the WAV file is not PCM"
  const channels = view.getUint16(start + 2, true)
  if (channels !== 1 && channels !== 2) return `the WAV file has ${channels} channels; 1 or 2 are supported`
  const sampleRate = view.getUint32(start + 4, true)
  if (sampleRate < 8000 || sampleRate > 48_000) {
    return `the WAV file has ${sampleRate} samples per second; 8000 to 48000 are supported`
  }
  const bitsPerSample = view.getUint16(start + 14, true)
  if (bitsPerSample !== 8 && bitsPerSample !== 16) {
    return `the WAV file has ${bitsPerSample} bits per sample; 8 or 16 are supported`
  }
  return { sampleRate, channels, bitsPerSample }
}

const makeWav = (view: DataView, format: Format, start: number, size: number): Wav => {
  const { channels, bitsPerSample, sampleRate } = format
  const frame = (channels * bitsPerSample) / 8
  const length = Math.floor(size / frame)
  const sample =
    bitsPerSample === 8
      ? (at: number) => (view.getUint8(at) - 128) / 128
      : (at: number) => view.getInt16(at, true) / 32_768
  const second = bitsPerSample / 8
  return {
    ...format,
    length,
    duration: length / sampleRate,
    read(from, target) {
      for (let i = 0; i < target.length; i++) {
        const index = from + i
        if (index < 0 || index >= length) {
          target[i] = 0
        } else {
          const at = start + index * frame
          target[i] = channels === 1 ? sample(at) : (sample(at) + sample(at + second)) / 2
        }
      }
    }
  }
}
