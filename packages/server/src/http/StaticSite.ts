/**
 * A folder of built files, served at `/`: a web page and what it loads, all of it from here.
 *
 * The folder is read once, when the service starts, and each file gets a route of its own. So nothing outside of it can be asked for, whatever a path looks like, and
 * every other path (the API, `/docs`, one that does not exist) stays what it was.
 */
import { Context, Effect, FileSystem, Layer, Path } from "effect"
import { constUndefined } from "effect/Function"
import { HttpRouter, HttpServerResponse, HttpStaticServer } from "effect/http"

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
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(self), payment=(), usb=()"
}

/** A hash of the content in the name, as bundlers write it: such a file never changes. */
const hashed = /-[\w-]{8,}\.\w+$/

const cacheControl = (file: string): string => (hashed.test(file) ? "public, max-age=31536000, immutable" : "no-cache")

/** What the service answers itself. A file of such a name is left out. */
const reserved = /^(api|docs|healthz|metrics|openapi\.json|readyz)(\/|$)/

const serve = Effect.fnUntraced(function* ({ dir }: Options) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const router = yield* HttpRouter.HttpRouter
  if (!(yield* fs.exists(path.join(dir, "index.html")))) return

  const site = yield* HttpStaticServer.make({ root: dir })
  const add = (route: HttpRouter.PathInput, file: string) => {
    const headers = { ...confined, "cache-control": cacheControl(file) }
    return router.add("GET", route, Effect.map(site, HttpServerResponse.setHeaders(headers)))
  }
  for (const entry of yield* fs.readDirectory(dir, { recursive: true })) {
    const { type } = yield* fs.stat(path.join(dir, entry))
    if (type !== "File") continue
    const file = entry.split(path.sep).join("/")
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
