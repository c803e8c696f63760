/**
 * The duration of a FLAC file, from its last complete frame header (RFC 9639).
 *
 * The file header also has a duration, but it is wrong for a truncated file, and streaming
 * recorders never fill it in. Every frame has its own number, so one frame near the end is enough.
 */

/** Reads up to `length` bytes from offset `start`; fewer at the end of the audio. */
export type Read = (start: number, length: number) => Promise<Uint8Array>

/** The file is searched backward in windows of this size. */
const windowSize = 65_536
/** The longest frame header. */
const longestHeader = 16

/** The duration in seconds, or 0 if there is no frame. */
export const flacDuration = async (read: Read, size: number): Promise<number> => {
  const stream = await readStreamInfo(read)
  if (stream === undefined) return 0
  const first = parseFrame(await read(stream.firstFrame, longestHeader), 0)
  if (first === undefined) return 0

  for (let end = size; end > stream.firstFrame; end -= windowSize) {
    const start = Math.max(stream.firstFrame, end - windowSize)
    const bytes = await read(start, end - start + longestHeader)
    for (let at = Math.min(bytes.length, end - start) - 1; at >= 0; at--) {
      if (bytes[at] !== 0xff) continue
      const frame = parseFrame(bytes, at)
      // About one position in a hundred million looks like a header by chance, and it must also
      // match the first frame.
      if (frame === undefined || frame.kind !== first.kind) continue
      const before = frame.variable ? frame.number : frame.number * first.blockSize
      return (before + frame.blockSize) / stream.sampleRate
    }
  }
  return 0
}

interface StreamInfo {
  readonly sampleRate: number
  readonly firstFrame: number
}

const readStreamInfo = async (read: Read): Promise<StreamInfo | undefined> => {
  let at = 0
  const tag = await read(0, 10)
  if (ascii(tag, 0, 3) === "ID3") {
    at = 10 + ((byte(tag, 6) << 21) | (byte(tag, 7) << 14) | (byte(tag, 8) << 7) | byte(tag, 9))
  }
  if (ascii(await read(at, 4), 0, 4) !== "fLaC") return undefined
  at += 4
  let sampleRate = 0
  for (;;) {
    const block = await read(at, 4 + 18)
    if (block.length < 4) return undefined
    const type = byte(block, 0)
    if ((type & 0x7f) === 0) {
      sampleRate = (byte(block, 14) << 12) | (byte(block, 15) << 4) | (byte(block, 16) >> 4)
    }
    at += 4 + ((byte(block, 1) << 16) | (byte(block, 2) << 8) | byte(block, 3))
    if ((type & 0x80) !== 0) return sampleRate > 0 ? { sampleRate, firstFrame: at } : undefined
  }
}

interface Frame {
  /** Whether `number` counts samples instead of frames. */
  readonly variable: boolean
  readonly number: number
  readonly blockSize: number
  /**
   * The properties that all frames of a file share: block strategy, sample rate, bits per sample.
   */
  readonly kind: number
}

const parseFrame = (bytes: Uint8Array, start: number): Frame | undefined => {
  const strategy = byte(bytes, start + 1)
  if (byte(bytes, start) !== 0xff || (strategy & 0xfe) !== 0xf8) return undefined
  const sizeCode = byte(bytes, start + 2) >> 4
  const rateCode = byte(bytes, start + 2) & 0x0f
  const depth = byte(bytes, start + 3) & 0x0f
  if (sizeCode === 0 || rateCode === 15 || byte(bytes, start + 3) >> 4 > 10 || (depth & 1) === 1) return undefined

  let at = start + 4
  const lead = byte(bytes, at++)
  const following = Math.max(0, Math.clz32(~(lead << 24)) - 1)
  if (lead === 0xff || (lead & 0xc0) === 0x80) return undefined
  let number = following === 0 ? lead : lead & (0x3f >> following)
  for (let more = 0; more < following; more++) {
    const next = byte(bytes, at++)
    if ((next & 0xc0) !== 0x80) return undefined
    number = number * 64 + (next & 0x3f)
  }

  let blockSize = 192
  if (sizeCode === 6) blockSize = byte(bytes, at++) + 1
  else if (sizeCode === 7) blockSize = ((byte(bytes, at++) << 8) | byte(bytes, at++)) + 1
  else if (sizeCode >= 8) blockSize = 256 << (sizeCode - 8)
  else if (sizeCode > 1) blockSize = 576 << (sizeCode - 2)
  if (rateCode === 12) at += 1
  else if (rateCode > 12) at += 2

  if (at >= bytes.length || crc8(bytes, start, at) !== byte(bytes, at)) return undefined
  return { variable: (strategy & 1) === 1, number, blockSize, kind: (strategy << 8) | (rateCode << 4) | depth }
}

const crc8 = (bytes: Uint8Array, start: number, end: number): number => {
  let crc = 0
  for (let at = start; at < end; at++) {
    crc ^= byte(bytes, at)
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x80 ? ((crc << 1) ^ 0x07) & 0xff : crc << 1
  }
  return crc
}

const byte = (bytes: Uint8Array, at: number): number => bytes[at] ?? 0

const ascii = (bytes: Uint8Array, start: number, end: number): string =>
  String.fromCharCode(...bytes.subarray(start, end))
