/** The response that streams an object's bytes, whole or a range of them. */
import type { FileContent } from "@model-gateway/offers/FileApi"
import { Effect } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import * as ByteRange from "./ByteRange.ts"
import type { ObjectNotFound, ObjectStore, ObjectStoreError } from "../objects/ObjectStore.ts"

/** The content of the response. */
export interface Content {
  readonly objectKey: string
  /** SHA-256 of the whole content in lowercase hex. It is also the strong entity tag. */
  readonly sha256: string
  readonly contentType: string
  /** The name under which a browser saves the content. */
  readonly filename: string
  /**
   * `inline` if a browser may display the content. A caller's upload is an `attachment`, because it
   * could otherwise run scripts in the service's origin.
   */
  readonly disposition: "inline" | "attachment"
}

const mediaType = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}/

/** Percent-encodes all characters except those that RFC 5987 allows in `filename*`. */
const percentEncoded = (text: string): string =>
  encodeURIComponent(text).replace(/['()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)

/**
 * The `Content-Disposition` header (RFC 6266): an ASCII name for old clients, and the full name if
 * it has other characters.
 *
 * @example
 * ```ts
 * import { dispositionOf } from "./ContentResponse.ts"
 *
 * // attachment; filename="caf_.txt"; filename*=UTF-8''caf%C3%A9.txt
 * dispositionOf("attachment", "caf\u00e9.txt")
 * ```
 */
export const dispositionOf = (disposition: Content["disposition"], filename: string): string => {
  const wellFormed = filename.toWellFormed()
  const plain = wellFormed.replace(/[^\x20-\x7e]|["\\%/]/g, "_")
  return plain === wellFormed
    ? `${disposition}; filename="${plain}"`
    : `${disposition}; filename="${plain}"; filename*=UTF-8''${percentEncoded(wellFormed)}`
}

/** How content may be used, whatever it is. */
const safetyHeaders = (disposition: Content["disposition"], filename: string) => ({
  "content-disposition": dispositionOf(disposition, filename),
  "x-content-type-options": "nosniff"
})

const generic = "application/octet-stream"

/** Clients that accept bytes only, such as generated ones, refuse another media type. */
const typeFor = ({ headers }: HttpServerRequest.HttpServerRequest, contentType: string): string =>
  headers["accept"]?.trim().toLowerCase() === generic ? generic : contentType

/** 200 with the content of a file that a provider stores. Its name is not known, only its id. */
export const ofProvider = (
  request: HttpServerRequest.HttpServerRequest,
  { headers, stream }: FileContent,
  id: string
): HttpServerResponse.HttpServerResponse => {
  const { "content-encoding": encoding, "content-length": length = "", "content-type": type = "" } = headers
  return HttpServerResponse.stream(stream, {
    contentType: typeFor(request, mediaType.exec(type)?.[0] ?? generic),
    // The length of an encoded body is not that of the content.
    ...(encoding === undefined && /^\d{1,15}$/.test(length) ? { contentLength: Number(length) } : {}),
    headers: safetyHeaders("attachment", id)
  })
}

/**
 * 200 with the whole content, or 206 with the requested range. Checks that the object exists before
 * the response starts.
 */
export const make = Effect.fnUntraced(function* (
  objects: ObjectStore["Service"],
  request: HttpServerRequest.HttpServerRequest,
  content: Content
): Effect.fn.Return<HttpServerResponse.HttpServerResponse, ObjectNotFound | ObjectStoreError> {
  const { bytes: size, read } = yield* objects.open(content.objectKey)
  const etag = `"${content.sha256}"`
  const window = ByteRange.parse({ range: request.headers["range"], ifRange: request.headers["if-range"] }, size, etag)
  return HttpServerResponse.stream(read(window), {
    status: window === undefined ? 200 : 206,
    contentType: typeFor(request, content.contentType),
    contentLength: window?.length ?? size,
    headers: {
      "accept-ranges": "bytes",
      etag,
      ...safetyHeaders(content.disposition, content.filename),
      ...(window === undefined
        ? {}
        : { "content-range": `bytes ${window.start}-${window.start + window.length - 1}/${size}` })
    }
  })
})
