/**
 * How long a decoder can read in an MP4 file: all samples of its tables and fragments, whatever
 * their times say. Of several audio tracks a decoder reads one, so the longest counts.
 */
import { Ambiguous, type AudioBytes, textAt, viewOf } from "./audioBytes.ts"
import { aacRates, maxAacBytes } from "./audioFrames.ts"

/** The codec of a track: the seconds of a sample, and its most bytes. */
interface Codec {
  /** Undefined: only its packet says it. */
  readonly seconds: number | undefined
  readonly maxBytes: number
}

interface Track {
  /** Undefined for a codec that no decoder of an upstream reads. */
  readonly codec: Codec | undefined
  readonly sampleBytes: number
  samples: number
}

/** What an MP4 file contains. */
export interface Read {
  /** The longest audio in seconds that a decoder can read. */
  readonly seconds: number
  /** Whether a track is Opus, whose packets say how long they are. */
  readonly isOpus: boolean
}

interface Box {
  readonly type: string
  readonly start: number
  readonly end: number
}

/** Real files have a few dozen; a long recording in fragments has thousands. */
const maxBoxes = 1_000_000

/** The largest box that is read whole: the table of 16 million samples. */
const maxTable = 64 * 1024 * 1024

/** The boxes between two positions. One that is cut off ends with what contains it. */
function* boxesOf({ read }: AudioBytes, start: number, end: number): Generator<Box> {
  for (let at = start, count = 0; at + 8 <= end; count += 1) {
    if (count > maxBoxes) throw new Ambiguous("the m4a file has too many boxes")
    const head = read(at, 16)
    if (head.length < 8) return
    const view = viewOf(head)
    const stated = view.getUint32(0)
    const isLarge = stated === 1 && head.length === 16
    const length = isLarge ? Number(view.getBigUint64(8)) : stated === 0 ? end - at : stated
    const header = isLarge ? 16 : 8
    if (length < header) return
    yield { type: textAt(head, 4, 4), start: at + header, end: Math.min(at + length, end) }
    at += length
  }
}

const all = (bytes: AudioBytes, parent: Box | undefined, type: string): ReadonlyArray<Box> =>
  parent === undefined ? [] : [...boxesOf(bytes, parent.start, parent.end)].filter((box) => box.type === type)

const one = (bytes: AudioBytes, parent: Box | undefined, type: string): Box | undefined => {
  const found = all(bytes, parent, type)
  if (found.length > 1) throw new Ambiguous(`the m4a file has ${found.length} \`${type}\` boxes; only one is supported`)
  return found[0]
}

/** The contents of a box, valid until the next ones are read. */
const contents = ({ read }: AudioBytes, { end, start }: Box): Uint8Array => {
  if (end - start > maxTable) throw new Ambiguous("the m4a file has a table that is too large")
  return read(start, end - start)
}

// Codecs

/** Formats that only their vendor decodes: the spatial sound of recordings by Apple. */
const undecoded = ["apac"]

/** Object types of an `esds` box that are AAC. */
const aacTypes = [0x40, 0x66, 0x67, 0x68]

/** The value of a descriptor, and where it ends. */
const descriptorAt = (bytes: Uint8Array, at: number): { readonly tag: number; readonly start: number } => {
  let start = at + 1
  while (((bytes[start] ?? 0) & 0x80) !== 0 && start < at + 4) start += 1
  return { tag: bytes[at] ?? 0, start: start + 1 }
}

/** AAC by its configuration, of which a decoder takes rate and channels. */
const aac = (config: Uint8Array): Codec | undefined => {
  let at = 0
  const bits = (count: number): number => {
    let value = 0
    for (let index = 0; index < count; index += 1, at += 1) {
      value = value * 2 + (((config[at >> 3] ?? 0) >> (7 - (at & 7))) & 1)
    }
    return value
  }
  const type = bits(5)
  const objectType = type === 31 ? 32 + bits(6) : type
  const index = bits(4)
  const rate = index === 15 ? bits(24) : aacRates[index]
  const channels = bits(4) || 8
  if (config.length < 2 || rate === undefined || rate === 0) return undefined
  // Extended HE-AAC has the longest frames.
  const samples = objectType === 42 ? 4096 : 1024
  return { seconds: samples / rate, maxBytes: (maxAacBytes + 2) * Math.min(8, channels) + 16 }
}

const aacOf = (entry: Uint8Array, esds: number): Codec | undefined => {
  // The descriptor of the stream, with 3 bytes or more, then that of its decoder.
  const stream = descriptorAt(entry, esds + 8)
  const flags = entry[stream.start + 2] ?? 0
  if (stream.tag !== 3 || (flags & 0xe0) !== 0) return undefined
  const decoder = descriptorAt(entry, stream.start + 3)
  if (decoder.tag !== 4 || !aacTypes.includes(entry[decoder.start] ?? 0)) return undefined
  const config = descriptorAt(entry, decoder.start + 13)
  return config.tag === 5 ? aac(entry.subarray(config.start)) : undefined
}

const alacOf = (entry: Uint8Array): Codec | undefined => {
  const at = indexOf(entry, "alac", 28)
  if (at < 0 || at + 32 > entry.length) return undefined
  const view = viewOf(entry)
  const rates = [view.getUint32(at + 28), view.getUint16(24)].filter((rate) => rate > 0)
  return rates.length === 0 ? undefined : { seconds: view.getUint32(at + 8) / Math.min(...rates), maxBytes: Infinity }
}

const indexOf = ({ buffer, byteLength, byteOffset }: Uint8Array, text: string, from: number): number =>
  Buffer.from(buffer, byteOffset, byteLength).indexOf(text, from, "latin1")

const unsupported = (type: string): Ambiguous =>
  new Ambiguous(`the m4a file has audio of the format "${type.replace(/[^ -~]/g, "?")}"; send AAC, ALAC or Opus`)

const codecOf = (bytes: AudioBytes, stsd: Box): Codec | undefined => {
  const entries = [...boxesOf(bytes, stsd.start + 8, stsd.end)]
  const [entry] = entries
  if (entry === undefined || entries.length > 1) {
    throw new Ambiguous(`the m4a file has a track of ${entries.length} formats; only one is supported`)
  }
  if (undecoded.includes(entry.type)) return undefined
  if (entry.type === "Opus") return { seconds: undefined, maxBytes: Infinity }
  const fields = contents(bytes, entry)
  const esds = indexOf(fields, "esds", 0)
  const isTwice = esds >= 0 && indexOf(fields, "esds", esds + 1) >= 0
  const codec =
    entry.type === "alac"
      ? alacOf(fields)
      : entry.type === "mp4a" && esds >= 0 && !isTwice
        ? aacOf(fields, esds)
        : undefined
  if (codec === undefined) throw unsupported(entry.type)
  return codec
}

// Samples

const addSamples = (track: Track, count: number, largest: number): void => {
  track.samples += count
  const { codec } = track
  if (codec !== undefined && largest > codec.maxBytes) {
    throw new Ambiguous(`the m4a file has a frame of ${largest} bytes; one of its format has at most ${codec.maxBytes}`)
  }
}

/** The samples of a table (`stsz`), or of one with small numbers (`stz2`). */
const addTable = (bytes: AudioBytes, track: Track, box: Box): void => {
  const table = contents(bytes, box)
  if (table.length < 12) return
  const view = viewOf(table)
  const count = view.getUint32(8)
  const same = box.type === "stsz" ? view.getUint32(4) : 0
  let largest = count === 0 ? 0 : same
  if (same === 0 && box.type === "stsz") {
    for (let at = 12; at + 4 <= table.length; at += 4) largest = Math.max(largest, view.getUint32(at))
  }
  addSamples(track, count, largest)
}

const uint32 = (bytes: AudioBytes, at: number): number => {
  const field = bytes.read(at, 4)
  return field.length < 4 ? 0 : viewOf(field).getUint32(0)
}

/** The samples of a fragment, whose sizes its runs say, or it, or the movie. */
const addFragment = (bytes: AudioBytes, tracks: ReadonlyMap<number, Track>, traf: Box): void => {
  const header = one(bytes, traf, "tfhd")
  if (header === undefined) return
  const flags = uint32(bytes, header.start)
  const track = tracks.get(uint32(bytes, header.start + 4))
  if (track === undefined) return
  const before = ((flags & 1) === 0 ? 0 : 8) + ((flags & 2) === 0 ? 0 : 4) + ((flags & 8) === 0 ? 0 : 4)
  const usual = (flags & 0x10) === 0 ? track.sampleBytes : uint32(bytes, header.start + 8 + before)
  for (const run of all(bytes, traf, "trun")) {
    const fields = contents(bytes, run)
    if (fields.length < 8) continue
    const view = viewOf(fields)
    const says = view.getUint32(0)
    const count = view.getUint32(4)
    const has = (flag: number): number => ((says & flag) === 0 ? 0 : 4)
    const step = has(0x100) + has(0x200) + has(0x400) + has(0x800)
    const first = 8 + has(1) + has(4) + has(0x100)
    let largest = usual
    if (has(0x200) > 0) {
      largest = 0
      for (let index = 0, at = first; index < count && at + 4 <= fields.length; index += 1, at += step) {
        largest = Math.max(largest, view.getUint32(at))
      }
    }
    addSamples(track, count, largest)
  }
}

/** An edit list may play parts again. Real ones have one part, behind a pause at most. */
const checkEdits = (bytes: AudioBytes, box: Box): void => {
  const table = contents(bytes, box)
  if (table.length < 8) return
  const view = viewOf(table)
  const isLarge = table[0] === 1
  const step = isLarge ? 20 : 12
  let parts = 0
  for (let at = 8, index = 0; index < view.getUint32(4) && at + step <= table.length; index += 1, at += step) {
    const start = isLarge ? Number(view.getBigInt64(at + 8)) : view.getInt32(at + 4)
    if (start >= 0) parts += 1
  }
  if (parts > 1) throw new Ambiguous(`the m4a file plays ${parts} parts (\`elst\`); only one is supported`)
}

const trackOf = (
  bytes: AudioBytes,
  trak: Box,
  sampleBytes: ReadonlyMap<number, number>
): readonly [number, Track] | undefined => {
  const media = one(bytes, trak, "mdia")
  const handler = one(bytes, media, "hdlr")
  const header = one(bytes, trak, "tkhd")
  if (handler === undefined || header === undefined) return undefined
  if (textAt(bytes.read(handler.start + 8, 4), 0, 4) !== "soun") return undefined
  const id = uint32(bytes, header.start + (bytes.read(header.start, 1)[0] === 1 ? 20 : 12))
  const tables = one(bytes, one(bytes, media, "minf"), "stbl")
  const stsd = one(bytes, tables, "stsd")
  if (tables === undefined || stsd === undefined) return undefined
  const track: Track = { codec: codecOf(bytes, stsd), sampleBytes: sampleBytes.get(id) ?? 0, samples: 0 }
  for (const type of ["stsz", "stz2"]) {
    for (const table of all(bytes, tables, type)) addTable(bytes, track, table)
  }
  for (const edits of all(bytes, trak, "edts")) {
    for (const list of all(bytes, edits, "elst")) checkEdits(bytes, list)
  }
  return [id, track]
}

/** The longest audio that a decoder can read. Throws {@link Ambiguous}. */
export const read = (bytes: AudioBytes): Read => {
  const file: Box = { type: "", start: 0, end: bytes.size }
  const movie = one(bytes, file, "moov")
  const tracks = new Map<number, Track>()
  const sampleBytes = new Map(
    all(bytes, one(bytes, movie, "mvex"), "trex").map(({ start }) => [
      uint32(bytes, start + 4),
      uint32(bytes, start + 16)
    ])
  )
  for (const trak of all(bytes, movie, "trak")) {
    const found = trackOf(bytes, trak, sampleBytes)
    if (found === undefined) continue
    if (tracks.has(found[0])) throw new Ambiguous("the m4a file has two tracks of the same number")
    tracks.set(...found)
  }
  for (const fragment of boxesOf(bytes, 0, bytes.size)) {
    if (fragment.type !== "moof") continue
    for (const traf of all(bytes, fragment, "traf")) addFragment(bytes, tracks, traf)
  }
  const read = [...tracks.values()]
  return {
    seconds: Math.max(0, ...read.map(({ codec, samples }) => samples * (codec?.seconds ?? 0))),
    isOpus: read.some(({ codec }) => codec !== undefined && codec.seconds === undefined)
  }
}
