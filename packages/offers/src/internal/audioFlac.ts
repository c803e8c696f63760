/**
 * How long a decoder can read in a FLAC file: all of its frames, also those of further files that
 * follow in the same one. Each frame says its length, and its header has a checksum.
 */
import { Ambiguous, type AudioBytes, pieces } from "./audioBytes.ts"

const rates = [0, 88_200, 176_400, 192_000, 8000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000]

/** The longest header of a frame. */
const headerBytes = 16

/** CRC-8 with the polynomial 0x07, of one byte. */
const crc8 = Uint8Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit += 1) value = (value << 1) ^ ((value & 0x80) === 0 ? 0 : 0x07)
  return value & 0xff
})

interface Frame {
  readonly samples: number
  readonly rate: number
}

/** The frame that starts at `at`, or undefined. */
const frameAt = (bytes: Uint8Array, at: number, streamRate: number): Frame | undefined => {
  const byte = (index: number) => bytes[at + index] ?? 0
  if (byte(0) !== 0xff || (byte(1) & 0xfe) !== 0xf8) return undefined
  const block = byte(2) >> 4
  const rateCode = byte(2) & 15
  const size = (byte(3) >> 1) & 7
  if (block === 0 || rateCode === 15 || byte(3) >> 4 > 10 || size === 3 || (byte(3) & 1) === 1) return undefined
  // The number of the frame, in the form of UTF-8.
  const extra = byte(4) < 0x80 ? 0 : Math.clz32(~(byte(4) << 24)) - 1
  if (extra < 0 || extra > 6 || (byte(4) >= 0x80 && extra === 0)) return undefined
  for (let index = 1; index <= extra; index += 1) if ((byte(4 + index) & 0xc0) !== 0x80) return undefined
  let end = 5 + extra
  const number = (count: number) => {
    let value = 0
    for (const stop = end + count; end < stop; end += 1) value = value * 256 + byte(end)
    return value
  }
  const samples =
    block === 6 || block === 7
      ? number(block - 5) + 1
      : block === 1
        ? 192
        : block < 6
          ? 576 * 2 ** (block - 2)
          : 256 * 2 ** (block - 8)
  const rate =
    rateCode === 0
      ? streamRate
      : rateCode === 12
        ? number(1) * 1000
        : rateCode > 12
          ? number(2) * (rateCode === 14 ? 10 : 1)
          : (rates[rateCode] ?? 0)
  if (rate === 0 || at + end >= bytes.length) return undefined
  let crc = 0
  for (let index = 0; index < end; index += 1) crc = crc8[crc ^ byte(index)] ?? 0
  return crc === byte(end) ? { samples, rate } : undefined
}

/** The longest audio in seconds that a decoder can read. Throws {@link Ambiguous}. */
export const seconds = (bytes: AudioBytes, from: number): number => {
  // The marker, the header of the block STREAMINFO, and its 10 bytes up to the sample rate.
  const head = bytes.read(from, 21)
  if (head.length < 21) return 0
  const byte = (index: number) => head[index] ?? 0
  const streamRate = (byte(18) << 12) | (byte(19) << 4) | (byte(20) >> 4)
  let total = 0
  let others = 0
  pieces(bytes, from, bytes.size, headerBytes, (piece, _, length) => {
    for (let at = piece.indexOf(0xff); at >= 0 && at < length; at = piece.indexOf(0xff, at + 1)) {
      const frame = frameAt(piece, at, streamRate)
      if (frame === undefined) continue
      if (frame.rate === streamRate) total += frame.samples / frame.rate
      else others += 1
    }
  })
  // 50 million random bytes contain one.
  if (others > 4 + bytes.size / 4_000_000) {
    throw new Ambiguous(`the flac file has frames of another sample rate than ${streamRate} Hz`)
  }
  return total
}
