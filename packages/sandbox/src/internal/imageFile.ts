/**
 * Reads what a PNG or JPEG says about itself, before anything is decoded: its size in pixels, and
 * that it is complete. A decoder allocates memory for every pixel, however small the file is.
 */
import { Buffer } from "node:buffer"
import { crc32 } from "node:zlib"

export interface ImageFile {
  readonly bytes: Buffer
  readonly width: number
  readonly height: number
}

const dataUri = /^data:image\/[\w.+-]+;base64,/

/** Returns a message for the caller if the `data:` URI is not a supported image. */
export const read = (uri: string): ImageFile | string => {
  const head = dataUri.exec(uri)?.[0]
  return head === undefined
    ? "send an https:// URL or a data:image/…;base64, URI"
    : readBytes(Buffer.from(uri.slice(head.length), "base64"))
}

/** Returns a message for the caller if the bytes are not a supported image. */
export const readBytes = (bytes: Buffer): ImageFile | string => {
  if (bytes.subarray(0, 8).equals(pngSignature)) return readPng(bytes)
  if (bytes.subarray(0, 3).equals(jpegSignature)) return readJpeg(bytes)
  return "send a PNG or a JPEG"
}

const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

const readPng = (bytes: Buffer): ImageFile | string => {
  const damaged = "the PNG is damaged or incomplete"
  // The first chunk is the header: length, name, width, height.
  if (bytes.length < 33 || bytes.toString("latin1", 12, 16) !== "IHDR") return damaged
  const kept: Array<Buffer> = [pngSignature]
  for (let at = pngSignature.length; at + 12 <= bytes.length;) {
    const end = at + 8 + bytes.readUInt32BE(at)
    if (end + 4 > bytes.length || crc32(bytes.subarray(at + 4, end)) !== bytes.readUInt32BE(end)) return damaged
    const name = bytes.toString("latin1", at + 4, at + 8)
    if (!compressedTexts.has(name)) kept.push(bytes.subarray(at, end + 4))
    if (name === "IEND") {
      return { bytes: Buffer.concat(kept), width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
    }
    at = end + 4
  }
  return damaged
}

/**
 * Chunks that the decoder would decompress for nothing: 8 KB to 8 MB each, and a PNG may have any
 * number of them.
 */
const compressedTexts: ReadonlySet<string> = new Set(["zTXt", "iTXt"])

const jpegSignature = Buffer.from([0xff, 0xd8, 0xff])

const jpegEnd = Buffer.from([0xff, 0xd9])

const readJpeg = (bytes: Buffer): ImageFile | string => {
  const damaged = "the JPEG is damaged or incomplete"
  for (let at = 2; at + 9 <= bytes.length;) {
    const marker = bytes[at + 1] ?? 0
    if (bytes[at] !== 0xff || hasNoLength(marker)) return damaged
    if (marker === 0xff) {
      at++
    } else if (isFrame(marker)) {
      // Not the end of a thumbnail, which comes before the frame.
      if (bytes.lastIndexOf(jpegEnd) < at) return damaged
      if (scansAfter(bytes, at) > maxScans) return `the JPEG has more than ${maxScans} scans`
      return { bytes, height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) }
    } else {
      at += 2 + bytes.readUInt16BE(at + 2)
    }
  }
  return damaged
}

/**
 * No length follows these markers, and none belongs before a frame. A decoder skips them, so that
 * it would find another frame than the one whose size is read here.
 */
const hasNoLength = (marker: number): boolean => marker < 0xc0 || (marker >= 0xd0 && marker <= 0xd9)

/** A decoder goes over all pixels for each scan. A progressive JPEG usually has about ten. */
const maxScans = 32

const scanStart = Buffer.from([0xff, 0xda])

const scansAfter = (bytes: Buffer, start: number): number => {
  let scans = 0
  for (let at = bytes.indexOf(scanStart, start); at !== -1; at = bytes.indexOf(scanStart, at + 2)) scans++
  return scans
}

/** C0 to CF start a frame, except for tables (C4, CC) and the reserved C8. */
const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
