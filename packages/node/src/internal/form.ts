/**
 * Encodes a multipart form as a stream that is read block by block, as fast as the socket sends. A
 * file is therefore never held in memory as a whole.
 */
import type { Random } from "effect"
import { HttpBody, HttpClientRequest } from "effect/http"
import { Readable } from "node:stream"

type Part = Uint8Array | Blob

/** Bytes copied at a time from a Blob in memory. A file on disk is read in blocks of 64 KiB. */
const sliceSize = 1_048_576

/** The bytes of the parts, in order. */
async function* blocks(parts: ReadonlyArray<Part>): AsyncGenerator<Uint8Array, void, void> {
  for (const part of parts) {
    if (part instanceof Uint8Array) yield part
    else for (let at = 0; at < part.size; at += sliceSize) yield* part.slice(at, at + sliceSize).stream()
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
    // `highWaterMark: 0` avoids reading ahead.
    HttpBody.raw(Readable.from(blocks(parts), { objectMode: false, highWaterMark: 0 }), {
      contentType: `multipart/form-data; boundary=${boundary}`,
      contentLength: parts.reduce((sum, part) => sum + (part instanceof Blob ? part.size : part.byteLength), 0)
    })
  )
}
