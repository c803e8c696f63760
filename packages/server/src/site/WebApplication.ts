/**
 * Serves the web application: the playground at `/play`, to which `/` leads, and the console at
 * `/console`.
 *
 * Both are pages of one build, with `play.html`, `console/index.html` and `assets/`. Links between
 * them are relative, so that they can be below any base path.
 */
import { Context, Effect, FileSystem, Layer, Path } from "effect"
import { constUndefined } from "effect/Function"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import * as ConsoleAccess from "../console/ConsoleAccess.ts"
import * as SiteFolder from "./SiteFolder.ts"

/** What is served of the application. */
export interface Options {
  /** The folder of the build. Pages that it does not have are not served; this is not an error. */
  readonly dir: string
  /** Whether the playground is served. The console is if it is switched on. */
  readonly hasPlayground: boolean
}

/** The application that is served with the API. Default: none. */
export const WebApplication = Context.Reference<Options | undefined>("@model-gateway/server/site/WebApplication", {
  defaultValue: constUndefined
})

const playground = "play.html"
const console = "console/index.html"

/** To a location that is relative to the path of the request. */
const redirect = (location: string) =>
  Effect.map(HttpServerRequest.HttpServerRequest, ({ url }) => {
    const at = url.indexOf("?")
    return HttpServerResponse.redirect(at === -1 ? location : location + url.slice(at), {
      headers: { "cache-control": "no-cache" }
    })
  })

/** Which of its pages are served. */
export const servedPages = Effect.gen(function* () {
  const application = yield* WebApplication
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const isServed = Effect.fnUntraced(function* (page: string, wanted: boolean) {
    return application !== undefined && wanted && (yield* fs.exists(path.join(application.dir, page)))
  })
  return {
    playground: yield* isServed(playground, application?.hasPlayground === true),
    console: yield* isServed(console, (yield* ConsoleAccess.Console) !== undefined)
  }
})

const serve = Effect.fnUntraced(function* ({ dir }: Options) {
  const router = yield* HttpRouter.HttpRouter
  const pages = yield* servedPages
  if (!pages.playground && !pages.console) return

  const folder = yield* SiteFolder.open(dir)
  if (pages.playground) {
    yield* router.add("GET", "/", redirect("play"))
    yield* router.add("GET", "/play", yield* folder.answer(playground))
  }
  if (pages.console) {
    const page = yield* folder.answer(console)
    yield* router.add("GET", "/console", redirect("console/"))
    yield* router.add("GET", "/console/", page)
    // The routes of the page. Paths that have a route of their own precede it.
    yield* router.add("GET", "/console/:page", page)
  }
  for (const file of folder.files) {
    // Both pages use the same files.
    if (!file.endsWith(".html")) yield* router.add("GET", `/${file.replaceAll(":", "::")}`, yield* folder.answer(file))
  }
})

/** Adds the routes of the application, if there is one. */
export const layer = Layer.effectDiscard(
  Effect.flatMap(WebApplication, (application) => (application === undefined ? Effect.void : serve(application)))
)
