/** Encodes WAV audio (16 bit, mono), which every transcription model accepts. */

/** Returns a WAV file. Each sample is from -1 to 1; `rate` is in hertz. */
export const encode = (samples: ArrayLike<number>, rate: number): Uint8Array<ArrayBuffer> => {
  const file = new DataView(new ArrayBuffer(44 + samples.length * 2))
  const text = (at: number, letters: string) =>
    Array.from(letters).forEach((letter, i) => file.setUint8(at + i, letter.charCodeAt(0)))
  text(0, "RIFF")
  file.setUint32(4, file.byteLength - 8, true)
  text(8, "WAVEfmt ")
  file.setUint32(16, 16, true)
  file.setUint16(20, 1, true)
  file.setUint16(22, 1, true)
  file.setUint32(24, rate, true)
  file.setUint32(28, rate * 2, true)
  file.setUint16(32, 2, true)
  file.setUint16(34, 16, true)
  text(36, "data")
  file.setUint32(40, samples.length * 2, true)
  for (let i = 0; i < samples.length; i++) {
    file.setInt16(44 + i * 2, Math.max(-1, Math.min(1, samples[i] ?? 0)) * 32_767, true)
  }
  return new Uint8Array(file.buffer)
}
