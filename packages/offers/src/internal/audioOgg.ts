/**
 * How long a decoder can read in an Ogg file: all packets of all of its audio streams, whether they
 * follow each other or run at the same time, whatever the pages say about their time.
 */
import { Ambiguous, type AudioBytes, find, textAt, viewOf } from "./audioBytes.ts"
import * as AudioPackets from "./audioPackets.ts"

const capture = Uint8Array.from("OggS", (letter) => letter.charCodeAt(0))

/** The longest page. */
const pageBytes = 27 + 255 + 255 * 255

/** The longest packet that is kept: a setup header of Vorbis. */
const maxPacket = 1024 * 1024

/** CRC-32 with the polynomial 0x04c11db7, without reflection. */
const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte << 24
  for (let bit = 0; bit < 8; bit += 1) value = (value << 1) ^ (value < 0 ? 0x04c1_1db7 : 0)
  return value
})

const isIntact = (page: Uint8Array): boolean => {
  let crc = 0
  for (let at = 0; at < page.length; at += 1) {
    const byte = at >= 22 && at < 26 ? 0 : (page[at] ?? 0)
    crc = (crc << 8) ^ (crcTable[((crc >>> 24) ^ byte) & 0xff] ?? 0)
  }
  return crc >>> 0 === viewOf(page).getUint32(22, true)
}

/** A logical stream. */
interface Stream {
  /** Undefined until its headers were read. Null: no audio. */
  reader: AudioPackets.PacketReader | null | undefined
  identification: Uint8Array | undefined
  /** The samples at the start that a decoder drops, in seconds. */
  skipped: number
  seconds: number
  /** The packet that the next page continues. */
  parts: Array<Uint8Array>
  partBytes: number
}

const readHeader = (stream: Stream, packet: Uint8Array): void => {
  const vorbis = AudioPackets.vorbisHeader(packet)
  if (textAt(packet, 0, 8) === "OpusHead") {
    stream.reader = AudioPackets.opus
    stream.skipped = packet.length < 12 ? 0 : viewOf(packet).getUint16(10, true) / 48_000
  } else if (vorbis === 1) {
    stream.reader = undefined
    // The page is valid until the next one is read.
    stream.identification = packet.slice()
  } else if (vorbis === 5 && stream.identification !== undefined) {
    stream.reader = AudioPackets.vorbis(stream.identification, packet)
    if (stream.reader === undefined) throw new Ambiguous("the ogg file has a header of Vorbis that is not valid")
  } else if (textAt(packet, 0, 8) === "fishead\0" || textAt(packet, 1, 6) === "theora") {
    stream.reader = null
  } else if (stream.identification === undefined) {
    throw new Ambiguous("the ogg file has a stream that is neither Opus nor Vorbis")
  }
}

const isHeader = (packet: Uint8Array): boolean =>
  textAt(packet, 0, 8) === "OpusHead" || AudioPackets.vorbisHeader(packet) > 0

const readPacket = (stream: Stream, packet: Uint8Array): void => {
  if (stream.reader === null) return
  if (stream.reader === undefined || isHeader(packet)) return readHeader(stream, packet)
  if (textAt(packet, 0, 8) !== "OpusTags") stream.seconds += stream.reader.next(packet)
}

const readPage = (streams: Map<number, Stream>, page: Uint8Array, segments: number): void => {
  const serial = viewOf(page).getUint32(14, true)
  let stream = streams.get(serial)
  if (stream === undefined) {
    stream = { reader: undefined, identification: undefined, skipped: 0, seconds: 0, parts: [], partBytes: 0 }
    streams.set(serial, stream)
  }
  // A page that does not continue a packet drops what was left of it.
  if (((page[5] ?? 0) & 1) === 0) {
    stream.parts = []
    stream.partBytes = 0
  }
  let start = 27 + segments
  let end = start
  for (let index = 0; index < segments; index += 1) {
    const length = page[27 + index] ?? 0
    end += length
    if (length === 255 && index < segments - 1) continue
    const part = page.subarray(start, end)
    start = end
    if (length === 255) {
      if (stream.partBytes < maxPacket) stream.parts.push(part.slice())
      stream.partBytes += part.length
      continue
    }
    readPacket(stream, stream.parts.length === 0 ? part : new Uint8Array(Buffer.concat([...stream.parts, part])))
    stream.parts = []
    stream.partBytes = 0
  }
}

/** The longest audio in seconds that a decoder can read. Throws {@link Ambiguous}. */
export const seconds = (bytes: AudioBytes): number => {
  const streams = new Map<number, Stream>()
  for (let at = 0; at >= 0 && at < bytes.size;) {
    const page = bytes.read(at, pageBytes)
    const segments = page[26] ?? 0
    const body = page.subarray(27, 27 + segments).reduce((sum, length) => sum + length, 0)
    const length = 27 + segments + body
    // Decoders go on at the next page after one that is damaged or cut off, even inside of it.
    const isPage = textAt(page, 0, 4) === "OggS" && page.length >= length && isIntact(page.subarray(0, length))
    if (isPage) readPage(streams, page.subarray(0, length), segments)
    at = isPage ? at + length : find(bytes, capture, at + 1)
  }
  let total = 0
  for (const { seconds, skipped } of streams.values()) total += Math.max(0, seconds - skipped)
  return total
}
