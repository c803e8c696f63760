/**
 * Serves a folder of built files at `/`: a web page and its assets.
 *
 * Each file gets its own route, so all other paths (the API, `/docs`, unknown ones) are unaffected.
 */
import { Context, Effect, FileSystem, Layer, Path } from "effect"
import { constUndefined } from "effect/Function"
import { HttpRouter } from "effect/http"
import * as LogEvent from "../log/LogEvent.ts"
import * as SiteFolder from "./SiteFolder.ts"

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

/** Paths of the service itself. Files with these names are not served. */
const reserved = /^(api|console|docs|healthz|metrics|openapi\.json|readyz)(\/|$)/

const serve = Effect.fnUntraced(function* ({ dir }: Options) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const router = yield* HttpRouter.HttpRouter
  if (!(yield* fs.exists(path.join(dir, "index.html")))) return

  const folder = yield* SiteFolder.open(dir)
  for (const file of folder.files) {
    if (reserved.test(file))
      yield* LogEvent.log("site_file_hidden", `${file} in ${dir} is not served: the service uses that path itself`)
    // The router compares decoded paths and reads a single colon as a parameter.
    else yield* router.add("GET", `/${file.replaceAll(":", "::")}`, yield* folder.answer(file))
  }
  yield* router.add("GET", "/", yield* folder.answer("index.html"))
})

/** Adds a route for each file of the site, if there is one. `index.html` is also `/`. */
export const layer = Layer.effectDiscard(
  Effect.flatMap(StaticSite, (site) => (site === undefined ? Effect.void : serve(site)))
)
