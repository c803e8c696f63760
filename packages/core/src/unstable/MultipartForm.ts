/**
 * Encodes a multipart form so that it is read block by block, as fast as the platform sends. A file
 * is therefore never in memory as a whole, and the progress of its upload is known.
 *
 * @since 0.1.0
 */
import * as Bytes from "effect/Bytes"
import type { Random } from "effect/Random"

/**
 * @category models
 * @since 0.1.0
 */
export type Part = Uint8Array | Blob

/**
 * An encoded form.
 *
 * @category models
 * @since 0.1.0
 */
export interface Encoded {
  /** With the boundary. */
  readonly contentType: string
  /** The bytes of all parts. */
  readonly contentLength: number
  /** The bytes of the form, in order. */
  readonly parts: ReadonlyArray<Part>
}

/**
 * The bytes that are read and sent at a time. The client sees progress after each block, so a block
 * must not take longer than the limit on silence.
 */
const blockSize = 131_072

/** The first block is smaller: a service that rejects the form at once receives little of it. */
const firstBlockSize = 65_536

const sizeOf = (part: Part): number => (part instanceof Blob ? part.size : part.byteLength)

/**
 * Returns a function that reads the next block of the parts. It returns undefined at the end, and
 * must not be called again before it has returned.
 *
 * Each slice of a Blob is read whole: Node closes the file of a Blob whose stream ends early only
 * after garbage collection.
 *
 * @category constructors
 * @since 0.1.0
 */
export const reader = (parts: ReadonlyArray<Part>): (() => Promise<Uint8Array | undefined>) => {
  let index = 0
  /** The position in the current part. */
  let at = 0
  let maxBytes = firstBlockSize
  return async () => {
    const chunks: Array<Uint8Array> = []
    let size = 0
    while (size < maxBytes) {
      const part = parts[index]
      if (part === undefined) break
      const end = at + maxBytes - size
      const chunk =
        part instanceof Blob ? new Uint8Array(await part.slice(at, end).arrayBuffer()) : part.subarray(at, end)
      chunks.push(chunk)
      size += chunk.byteLength
      at = end
      if (end >= sizeOf(part)) {
        index++
        at = 0
      }
    }
    maxBytes = blockSize
    return size === 0 ? undefined : chunks.length === 1 ? chunks[0] : Bytes.concat(chunks)
  }
}

const escape = (text: string): string => text.replaceAll("\n", "%0A").replaceAll("\r", "%0D").replaceAll('"', "%22")

const withLineEnds = (text: string): string => text.replaceAll(/\r\n?|\n/g, "\r\n")

const boundaryOf = (random: Random): string => {
  let boundary = "----model-gateway-"
  while (boundary.length < 50) boundary += Math.floor(random.nextDoubleUnsafe() * 0x1_0000_0000).toString(36)
  return boundary
}

/** The parts of the encoded form, in order. Adjacent text is joined. */
const partsOf = (form: FormData, boundary: string): ReadonlyArray<Part> => {
  const encoder = new TextEncoder()
  const parts: Array<Part> = []
  let text = ""
  for (const [name, value] of form) {
    text += `--${boundary}\r\nContent-Disposition: form-data; name="${escape(withLineEnds(name))}"`
    if (typeof value === "string") {
      text += `\r\n\r\n${withLineEnds(value)}\r\n`
    } else {
      const type = value.type === "" ? "application/octet-stream" : value.type
      text += `; filename="${escape(value.name)}"\r\nContent-Type: ${type}\r\n\r\n`
      parts.push(encoder.encode(text), value)
      text = "\r\n"
    }
  }
  parts.push(encoder.encode(`${text}--${boundary}--\r\n`))
  return parts
}

/**
 * Encodes a form. `random` draws the boundary.
 *
 * @category converting
 * @since 0.1.0
 */
export const encode = (form: FormData, random: Random): Encoded => {
  const boundary = boundaryOf(random)
  const parts = partsOf(form, boundary)
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    contentLength: parts.reduce((sum, part) => sum + sizeOf(part), 0),
    parts
  }
}
