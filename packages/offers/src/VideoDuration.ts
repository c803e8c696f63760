/**
 * How long an MP4 file lasts by everything that it says, for upstreams that bill the length of a
 * video. Tables and headers may differ, so the longest counts. A file whose length a reader could
 * take for another is refused: one in fragments, or one with other counts of frames.
 *
 * @since 0.1.0
 */
import { type AudioBytes, textAt, viewOf } from "./internal/audioBytes.ts"

/**
 * What an MP4 file contains.
 *
 * @category models
 * @since 0.1.0
 */
export interface Measured {
  readonly seconds: number
  readonly frames: number
}

interface Box {
  readonly type: string
  readonly start: number
  readonly end: number
}

/** Why a file cannot be measured. */
class Unmeasurable extends Error {}

/** Real files have a few dozen. */
const maxBoxes = 1000

/** The largest table of times: one of 130,000 frames of different lengths. */
const maxTable = 1024 * 1024

const boxesIn = ({ read }: AudioBytes, start: number, end: number): ReadonlyArray<Box> => {
  const boxes: Array<Box> = []
  for (let at = start; at < end;) {
    const head = read(at, 16)
    if (head.length < 8 || boxes.length >= maxBoxes) throw new Unmeasurable("it is cut off or damaged")
    const view = viewOf(head)
    const stated = view.getUint32(0)
    const isLarge = stated === 1 && head.length === 16
    const length = isLarge ? Number(view.getBigUint64(8)) : stated === 0 ? end - at : stated
    const header = isLarge ? 16 : 8
    if (length < header || at + length > end) throw new Unmeasurable("it is cut off or damaged")
    boxes.push({ type: textAt(head, 4, 4), start: at + header, end: at + length })
    at += length
  }
  return boxes
}

const all = (bytes: AudioBytes, { end, start }: Box, type: string): ReadonlyArray<Box> =>
  boxesIn(bytes, start, end).filter((box) => box.type === type)

const one = (bytes: AudioBytes, parent: Box, type: string): Box => {
  const [box, ...others] = all(bytes, parent, type)
  if (box === undefined || others.length > 0) throw new Unmeasurable(`it has not exactly one box "${type}"`)
  return box
}

const tableOf = ({ read }: AudioBytes, { end, start }: Box): DataView => {
  if (end - start > maxTable) throw new Unmeasurable("one of its tables is too large")
  const table = viewOf(read(start, end - start).slice())
  if (table.byteLength < 8) throw new Unmeasurable("it is cut off or damaged")
  return table
}

/** The time scale and the duration of `mvhd` or `mdhd`. An unknown duration has all bits set. */
const timesOf = (bytes: AudioBytes, box: Box): { readonly scale: number; readonly seconds: number } => {
  const table = tableOf(bytes, box)
  const isLarge = table.getUint8(0) === 1
  const scale = table.getUint32(isLarge ? 20 : 12)
  const duration = isLarge ? Number(table.getBigUint64(24)) : table.getUint32(16)
  const isUnknown = isLarge ? duration >= 2 ** 63 : duration === 0xffff_ffff
  if (scale === 0 || isUnknown) throw new Unmeasurable("it does not say how long it is")
  return { scale, seconds: duration / scale }
}

/** The number of frames of `stts`, and their time together. */
const framesOf = (bytes: AudioBytes, box: Box): { readonly count: number; readonly time: number } => {
  const table = tableOf(bytes, box)
  const entries = table.getUint32(4)
  if (8 + entries * 8 > table.byteLength) throw new Unmeasurable("it is cut off or damaged")
  let count = 0
  let time = 0
  for (let at = 8; at < 8 + entries * 8; at += 8) {
    count += table.getUint32(at)
    time += table.getUint32(at) * table.getUint32(at + 4)
  }
  return { count, time }
}

/** The time that an edit list plays, in the scale of the movie. */
const editsOf = (bytes: AudioBytes, box: Box): number => {
  const table = tableOf(bytes, box)
  const isLarge = table.getUint8(0) === 1
  const step = isLarge ? 20 : 12
  const entries = table.getUint32(4)
  if (8 + entries * step > table.byteLength) throw new Unmeasurable("it is cut off or damaged")
  let time = 0
  for (let at = 8; at < 8 + entries * step; at += step) {
    time += isLarge ? Number(table.getBigUint64(at)) : table.getUint32(at)
  }
  return time
}

const trackOf = (bytes: AudioBytes, trak: Box, movieScale: number) => {
  const media = one(bytes, trak, "mdia")
  const { scale, seconds } = timesOf(bytes, one(bytes, media, "mdhd"))
  const handler = one(bytes, media, "hdlr")
  const samples = one(bytes, one(bytes, media, "minf"), "stbl")
  const frames = framesOf(bytes, one(bytes, samples, "stts"))
  const sizes = tableOf(bytes, { ...one(bytes, samples, "stsz"), end: one(bytes, samples, "stsz").start + 12 })
  if (sizes.getUint32(8) !== frames.count) throw new Unmeasurable("its counts of frames differ")
  const edits = all(bytes, trak, "edts").flatMap((box) => all(bytes, box, "elst"))
  const played = edits.reduce((sum, list) => sum + editsOf(bytes, list), 0)
  return {
    isVideo: textAt(bytes.read(handler.start + 8, 4), 0, 4) === "vide",
    frames: frames.count,
    seconds: Math.max(seconds, frames.time / scale, played / movieScale)
  }
}

const read = (bytes: AudioBytes): Measured => {
  const file: Box = { type: "", start: 0, end: bytes.size }
  const types = boxesIn(bytes, 0, bytes.size).map(({ type }) => type)
  if (types[0] !== "ftyp") throw new Unmeasurable("it is no MP4")
  const movie = one(bytes, file, "moov")
  if (types.includes("moof") || all(bytes, movie, "mvex").length > 0) throw new Unmeasurable("it is in fragments")
  const { scale, seconds } = timesOf(bytes, one(bytes, movie, "mvhd"))
  const tracks = all(bytes, movie, "trak").map((trak) => trackOf(bytes, trak, scale))
  const [video, ...others] = tracks.filter(({ isVideo }) => isVideo)
  if (video === undefined || others.length > 0) throw new Unmeasurable("it has not exactly one track of video")
  return { seconds: Math.max(seconds, ...tracks.map((track) => track.seconds)), frames: video.frames }
}

/**
 * Measures a file. Returns why it cannot be measured otherwise.
 *
 * @category measuring
 * @since 0.1.0
 */
export const measure = (bytes: AudioBytes): Measured | string => {
  try {
    const measured = read(bytes)
    return measured.seconds > 0 && measured.frames > 0 ? measured : "it has no frames"
  } catch (error) {
    if (error instanceof Unmeasurable) return error.message
    // A field beyond the end of its box.
    if (error instanceof RangeError) return "it is cut off or damaged"
    throw error
  }
}

/**
 * The content of base64, of which only what is read is decoded.
 *
 * @category constructors
 * @since 0.1.0
 */
export const ofBase64 = (text: string): AudioBytes => {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0
  const size = Math.max(0, Math.floor((text.length * 3) / 4) - padding)
  return {
    size,
    read: (at, length) => {
      const end = Math.min(size, at + length)
      if (end <= at) return new Uint8Array(0)
      const first = Math.floor(at / 3)
      const decoded = Buffer.from(text.slice(first * 4, Math.ceil(end / 3) * 4), "base64")
      return decoded.subarray(at - first * 3, end - first * 3)
    }
  }
}
