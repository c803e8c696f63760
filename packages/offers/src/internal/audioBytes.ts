/** The bytes of a file of audio, for the readers of its format. */
import { readSync } from "node:fs"

export interface AudioBytes {
  readonly size: number
  /**
   * The bytes from `at` on, fewer at the end of the file, none outside of it. They are valid until
   * the next call.
   */
  readonly read: (at: number, length: number) => Uint8Array
}

/** The file says two different things, or something that no decoder agrees about. */
export class Ambiguous extends Error {}

export const ofMemory = (bytes: Uint8Array): AudioBytes => ({
  size: bytes.length,
  read: (at, length) => bytes.subarray(at, Math.min(bytes.length, at + length))
})

const windowBytes = 1024 * 1024

/** Reads an open file through a window, so that small reads near each other cost no system call. */
export const ofFile = (descriptor: number, size: number): AudioBytes => {
  let window = new Uint8Array(windowBytes)
  let start = 0
  let end = 0
  const fill = (at: number, length: number): void => {
    if (length > window.length) window = new Uint8Array(length)
    start = at
    end = at
    while (end < Math.min(size, start + window.length)) {
      const count = readSync(descriptor, window, end - start, window.length - (end - start), end)
      if (count === 0) return
      end += count
    }
  }
  return {
    size,
    read: (at, length) => {
      const wanted = Math.min(length, size - at)
      if (wanted <= 0) return new Uint8Array(0)
      if (at < start || at + wanted > end) fill(at, wanted)
      return window.subarray(at - start, Math.min(end, at + wanted) - start)
    }
  }
}

/** Calls `visit` with pieces of the bytes from `from` to `to`, each with `ahead` bytes more. */
export const pieces = (
  { read }: AudioBytes,
  from: number,
  to: number,
  ahead: number,
  visit: (piece: Uint8Array, at: number, length: number) => void
): void => {
  for (let at = from; at < to; at += windowBytes) {
    const length = Math.min(windowBytes, to - at)
    visit(read(at, length + ahead), at, length)
  }
}

export const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** Text of one byte for each character, such as the name of a chunk. */
export const textAt = (bytes: Uint8Array, at: number, length: number): string =>
  String.fromCharCode(...bytes.subarray(at, at + length))

/** The first position of the pattern at or after `from`, or -1. */
export const find = (bytes: AudioBytes, pattern: Uint8Array, from: number, to: number = bytes.size): number => {
  for (let at = from; at < to; at += windowBytes) {
    const { buffer, byteLength, byteOffset } = bytes.read(at, Math.min(windowBytes + pattern.length - 1, to - at))
    const found = Buffer.from(buffer, byteOffset, byteLength).indexOf(pattern)
    if (found >= 0) return at + found
  }
  return -1
}
