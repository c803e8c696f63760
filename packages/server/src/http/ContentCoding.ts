/**
 * Chooses the compression of a response: the available coding that `Accept-Encoding` prefers (RFC
 * 9110, 12.5.3).
 *
 * Only for content that is the same for everyone. Its compressed forms are made once or are files
 * beside it, which Effect's `HttpMiddleware.compression` cannot use, and a caller's data is never
 * compressed together with a secret (decision 11).
 */
import { Context, Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { brotliCompress, constants, gzip } from "node:zlib"
import { RequestContext } from "./RequestContext.ts"

/** A compression that every browser supports, by its `Content-Encoding` name. */
export type Coding = "br" | "gzip"

/** All codings, the denser one first. It wins if a request accepts both equally. */
export const codings: ReadonlyArray<Coding> = ["br", "gzip"]

/** The file name extension of each compressed form. */
export const extensions: Readonly<Record<Coding, string>> = { br: ".br", gzip: ".gz" }

const member = /^([\w!#$%&'*+.^`|~-]+)(?:[ \t]*;[ \t]*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/i

/**
 * The coding of `available` that the header prefers. Undefined: send the content uncompressed. That
 * is the result without a header, with a malformed one, and if the header prefers uncompressed
 * content.
 */
export const negotiate = (header: string | undefined, available: ReadonlyArray<Coding>): Coding | undefined => {
  if (header === undefined) return undefined
  const accepted = new Map<string, number>()
  for (const part of header.split(",")) {
    const text = part.trim()
    if (text === "") continue
    const match = member.exec(text)
    if (match === null) return undefined
    const [, name = "", quality = "1"] = match
    accepted.set(name.toLowerCase(), Number(quality))
  }
  const others = accepted.get("*")
  // An unlisted `identity` ranks below any accepted coding.
  let best = accepted.get("identity") ?? 0
  let chosen: Coding | undefined
  for (const coding of available) {
    const quality = accepted.get(coding) ?? (coding === "gzip" ? accepted.get("x-gzip") : undefined) ?? others ?? 0
    if (quality > best || (quality === best && quality > 0 && chosen === undefined)) {
      best = quality
      chosen = coding
    }
  }
  return chosen
}

/** Negotiates for the current request, and adds `Vary` to its response. */
export const choose = (available: ReadonlyArray<Coding>): Effect.Effect<Coding | undefined> =>
  Effect.withFiber((fiber) => {
    const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
    const { headers } = Context.getUnsafe(fiber.context, RequestContext)
    const vary = headers["vary"]
    headers["vary"] = vary === undefined ? "Accept-Encoding" : `${vary}, Accept-Encoding`
    return Effect.succeed(negotiate(request.headers["accept-encoding"], available))
  })

/**
 * Brotli's highest levels take seconds to save a tenth. Use them for files compressed at build
 * time.
 */
const brotliQuality = 6

/** Compresses on another thread. */
export const pack = (coding: Coding, bytes: Uint8Array): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    const done = (error: Error | null, packed: Uint8Array): void => (error === null ? resolve(packed) : reject(error))
    if (coding === "gzip") gzip(bytes, { level: constants.Z_BEST_COMPRESSION }, done)
    else {
      const params = {
        [constants.BROTLI_PARAM_QUALITY]: brotliQuality,
        [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length
      }
      brotliCompress(bytes, { params }, done)
    }
  })
