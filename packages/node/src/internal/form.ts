/**
 * A multipart form as it goes on the wire, read block by block as the socket takes it.
 *
 * Each block that is read from a file is memory of its own. Left to the garbage collector 64 MiB and more of them pile up before it comes by, so that one large upload would make the
 * process grow by that much. Here a block is freed as soon as it has surely left.
 */
import type { Random } from "effect"
import { HttpBody, HttpClientRequest } from "effect/http"
import { Readable } from "node:stream"

type Part = Uint8Array | Blob

/** A file on disk is read in blocks of 64 KiB; of one in memory, so much is copied at a time. */
const sliceSize = 1_048_576

/**
 * So many bytes that were asked for after a block say that it has left: more is asked for only while a socket has less than its high-water mark to send (64 KiB; 16 KiB with TLS and HTTP/2),
 * and it sends in order.
 */
const margin = 524_288

/** The bytes of the parts, in order. */
async function* blocks(parts: ReadonlyArray<Part>, free: boolean): AsyncGenerator<Uint8Array, void, void> {
  const given: Array<{ readonly buffer: ArrayBuffer; readonly end: number }> = []
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
        // This one may not have reached the socket yet, those before it have.
        for (let first = given[0]; first !== undefined && first.end + margin <= end; first = given[0]) {
          first.buffer.transfer(0)
          given.shift()
        }
        end += block.byteLength
        if (free && block.byteLength === block.buffer.byteLength) given.push({ buffer: block.buffer, end })
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

/** The parts in order, what is text joined. */
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
 * The request with its form as a stream; others as they are. `free` says that whoever reads the stream asks for more only when the socket has room, and keeps nothing.
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
    // Reads nothing before it is asked to.
    HttpBody.raw(Readable.from(blocks(parts, free), { objectMode: false, highWaterMark: 0 }), {
      contentType: `multipart/form-data; boundary=${boundary}`,
      contentLength: parts.reduce((sum, part) => sum + (part instanceof Blob ? part.size : part.byteLength), 0)
    })
  )
}
