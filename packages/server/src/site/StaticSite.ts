/**
 * Serves a folder of built files at `/`: a web page and its assets.
 *
 * The folder is read once at startup, and each file gets its own route. Nothing outside the folder
 * can be requested, whatever a path looks like, and all other paths (the API, `/docs`, unknown
 * ones) are unaffected.
 *
 * A file with compressed copies beside it (`page.js` with `page.js.br` and `page.js.gz`, made by
 * the build) is sent in the form that the browser prefers. The copies are not checked. If you edit
 * a file, rebuild its `.br` and `.gz` copies or delete them.
 */
import { Context, Effect, FileSystem, Layer, Path } from "effect"
import { constUndefined } from "effect/Function"
import {
  Headers,
  HttpClientRequest,
  HttpRouter,
  type HttpServerError,
  HttpServerRequest,
  HttpServerResponse,
  HttpStaticServer
} from "effect/http"
import * as ContentCoding from "../http/ContentCoding.ts"
import * as LogEvent from "../log/LogEvent.ts"

/** Location of the files. */
export interface Options {
  /**
   * The folder with an `index.html`. If the folder or its `index.html` does not exist, nothing is
   * served; this is not an error.
   */
  readonly dir: string
}

/** The site that is served with the API. Default: none. */
export const StaticSite = Context.Reference<Options | undefined>("@model-gateway/server/site/StaticSite", {
  defaultValue: constUndefined
})

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

/** Paths of the service itself. Files with these names are not served. */
const reserved = /^(api|docs|healthz|metrics|openapi\.json|readyz)(\/|$)/

/** Whether a file is the compressed copy of another one. */
const isPacked = (file: string, files: ReadonlySet<string>): boolean =>
  Object.values(ContentCoding.extensions).some(
    (extension) => file.endsWith(extension) && files.has(file.slice(0, -extension.length))
  )

const urlOf = (file: string): string => `/${file.split("/").map(encodeURIComponent).join("/")}`

type Site = Effect.Effect<
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
const packed = (site: Site, file: string, contentType: string, available: ReadonlyArray<ContentCoding.Coding>): Site =>
  Effect.gen(function* () {
    const coding = yield* ContentCoding.choose(available)
    if (coding === undefined) return yield* site
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
      Effect.catch(() => site)
    )
  })

const serve = Effect.fnUntraced(function* ({ dir }: Options) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const router = yield* HttpRouter.HttpRouter
  if (!(yield* fs.exists(path.join(dir, "index.html")))) return

  const site = yield* HttpStaticServer.make({ root: dir })
  const files = new Set<string>()
  for (const entry of yield* fs.readDirectory(dir, { recursive: true })) {
    const { type } = yield* fs.stat(path.join(dir, entry))
    if (type === "File") files.add(entry.split(path.sep).join("/"))
  }

  const add = Effect.fnUntraced(function* (route: HttpRouter.PathInput, file: string) {
    const headers = { ...securityHeaders, "cache-control": cacheControl(file) }
    const available = ContentCoding.codings.filter((coding) => files.has(file + ContentCoding.extensions[coding]))
    const answer = available.length === 0 ? site : packed(site, file, yield* contentTypeOf(site, file), available)
    yield* router.add("GET", route, Effect.map(answer, HttpServerResponse.setHeaders(headers)))
  })
  for (const file of files) {
    if (isPacked(file, files)) continue
    if (reserved.test(file))
      yield* LogEvent.log("site_file_hidden", `${file} in ${dir} is not served: the service uses that path itself`)
    // The router compares decoded paths and reads a single colon as a parameter.
    else yield* add(`/${file.replaceAll(":", "::")}`, file)
  }
  yield* add("/", "index.html")
})

/** Adds a route for each file of the site, if there is one. `index.html` is also `/`. */
export const layer = Layer.effectDiscard(
  Effect.flatMap(StaticSite, (site) => (site === undefined ? Effect.void : serve(site)))
)
