/**
 * A folder of built files, served at `/`: a web page and what it loads, all of it from here.
 *
 * The folder is read once, when the service starts, and each file gets a route of its own. So nothing outside of it can be asked for, whatever a path looks like, and
 * every other path (the API, `/docs`, one that does not exist) stays what it was.
 *
 * A file with its compressed forms beside it (`page.js` with `page.js.br` and `page.js.gz`, as a build leaves them) goes out in the one that the browser likes best. These are taken for the
 * same content as they are: who changes the file has to make them anew, or remove them.
 */
import { Context, Effect, FileSystem, Layer, Path } from "effect"
import { constUndefined } from "effect/Function"
import {
  Headers,
  HttpRouter,
  type HttpServerError,
  HttpServerRequest,
  HttpServerResponse,
  HttpStaticServer
} from "effect/http"
import * as ContentCoding from "./ContentCoding.ts"

/** Where the files are. */
export interface Options {
  /** The folder, with an `index.html` in it. A folder that is not there, or has none, is no error: then nothing is served. */
  readonly dir: string
}

/** The site that is served with the API; none unless told. */
export const StaticSite = Context.Reference<Options | undefined>("@model-gateway/server/StaticSite", {
  defaultValue: constUndefined
})

/** The page's own files and nothing else: no inline script, no other origin, no frame around it. Blobs are the videos and recordings that it plays. */
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

const confined = {
  "content-security-policy": policy,
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(self), payment=(), usb=()"
}

/** A hash of the content in the name, as bundlers write it: such a file never changes. */
const hashed = /-[\w-]{8,}\.\w+$/

const cacheControl = (file: string): string => (hashed.test(file) ? "public, max-age=31536000, immutable" : "no-cache")

/** What the service answers itself. A file of such a name is left out. */
const reserved = /^(api|docs|healthz|metrics|openapi\.json|readyz)(\/|$)/

/** Whether a file is another one's compressed form. */
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

/** What the file is, is told by its own name and not by its compressed form's. */
const contentTypeOf = (site: Site, file: string): Effect.Effect<string> => {
  const request = HttpServerRequest.fromWeb(new Request(new URL(urlOf(file), "http://site.invalid")))
  return site.pipe(
    Effect.provideService(HttpServerRequest.HttpServerRequest, request),
    Effect.map(({ headers }) => headers["content-type"] ?? "application/octet-stream"),
    Effect.orElseSucceed(() => "application/octet-stream")
  )
}

/** The file in the coding that the request likes best; in part only as it is, as a range of a compressed form would be one of something else. */
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
      // Taken away since the start.
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
    const headers = { ...confined, "cache-control": cacheControl(file) }
    const available = ContentCoding.codings.filter((coding) => files.has(file + ContentCoding.extensions[coding]))
    const answer = available.length === 0 ? site : packed(site, file, yield* contentTypeOf(site, file), available)
    yield* router.add("GET", route, Effect.map(answer, HttpServerResponse.setHeaders(headers)))
  })
  for (const file of files) {
    if (isPacked(file, files)) continue
    if (reserved.test(file)) yield* Effect.logWarning(`${file} in ${dir} is not served: that path is the service's own`)
    // The router compares decoded paths, and takes a single colon for a parameter.
    else yield* add(`/${file.replaceAll(":", "::")}`, file)
  }
  yield* add("/", "index.html")
})

/** Adds a route for each file of the site, where there is one; `index.html` is also `/`. */
export const layer = Layer.effectDiscard(
  Effect.flatMap(StaticSite, (site) => (site === undefined ? Effect.void : serve(site)))
)
