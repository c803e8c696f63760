/**
 * Audio of one format inside a file of another. Some decoders look for a format by its content, and
 * then read that instead of what the file says.
 */
import { type AudioBytes, pieces, textAt } from "./audioBytes.ts"
import * as AudioFrames from "./audioFrames.ts"

/** How files of other formats start. */
const starts =
  "RIFF RIFX RF64 BW64 FORM OggS fLaC caff #!AM .snd wvpk MAC TTA1 ADIF ajkg MPCK MP+ FLV \x1aE\xdf\xa3 0&\xb2u \0\0\x01\xba".split(
    " "
  )

/** The types of a first box of MP4. */
const boxes = ["ftyp", "moov", "mdat", "wide", "free", "skip", "pnot"]

/** Whether a file of another format than MP3 and AAC starts at `at`. */
export const startsOther = ({ read }: AudioBytes, at: number): boolean => {
  const head = read(at, 8)
  return starts.some((start) => textAt(head, 0, start.length) === start) || boxes.includes(textAt(head, 4, 4))
}

/** Frames in a row, or marks of a format, that no sound contains by chance. */
const minMarks = 8

/** DTS in its four forms, and TrueHD: 32 bits that start each frame. */
const marks = [0x7ffe_8001, 0xfe7f_0180, 0x1fff_e800, 0xff1f_00e8, 0xf872_6fba]

const ac3Rates = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640]

/** The length of a frame of AC-3 or E-AC-3 at `at`, or of AAC in LOAS, or 0. */
const lengthAt = (bytes: Uint8Array, at: number): number => {
  const byte = (index: number): number => bytes[at + index] ?? 0
  if (byte(0) === 0x56 && (byte(1) & 0xe0) === 0xe0) return 3 + (((byte(1) & 0x1f) << 8) | byte(2))
  if (byte(0) !== 0x0b || byte(1) !== 0x77) return 0
  const version = byte(5) >> 3
  if (version > 10) return version > 16 ? 0 : 2 * ((((byte(2) & 7) << 8) | byte(3)) + 1)
  const size = byte(4) & 63
  const rate = ac3Rates[size >> 1]
  if (rate === undefined) return 0
  const code = byte(4) >> 6
  return code === 0
    ? rate * 4
    : code === 1
      ? 2 * (Math.floor((320 * rate) / 147) + (size & 1))
      : code === 2
        ? rate * 6
        : 0
}

const isRow = (bytes: Uint8Array, start: number): boolean => {
  for (let count = 0, at = start; count < minMarks; count += 1) {
    const length = lengthAt(bytes, at)
    if (length < 7) return false
    at += length
  }
  return true
}

/** The longest row that is looked at in one piece: 8 frames of LOAS. */
const rowBytes = 8 * 8194

/**
 * Whether the samples between two positions are audio that is compressed. `seconds`: as samples.
 */
export const isCompressed = (bytes: AudioBytes, from: number, to: number, seconds: number): boolean => {
  let marked = 0
  let isFound = false
  pieces(bytes, from, to, rowBytes, (piece, _, length) => {
    for (let at = 0; at < length && !isFound; at += 1) {
      const first = piece[at]
      if (first === 0x0b || first === 0x56) isFound = isRow(piece, at)
      else if (first === 0x7f || first === 0xfe || first === 0x1f || first === 0xff || first === 0xf8) {
        const word = first * 2 ** 24 + (piece[at + 1] ?? 0) * 65_536 + (piece[at + 2] ?? 0) * 256 + (piece[at + 3] ?? 0)
        if (marks.includes(word)) marked += 1
      }
    }
  })
  return isFound || marked >= minMarks || AudioFrames.secondsInARow(bytes, from, to) > seconds
}
