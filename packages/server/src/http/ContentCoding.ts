/**
 * Which compression an answer goes out in: what the request's `Accept-Encoding` likes best of what there is (RFC 9110, 12.5.3).
 *
 * For contents that are the same for everybody alone: their compressed forms are made once, and nothing of a caller's is in one with a secret.
 */
import { Context, Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { brotliCompress, constants, gzip } from "node:zlib"
import { RequestContext } from "./RequestContext.ts"

/** A compression that every browser knows, by its name in `Content-Encoding`. */
export type Coding = "br" | "gzip"

/** All of them, the denser one first: between what a request likes equally, that one is taken. */
export const codings: ReadonlyArray<Coding> = ["br", "gzip"]

/** What a file's compressed form is called, behind the file's own name. */
export const extensions: Readonly<Record<Coding, string>> = { br: ".br", gzip: ".gz" }

const member = /^([\w!#$%&'*+.^`|~-]+)(?:[ \t]*;[ \t]*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/i

/**
 * The coding of `available` that the header likes best; undefined: none of them, the content goes as it is. That is so without a header, with one that is malformed, and where the
 * header likes the plain content better.
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
  // What goes without saying is the least liked; it is left to the coding to be named.
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

/** Negotiates for the request being served, and has its answer say that another request may get another coding. */
export const choose = (available: ReadonlyArray<Coding>): Effect.Effect<Coding | undefined> =>
  Effect.withFiber((fiber) => {
    const request = Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest)
    const { headers } = Context.getUnsafe(fiber.context, RequestContext)
    const vary = headers["vary"]
    headers["vary"] = vary === undefined ? "Accept-Encoding" : `${vary}, Accept-Encoding`
    return Effect.succeed(negotiate(request.headers["accept-encoding"], available))
  })

/** Brotli's last steps cost seconds and save a tenth: those are for what is built beforehand. */
const brotliQuality = 6

/** Compresses, outside of the thread that serves. */
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
