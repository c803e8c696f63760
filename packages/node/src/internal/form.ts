/**
 * Sends a multipart form as a stream that is read block by block, as fast as the socket sends. A
 * file is therefore never in memory as a whole. Decision 7 says what is gained over undici's
 * `FormData`.
 */
import * as MultipartForm from "@model-gateway/core/unstable/MultipartForm"
import type { Random } from "effect"
import { HttpBody, HttpClientRequest } from "effect/http"
import { Readable } from "node:stream"

/** The bytes of the parts, in order. */
class FormStream extends Readable {
  readonly #next: () => Promise<Uint8Array | undefined>

  constructor(parts: ReadonlyArray<MultipartForm.Part>) {
    // Without a buffer, nothing is read ahead of the socket.
    super({ highWaterMark: 0 })
    this.#next = MultipartForm.reader(parts)
  }

  override _read(): void {
    this.#next().then(
      (block) => void this.push(block ?? null),
      (error: Error) => this.destroy(error)
    )
  }
}

/** Replaces a form body by a stream. Other requests are returned unchanged. */
export const toStream = (
  request: HttpClientRequest.HttpClientRequest,
  random: Random.Random
): HttpClientRequest.HttpClientRequest => {
  if (request.body._tag !== "FormData") return request
  const { parts, ...headers } = MultipartForm.encode(request.body.formData, random)
  return HttpClientRequest.setBody(request, HttpBody.raw(new FormStream(parts), headers))
}
