/**
 * A folder of built files that the service sends: pages and their assets.
 *
 * The folder is read once at startup. Nothing outside of it can be requested, whatever a path looks
 * like.
 *
 * A file with compressed copies beside it (`page.js` with `page.js.br` and `page.js.gz`, made by
 * the build) is sent in the form that the browser prefers. The copies are not checked. If you edit
 * a file, rebuild its `.br` and `.gz` copies or delete them.
 */
import { Effect, FileSystem, Path } from "effect"
import {
  Headers,
  HttpClientRequest,
  type HttpServerError,
  HttpServerRequest,
  HttpServerResponse,
  HttpStaticServer
} from "effect/http"
import * as ContentCoding from "../http/ContentCoding.ts"

/**
 * Allows the page's own files only: no inline script, no other origin, no framing. Blobs are the
 * videos and recordings that the page plays.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "media-src 'self' blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join("; ")

const securityHeaders = {
  "content-security-policy": policy,
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(self), payment=(), usb=()"
}

/** A content hash in the name, as bundlers write it. Such a file never changes. */
const hasContentHash = /-[\w-]{8,}\.\w+$/

const cacheControl = (file: string): string =>
  hasContentHash.test(file) ? "public, max-age=31536000, immutable" : "no-cache"

/** Whether a file is the compressed copy of another one. */
const isPacked = (file: string, files: ReadonlySet<string>): boolean =>
  Object.values(ContentCoding.extensions).some(
    (extension) => file.endsWith(extension) && files.has(file.slice(0, -extension.length))
  )

const urlOf = (file: string): string => `/${file.split("/").map(encodeURIComponent).join("/")}`

/** An answer with a file. */
export type Site = Effect.Effect<
  HttpServerResponse.HttpServerResponse,
  HttpServerError.HttpServerError,
  HttpServerRequest.HttpServerRequest
>

/** The content type follows the file's own name, not its compressed copy's. */
const contentTypeOf = (site: Site, file: string): Effect.Effect<string> => {
  // Not a `Request`: Node would load its own `fetch` for it when the service starts.
  const request = HttpServerRequest.fromClientRequest(HttpClientRequest.get(urlOf(file)))
  return site.pipe(
    Effect.provideService(HttpServerRequest.HttpServerRequest, request),
    Effect.map(({ headers }) => headers["content-type"] ?? "application/octet-stream"),
    Effect.orElseSucceed(() => "application/octet-stream")
  )
}

/**
 * The file in the coding that the request prefers. A range request gets the uncompressed file,
 * because ranges refer to the encoded bytes.
 */
const packed = (
  site: Site,
  own: Site,
  file: string,
  contentType: string,
  available: ReadonlyArray<ContentCoding.Coding>
): Site =>
  Effect.gen(function* () {
    const coding = yield* ContentCoding.choose(available)
    if (coding === undefined) return yield* own
    const request = yield* HttpServerRequest.HttpServerRequest
    const asPacked = request.modify({
      url: urlOf(file + ContentCoding.extensions[coding]),
      headers: Headers.removeMany(request.headers, ["range", "if-range"])
    })
    const headers = { "content-encoding": coding, "content-type": contentType, "accept-ranges": "none" }
    return yield* site.pipe(
      Effect.provideService(HttpServerRequest.HttpServerRequest, asPacked),
      Effect.map((response) => (response.status === 200 ? HttpServerResponse.setHeaders(response, headers) : response)),
      // The folder was removed after startup.
      Effect.catch(() => own)
    )
  })

/** The files of a folder. */
export interface SiteFolder {
  /** Their paths, relative to the folder, without compressed copies. */
  readonly files: ReadonlyArray<string>
  /** The answer with a file, whatever the path of the request. */
  readonly answer: (file: string) => Effect.Effect<Site>
}

/** Reads the folder. */
export const open = Effect.fnUntraced(function* (dir: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const site = yield* HttpStaticServer.make({ root: dir })
  const files = new Set<string>()
  for (const entry of yield* fs.readDirectory(dir, { recursive: true })) {
    const { type } = yield* fs.stat(path.join(dir, entry))
    if (type === "File") files.add(entry.split(path.sep).join("/"))
  }

  const answer = Effect.fnUntraced(function* (file: string) {
    const headers = { ...securityHeaders, "cache-control": cacheControl(file) }
    const available = ContentCoding.codings.filter((coding) => files.has(file + ContentCoding.extensions[coding]))
    const own = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
      Effect.provideService(site, HttpServerRequest.HttpServerRequest, request.modify({ url: urlOf(file) }))
    )
    const sent = available.length === 0 ? own : packed(site, own, file, yield* contentTypeOf(site, file), available)
    return Effect.map(sent, HttpServerResponse.setHeaders(headers))
  })
  const folder: SiteFolder = { files: [...files].filter((file) => !isPacked(file, files)), answer }
  return folder
})
