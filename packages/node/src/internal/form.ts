/**
 * Encodes a multipart form as a stream that is read block by block, as fast as the socket sends. A
 * file is therefore never in memory as a whole. Decision 7 says what is gained over undici's
 * `FormData`.
 */
import type { Random } from "effect"
import { HttpBody, HttpClientRequest } from "effect/http"
import { Buffer } from "node:buffer"
import { Readable } from "node:stream"

type Part = Uint8Array | Blob

/**
 * The bytes that are read and sent at a time. The client sees progress after each block, so a block
 * must not take longer than the limit on silence.
 */
const blockSize = 131_072

/** The first block is smaller: a service that rejects the form at once receives little of it. */
const firstBlockSize = 65_536

/** The bytes of the parts, in order. */
class FormStream extends Readable {
  readonly #parts: ReadonlyArray<Part>
  #part = 0
  /** The position in the current part. */
  #at = 0
  #blockSize = firstBlockSize

  constructor(parts: ReadonlyArray<Part>) {
    // Without a buffer, nothing is read ahead of the socket.
    super({ highWaterMark: 0 })
    this.#parts = parts
  }

  override _read(): void {
    this.#block().then(
      (block) => void this.push(block),
      (error: Error) => this.destroy(error)
    )
  }

  /**
   * The next block, or null at the end. Each slice is read whole: Node closes the file of a Blob
   * whose stream ends early only after garbage collection.
   */
  async #block(): Promise<Uint8Array | null> {
    const chunks: Array<Uint8Array> = []
    let size = 0
    const maxBytes = this.#blockSize
    this.#blockSize = blockSize
    while (size < maxBytes) {
      const part = this.#parts[this.#part]
      if (part === undefined) break
      const end = part instanceof Blob ? this.#at + maxBytes - size : part.byteLength
      const chunk = part instanceof Blob ? new Uint8Array(await part.slice(this.#at, end).arrayBuffer()) : part
      chunks.push(chunk)
      size += chunk.byteLength
      this.#at = end
      if (part instanceof Uint8Array || end >= part.size) {
        this.#part++
        this.#at = 0
      }
    }
    return size === 0 ? null : chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size)
  }
}

const escape = (text: string): string => text.replaceAll("\n", "%0A").replaceAll("\r", "%0D").replaceAll('"', "%22")

const withLineEnds = (text: string): string => text.replaceAll(/\r\n?|\n/g, "\r\n")

const boundaryOf = (random: Random.Random): string => {
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

/** Replaces a form body by a stream. Other requests are returned unchanged. */
export const toStream = (
  request: HttpClientRequest.HttpClientRequest,
  random: Random.Random
): HttpClientRequest.HttpClientRequest => {
  if (request.body._tag !== "FormData") return request
  const boundary = boundaryOf(random)
  const parts = partsOf(request.body.formData, boundary)
  return HttpClientRequest.setBody(
    request,
    HttpBody.raw(new FormStream(parts), {
      contentType: `multipart/form-data; boundary=${boundary}`,
      contentLength: parts.reduce((sum, part) => sum + (part instanceof Blob ? part.size : part.byteLength), 0)
    })
  )
}
