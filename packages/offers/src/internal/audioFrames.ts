/**
 * The frames of MPEG audio (MP3) and ADTS (AAC).
 *
 * Such a file is a row of frames, each with a header that says its length. The bytes of a frame, of
 * a tag or of a picture contain headers by chance, or by intent. Decoders differ in where they
 * start,
 * in which headers they believe, and in where they go on after something else. So this goes through
 * the file in each of these ways, and takes the longest audio.
 */
import { Ambiguous, type AudioBytes, pieces } from "./audioBytes.ts"

const mpeg1 = [
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448]
] as const

const mpeg2 = [
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256]
] as const

const mpegRates = [44_100, 48_000, 32_000] as const

/** The sample rates of AAC, by their index. */
export const aacRates = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350
] as const

/**
 * The maximum number of bytes of an AAC frame for each channel: 6144 bits. A longer one hides
 * further frames.
 */
export const maxAacBytes = 768

/** The bytes that a header needs. */
const headerBytes = 7

/** The first kind of ADTS. Those before are the versions, layers and rates of MPEG audio. */
const firstAdts = 27

/**
 * The header that {@link parse} read last: mutable, because it is read for millions of positions.
 */
const header = { kind: 0, length: 0, seconds: 0 }

/** Reads the header at `at`. Returns false if there is none. */
const parse = (bytes: Uint8Array, at: number): boolean => {
  const second = bytes[at + 1] ?? 0
  const third = bytes[at + 2] ?? 0
  if (bytes[at] !== 0xff || (second & 0xe0) !== 0xe0 || at + 4 > bytes.length) return false
  return (second & 0x06) === 0 ? parseAdts(bytes, at, second, third) : parseMpeg(second, third)
}

const parseMpeg = (second: number, third: number): boolean => {
  const version = (second >> 3) & 3
  const layer = 3 - ((second >> 1) & 3)
  const bits = third >> 4
  const rateIndex = (third >> 2) & 3
  const rate = mpegRates[rateIndex]
  if (version === 1 || bits === 0 || rate === undefined) return false
  const isFirst = version === 3
  const bitRate = (isFirst ? mpeg1 : mpeg2)[layer === 0 ? 2 : layer === 1 ? 1 : 0]?.[bits]
  if (bitRate === undefined) return false
  const sampleRate = rate >> (isFirst ? 0 : version === 2 ? 1 : 2)
  const padding = (third >> 1) & 1
  const samples = layer === 0 ? 384 : layer === 1 || isFirst ? 1152 : 576
  header.length =
    layer === 0
      ? (Math.floor((12_000 * bitRate) / sampleRate) + padding) * 4
      : Math.floor((samples * 125 * bitRate) / sampleRate) + padding
  header.seconds = samples / sampleRate
  header.kind = ((version === 0 ? 0 : version - 1) * 3 + layer) * 3 + rateIndex
  return true
}

const parseAdts = (bytes: Uint8Array, at: number, second: number, third: number): boolean => {
  const rateIndex = (third >> 2) & 15
  const rate = aacRates[rateIndex]
  if ((second & 0xf6) !== 0xf0 || rate === undefined || at + headerBytes > bytes.length) return false
  const fourth = bytes[at + 3] ?? 0
  const blocks = ((bytes[at + 6] ?? 0) & 3) + 1
  const channels = ((third & 1) << 2) | (fourth >> 6) || 8
  const length = ((fourth & 3) << 11) | ((bytes[at + 4] ?? 0) << 3) | ((bytes[at + 5] ?? 0) >> 5)
  if (length < 9 || length > 9 + (maxAacBytes + 2) * blocks * channels) return false
  header.length = length
  header.seconds = (blocks * 1024) / rate
  header.kind = firstAdts + rateIndex
  return true
}

/** Headers in the order of their positions. */
interface Headers {
  readonly positions: ReadonlyArray<number>
  readonly lengths: ReadonlyArray<number>
  readonly seconds: ReadonlyArray<number>
  readonly kinds: ReadonlyArray<number>
}

/**
 * The maximum number of headers: one for each 16 bytes, which is more than any audio has, and 8
 * million.
 */
const maxHeaders = (bytes: number): number => Math.min(8_000_000, 1000 + bytes / 16)

const headersOf = (bytes: AudioBytes, from: number, to: number): Headers => {
  const found = {
    positions: new Array<number>(),
    lengths: new Array<number>(),
    seconds: new Array<number>(),
    kinds: new Array<number>()
  }
  const limit = maxHeaders(to - from)
  pieces(bytes, from, to, headerBytes, (piece, start, length) => {
    for (let at = piece.indexOf(0xff); at >= 0 && at < length; at = piece.indexOf(0xff, at + 1)) {
      if (!parse(piece, at)) continue
      if (found.positions.length >= limit) throw new Ambiguous("the audio has too many frames")
      found.positions.push(start + at)
      found.lengths.push(header.length)
      found.seconds.push(header.seconds)
      found.kinds.push(header.kind)
    }
  })
  return found
}

/** The first header at or behind a position, of those behind `index`. */
const firstFrom = (positions: ReadonlyArray<number>, index: number, position: number): number => {
  let low = index + 1
  let high = positions.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((positions[middle] ?? 0) < position) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * The longest audio that a decoder reads which knows these headers only: it goes from a frame to
 * the first header behind it.
 */
const maxSecondsOf = ({ lengths, positions, seconds }: Headers): number => {
  const after = new Float64Array(positions.length + 1)
  let longest = 0
  for (let index = positions.length - 1; index >= 0; index -= 1) {
    const next = firstFrom(positions, index, (positions[index] ?? 0) + (lengths[index] ?? 0))
    const value = (seconds[index] ?? 0) + (after[next] ?? 0)
    after[index] = value
    if (value > longest) longest = value
  }
  return longest
}

const only = (headers: Headers, keep: (index: number) => boolean): Headers => {
  const indices: Array<number> = []
  for (let index = 0; index < headers.positions.length; index += 1) if (keep(index)) indices.push(index)
  const pick = (values: ReadonlyArray<number>) => indices.map((index) => values[index] ?? 0)
  return {
    positions: pick(headers.positions),
    lengths: pick(headers.lengths),
    seconds: pick(headers.seconds),
    kinds: pick(headers.kinds)
  }
}

/** Headers that another one of their kind follows, or that follow one: a decoder believes these. */
const confirmed = (headers: Headers): Headers => {
  const { kinds, lengths, positions } = headers
  const isConfirmed = new Uint8Array(positions.length)
  for (let index = 0; index < positions.length; index += 1) {
    const end = (positions[index] ?? 0) + (lengths[index] ?? 0)
    const next = firstFrom(positions, index, end)
    if (positions[next] !== end || kinds[next] !== kinds[index]) continue
    isConfirmed[index] = 1
    isConfirmed[next] = 1
  }
  return only(headers, (index) => isConfirmed[index] === 1)
}

/** The longest audio in seconds that a decoder can read in the frames between two positions. */
export const seconds = (bytes: AudioBytes, from: number, to: number = bytes.size): number => {
  const headers = headersOf(bytes, from, to)
  const { kinds } = headers
  const isAdts = (index: number) => (kinds[index] ?? 0) >= firstAdts
  let longest = Math.max(maxSecondsOf(headers), maxSecondsOf(confirmed(headers)))
  /** Most headers by chance are too few to be longer than the file's own frames. */
  const consider = (keep: (index: number) => boolean): void => {
    const total = headers.seconds.reduce((sum, value, index) => (keep(index) ? sum + value : sum), 0)
    if (total > longest) longest = Math.max(longest, maxSecondsOf(only(headers, keep)))
  }
  consider(isAdts)
  consider((index) => !isAdts(index))
  for (const kind of new Set(kinds)) consider((index) => kinds[index] === kind)
  return longest
}

/** The longest audio in seconds of frames that follow each other, between two positions. */
export const secondsInARow = (bytes: AudioBytes, from: number, to: number): number =>
  maxSecondsOf(confirmed(headersOf(bytes, from, to)))

/** Where the audio starts: decoders skip tags (ID3v2) by their size. */
export const afterTags = ({ read, size }: AudioBytes): number => {
  let at = 0
  for (;;) {
    const tag = read(at, 10)
    const [i, d, three, , , flags = 0, ...digits] = tag
    if (tag.length < 10 || i !== 0x49 || d !== 0x44 || three !== 0x33 || digits.some((digit) => digit > 127)) return at
    const length = 10 + digits.reduce((sum, digit) => sum * 128 + digit, 0) + ((flags & 0x10) === 0 ? 0 : 10)
    if (at + length >= size) return at
    at += length
  }
}
