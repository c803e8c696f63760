/**
 * A success that stays the same for everyone while the process runs. It is compressed once, when it
 * is first requested. Its `ETag` answers clients that already have it with a 304.
 *
 * Effect's `HttpMiddleware.compression` compresses every response again. `/openapi.json` is large,
 * and anyone may ask for it.
 */
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { createHash } from "node:crypto"
import * as ContentCoding from "./ContentCoding.ts"

/** The response to a request. */
export type FixedAnswer = Effect.Effect<
  HttpServerResponse.HttpServerResponse,
  never,
  HttpServerRequest.HttpServerRequest
>

const isKnown = (ifNoneMatch: string | undefined, etag: string): boolean =>
  ifNoneMatch !== undefined &&
  ifNoneMatch.split(",").some((candidate) => {
    const known = candidate.trim().replace(/^W\//, "")
    return known === "*" || known === etag
  })

/** Makes the response from its content. Browsers revalidate it each time. */
export const make = (bytes: Uint8Array, contentType: string): FixedAnswer => {
  const hash = createHash("sha256").update(bytes).digest("base64url").slice(0, 22)
  const packed = new Map<ContentCoding.Coding, Promise<Uint8Array>>()
  const bodyIn = (coding: ContentCoding.Coding): Promise<Uint8Array> => {
    const made = packed.get(coding) ?? ContentCoding.pack(coding, bytes)
    packed.set(coding, made)
    return made
  }

  return Effect.gen(function* () {
    const coding = yield* ContentCoding.choose(ContentCoding.codings)
    const request = yield* HttpServerRequest.HttpServerRequest
    const etag = coding === undefined ? `"${hash}"` : `"${hash}-${coding}"`
    const headers = { etag, "cache-control": "no-cache" }
    if (isKnown(request.headers["if-none-match"], etag)) return HttpServerResponse.empty({ status: 304, headers })
    return coding === undefined
      ? HttpServerResponse.uint8Array(bytes, { contentType, headers })
      : HttpServerResponse.uint8Array(yield* Effect.promise(() => bodyIn(coding)), {
          contentType,
          headers: { ...headers, "content-encoding": coding }
        })
  })
}
