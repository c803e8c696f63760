/**
 * Encodes a multipart form as a stream that is read block by block, as fast as the socket sends.
 *
 * Each block that is read from a file has its own memory. More than 64 MiB of blocks accumulate
 * before the garbage collector runs, and one large upload would make the process grow by that much.
 * So each block is freed as soon as it has certainly been sent.
 */
import type { Random } from "effect"
import { HttpBody, HttpClientRequest } from "effect/http"
import { Readable } from "node:stream"

type Part = Uint8Array | Blob

/** Bytes copied at a time from a Blob in memory. A file on disk is read in blocks of 64 KiB. */
const sliceSize = 1_048_576

/**
 * A block has been sent once this many bytes after it were requested. A socket sends in order, and
 * it requests more only while it buffers less than its high-water mark (64 KiB, or 16 KiB with TLS
 * and HTTP/2).
 */
const margin = 524_288

/** The bytes of the parts, in order. `free`: see {@link toStream}. */
async function* blocks(parts: ReadonlyArray<Part>, free: boolean): AsyncGenerator<Uint8Array, void, void> {
  const unsent: Array<{ readonly buffer: ArrayBuffer; readonly end: number }> = []
  let end = 0
  for (const part of parts) {
    if (part instanceof Uint8Array) {
      yield part
      end += part.byteLength
      continue
    }
    for (let at = 0; at < part.size; at += sliceSize) {
      const slice: ReadableStream<Uint8Array<ArrayBuffer>> = part.slice(at, at + sliceSize).stream()
      for await (const block of slice) {
        yield block
        // The socket has all earlier blocks, but perhaps not this one.
        for (let first = unsent[0]; first !== undefined && first.end + margin <= end; first = unsent[0]) {
          first.buffer.transfer(0)
          unsent.shift()
        }
        end += block.byteLength
        if (free && block.byteLength === block.buffer.byteLength) unsent.push({ buffer: block.buffer, end })
      }
    }
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

/**
 * Replaces a form body by a stream. Other requests are returned unchanged. Set `free` only if the
 * reader requests more only when the socket has room and keeps no block: then blocks are freed
 * early.
 */
export const toStream = (
  request: HttpClientRequest.HttpClientRequest,
  random: Random.Random,
  free: boolean
): HttpClientRequest.HttpClientRequest => {
  if (request.body._tag !== "FormData") return request
  const boundary = boundaryOf(random)
  const parts = partsOf(request.body.formData, boundary)
  return HttpClientRequest.setBody(
    request,
    // `highWaterMark: 0` avoids reading ahead.
    HttpBody.raw(Readable.from(blocks(parts, free), { objectMode: false, highWaterMark: 0 }), {
      contentType: `multipart/form-data; boundary=${boundary}`,
      contentLength: parts.reduce((sum, part) => sum + (part instanceof Blob ? part.size : part.byteLength), 0)
    })
  )
}
