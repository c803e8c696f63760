/**
 * Writes WAV audio, which every transcription model accepts.
 *
 * @since 0.1.0
 */

/**
 * @category options
 * @since 0.1.0
 */
export interface EncodeOptions {
  /** Samples per second, 8000 to 48,000. Default: 8000. */
  readonly sampleRate?: number
  /** Default: 16. */
  readonly bitsPerSample?: 8 | 16
  /** Two channels have the same samples. Default: 1. */
  readonly channels?: 1 | 2
}

/**
 * A WAV file (PCM) of samples from -1 to 1. Those beyond are cut off.
 *
 * @category running
 * @since 0.1.0
 */
export const encode = (samples: ArrayLike<number>, options?: EncodeOptions): Uint8Array<ArrayBuffer> => {
  const rate = options?.sampleRate ?? 8000
  const bits = options?.bitsPerSample ?? 16
  const channels = options?.channels ?? 1
  const frame = (channels * bits) / 8
  const size = samples.length * frame
  const bytes = new Uint8Array(44 + size + (size % 2))
  const view = new DataView(bytes.buffer)
  const tag = (at: number, name: string) => bytes.set(new TextEncoder().encode(name), at)
  tag(0, "RIFF")
  view.setUint32(4, bytes.length - 8, true)
  tag(8, "WAVEfmt ")
  view.setUint32(16, 16, true)
  view.setUint16(20, 1, true)
  view.setUint16(22, channels, true)
  view.setUint32(24, rate, true)
  view.setUint32(28, rate * frame, true)
  view.setUint16(32, frame, true)
  view.setUint16(34, bits, true)
  tag(36, "data")
  view.setUint32(40, size, true)
  let at = 44
  for (let i = 0; i < samples.length; i++) {
    const clipped = Math.max(-1, Math.min(1, samples[i] ?? 0))
    for (let channel = 0; channel < channels; channel++) {
      if (bits === 8) view.setUint8(at, Math.round(128 + clipped * 127))
      else view.setInt16(at, Math.round(clipped * 32_767), true)
      at += bits / 8
    }
  }
  return bytes
}
