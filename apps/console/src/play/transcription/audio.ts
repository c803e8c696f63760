/** Decodes audio in the browser, for the waveform and for models that take only WAV. */

/** Samples per second: enough for speech. */
export const rate = 16_000

/** Decoded audio. Rejects if the browser does not know its format. */
export const decode = async (blob: Blob): Promise<AudioBuffer> =>
  new OfflineAudioContext(1, 1, rate).decodeAudioData(await blob.arrayBuffer())

/** The loudest sample of each of `count` equal parts, from 0 to 1. */
export const peaks = (samples: Float32Array, count: number): ReadonlyArray<number> => {
  const size = samples.length / count
  return Array.from({ length: count }, (_, part) => {
    let peak = 0
    for (let at = Math.floor(part * size); at < Math.min(samples.length, (part + 1) * size); at++) {
      peak = Math.max(peak, Math.abs(samples[at] ?? 0))
    }
    return peak
  })
}
