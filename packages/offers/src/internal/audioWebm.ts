/**
 * How long a decoder can read in a WebM file: the packets of all of its blocks, whatever the times
 * say that they have. Of several audio tracks a decoder reads one, so the longest counts.
 */
import { Ambiguous, type AudioBytes, find, textAt } from "./audioBytes.ts"
import * as AudioPackets from "./audioPackets.ts"

const id = {
  segment: 0x1853_8067,
  cluster: 0x1f43_b675,
  blockGroup: 0xa0,
  simpleBlock: 0xa3,
  block: 0xa1,
  tracks: 0x1654_ae6b,
  track: 0xae,
  trackNumber: 0xd7,
  trackType: 0x83,
  codec: 0x86,
  codecPrivate: 0x63a2,
  encodings: 0x6d80
} as const

/** Elements that are searched for elements inside of them. */
const parents: ReadonlyArray<number> = [id.segment, id.cluster, id.blockGroup, id.tracks]

/**
 * Elements whose contents nobody mistakes for clusters: EBML, SeekHead, Info, Cues, Chapters, Tags.
 */
const plain: ReadonlyArray<number> = [0x1a45_dfa3, 0x114d_9b74, 0x1549_a966, 0x1c53_bb6b, 0x1043_a770, 0x1254_c367]

const clusterId = Uint8Array.of(0x1f, 0x43, 0xb6, 0x75)

/** The longest header of an element. */
const headerBytes = 12

interface Element {
  readonly id: number
  readonly start: number
  /** `Infinity` if the element does not say its length, as in a recording under way. */
  readonly end: number
}

const sizeOf = (first: number): number => Math.clz32(first) - 23

/** A number of variable length, without its marker. `Infinity` if all of its bits are set. */
const numberAt = (bytes: Uint8Array, at: number): { readonly value: number; readonly length: number } | undefined => {
  const first = bytes[at] ?? 0
  const length = sizeOf(first)
  if (length > 8 || at + length > bytes.length) return undefined
  let value = first & (0xff >> length)
  let isUnknown = value === 0xff >> length
  for (let index = 1; index < length; index += 1) {
    const byte = bytes[at + index] ?? 0
    isUnknown &&= byte === 0xff
    value = value * 256 + byte
  }
  return { value: isUnknown ? Infinity : value, length }
}

const elementAt = (bytes: Uint8Array, at: number): Element | undefined => {
  const idLength = sizeOf(bytes[at] ?? 0)
  const size = numberAt(bytes, at + idLength)
  if (idLength > 4 || size === undefined) return undefined
  const start = at + idLength + size.length
  const name = bytes.subarray(at, at + idLength).reduce((value, byte) => value * 256 + byte, 0)
  return { id: name, start, end: start + size.value }
}

interface Track {
  reader: AudioPackets.PacketReader
  seconds: number
}

/** The children of an element in memory. */
const childrenOf = (bytes: Uint8Array): ReadonlyMap<number, Uint8Array> => {
  const children = new Map<number, Uint8Array>()
  for (let at = 0; at < bytes.length;) {
    const element = elementAt(bytes, at)
    if (element === undefined || element.end > bytes.length) break
    if (children.has(element.id) && element.id !== 0xec)
      throw new Ambiguous("the webm file has a track with two of one element")
    children.set(element.id, bytes.subarray(element.start, element.end))
    at = element.end
  }
  return children
}

const integer = (bytes: Uint8Array | undefined): number =>
  bytes === undefined ? 0 : bytes.reduce((value, byte) => value * 256 + byte, 0)

/** The three headers of Vorbis: their number less one, the lengths of the first two, and they. */
const vorbisOf = (headers: Uint8Array): AudioPackets.PacketReader | undefined => {
  const lengths = [0, 0]
  let at = 1
  for (let index = 0; index < 2; index += 1) {
    for (let byte = 255; byte === 255 && at < headers.length; at += 1) {
      byte = headers[at] ?? 0
      lengths[index] = (lengths[index] ?? 0) + byte
    }
  }
  const [first = 0, second = 0] = lengths
  return AudioPackets.vorbis(headers.subarray(at, at + first), headers.subarray(at + first + second))
}

const audioType = 2

const readTrack = (tracks: Map<number, Track>, bytes: Uint8Array): void => {
  const fields = childrenOf(bytes)
  if (integer(fields.get(id.trackType)) !== audioType) return
  const name = fields.get(id.codec)
  const codec = name === undefined ? "" : textAt(name, 0, name.length).replace(/\0+$/, "")
  if (fields.has(id.encodings)) throw new Ambiguous("the webm file has an audio track that is compressed once more")
  const reader =
    codec === "A_OPUS"
      ? AudioPackets.opus
      : codec === "A_VORBIS"
        ? vorbisOf((fields.get(id.codecPrivate) ?? new Uint8Array(0)).slice())
        : undefined
  if (reader === undefined) throw new Ambiguous("the webm file has an audio track that is neither Opus nor Vorbis")
  const number = integer(fields.get(id.trackNumber))
  if (tracks.has(number)) throw new Ambiguous("the webm file has two tracks of the same number")
  tracks.set(number, { reader, seconds: 0 })
}

/** The frames of a block, which may be laced: several in one block. */
const framesOf = (block: Uint8Array, at: number): ReadonlyArray<Uint8Array> => {
  const lacing = ((block[at + 2] ?? 0) >> 1) & 3
  let from = at + 3
  if (lacing === 0) return [block.subarray(from)]
  const count = (block[from] ?? 0) + 1
  from += 1
  const lengths: Array<number> = []
  if (lacing === 2) {
    lengths.push(...Array<number>(count - 1).fill(Math.floor((block.length - from) / count)))
  } else if (lacing === 1) {
    while (lengths.length < count - 1 && from < block.length) {
      let length = 0
      for (let byte = 255; byte === 255 && from < block.length; from += 1) {
        byte = block[from] ?? 0
        length += byte
      }
      lengths.push(length)
    }
  } else {
    let previous = 0
    while (lengths.length < count - 1) {
      const number = numberAt(block, from)
      if (number === undefined) break
      from += number.length
      previous = lengths.length === 0 ? number.value : previous + number.value - (2 ** (7 * number.length - 1) - 1)
      if (!(previous >= 0)) break
      lengths.push(previous)
    }
  }
  const frames: Array<Uint8Array> = []
  for (const length of lengths) {
    frames.push(block.subarray(from, from + length))
    from += length
  }
  return [...frames, block.subarray(from)]
}

const readBlock = (tracks: ReadonlyMap<number, Track>, block: Uint8Array): void => {
  const number = numberAt(block, 0)
  const track = number === undefined ? undefined : tracks.get(number.value)
  if (number === undefined || track === undefined) return
  for (const frame of framesOf(block, number.length)) track.seconds += track.reader.next(frame)
}

/** The largest block, and the largest description of a track: real ones are far smaller. */
const maxElement = 16 * 1024 * 1024

/** The longest audio in seconds that a decoder can read. Throws {@link Ambiguous}. */
export const seconds = (bytes: AudioBytes): number => {
  const tracks = new Map<number, Track>()
  const ends: Array<number> = []
  let hasTracks = false
  const inconsistent = () => new Ambiguous("the webm file has elements that do not fit into each other")
  /** Decoders go on at the next cluster after something that they do not understand. */
  const nextCluster = (at: number): number => {
    ends.length = 0
    return find(bytes, clusterId, at)
  }
  for (let at = 0; at >= 0 && at < bytes.size;) {
    while ((ends.at(-1) ?? Infinity) <= at) ends.pop()
    const head = bytes.read(at, headerBytes)
    const found = elementAt(head, 0)
    if (found === undefined) {
      at = nextCluster(at + 1)
      continue
    }
    const start = at + found.start
    const end = at + found.end
    if (end !== Infinity && end > (ends.at(-1) ?? Infinity)) throw inconsistent()
    if (parents.includes(found.id)) {
      if (found.id === id.tracks) {
        if (hasTracks) throw new Ambiguous("the webm file lists its tracks twice")
        hasTracks = true
      }
      ends.push(end)
      at = start
      continue
    }
    const isBlock = found.id === id.simpleBlock || found.id === id.block
    // What is cut off at the end must not hide anything, nor what only some decoders skip.
    if (end > bytes.size || !(isBlock || found.id === id.track || plain.includes(found.id))) {
      const hidden = find(bytes, clusterId, start, Math.min(end, bytes.size))
      if (hidden >= 0) throw inconsistent()
    }
    if (end > bytes.size) break
    if ((isBlock || found.id === id.track) && end - start > maxElement) throw inconsistent()
    if (isBlock) readBlock(tracks, bytes.read(start, end - start))
    else if (found.id === id.track) readTrack(tracks, bytes.read(start, end - start))
    at = end
  }
  return [...tracks.values()].reduce((longest, track) => Math.max(longest, track.seconds), 0)
}
