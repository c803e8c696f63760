/** The length of WAV audio, from its header. Other formats do not state theirs in one place. */

const ascii = (bytes: DataView, at: number): string =>
  String.fromCharCode(bytes.getUint8(at), bytes.getUint8(at + 1), bytes.getUint8(at + 2), bytes.getUint8(at + 3))

/** Bytes at the start of a file in which the header of the samples usually is. */
export const headerBytes = 3072

/**
 * Seconds, from the start of a file and the size of all of it. Undefined if it is not WAV, if the
 * header is longer than the start, or if it contradicts itself: an agent could otherwise state a
 * length that makes the estimate too low.
 */
export const wavDuration = (start: Uint8Array, size: number): number | undefined => {
  const bytes = new DataView(start.buffer, start.byteOffset, start.byteLength)
  if (bytes.byteLength < 12 || ascii(bytes, 0) !== "RIFF" || ascii(bytes, 8) !== "WAVE") return undefined
  let bytesPerSecond = 0
  for (let at = 12; at + 8 <= bytes.byteLength;) {
    const length = bytes.getUint32(at + 4, true)
    const name = ascii(bytes, at)
    if (name === "fmt " && at + 22 <= bytes.byteLength) {
      bytesPerSecond = bytes.getUint32(at + 16, true)
      const [samplesPerSecond, blockAlign] = [bytes.getUint32(at + 12, true), bytes.getUint16(at + 20, true)]
      if (bytesPerSecond !== samplesPerSecond * blockAlign) return undefined
    }
    if (name === "data") {
      // A recorder that streams does not know the size, and writes the greatest one, or 0.
      return bytesPerSecond === 0 || length === 0 ? undefined : Math.min(length, size - at - 8) / bytesPerSecond
    }
    at += 8 + length + (length % 2)
  }
  return undefined
}
