/**
 * The API reference: `/docs` as a page, `/openapi.json` as a document. Everything is served from
 * here; the page loads nothing from other origins.
 */
import { ofPreset } from "@model-gateway/core/WireNames"
import { Effect, FileSystem, Path } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import * as FixedAnswer from "../http/FixedAnswer.ts"
import * as BuildInfo from "../observability/BuildInfo.ts"
import * as OpenApiDocument from "../openapi/OpenApiDocument.ts"
import * as ReferencePage from "./ReferencePage.ts"
import { referenceScript } from "./referenceScript.ts"
import * as WebApplication from "./WebApplication.ts"

/** Requests may only go to this service. The script of the page writes styles into its elements. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join("; ")

const headers = {
  "content-security-policy": policy,
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin"
}

/** The build copies it from the package `openapi-explorer`. */
const script = Effect.gen(function* () {
  const path = yield* (yield* Path.Path).fromFileUrl(new URL("../../assets/openapi-explorer.min.js", import.meta.url))
  return yield* (yield* FileSystem.FileSystem).readFile(path)
}).pipe(Effect.orDie)

/** Routes of the page, its script and the document. */
export const layer = HttpRouter.use((router) =>
  Effect.gen(function* () {
    const context = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
    const { basePath, wireNames: preset } = yield* GatewayServerConfig
    const version = yield* BuildInfo.ProgramVersion
    const pages = yield* WebApplication.servedPages
    const wireNames = ofPreset(preset)
    const text = (content: string): Uint8Array =>
      new TextEncoder().encode(wireNames === undefined ? content : wireNames.toWire.text(content))
    // One document makes both: it takes a tenth of a second.
    const reference = yield* Effect.cached(
      Effect.sync(() => {
        const document = OpenApiDocument.make({ basePath })
        return {
          page: text(ReferencePage.make(document, { wireNames: preset, version, pages })),
          document: text(JSON.stringify(document))
        }
      })
    )
    /** Made for the first request. */
    const route = (
      path: `/${string}`,
      contentType: string,
      content: Effect.Effect<Uint8Array, never, FileSystem.FileSystem | Path.Path>
    ) =>
      Effect.gen(function* () {
        const answer = yield* Effect.cached(
          Effect.map(Effect.provideContext(content, context), (bytes) => FixedAnswer.make(bytes, contentType))
        )
        yield* router.add("GET", path, Effect.map(Effect.flatten(answer), HttpServerResponse.setHeaders(headers)))
      })
    yield* route(
      "/docs",
      "text/html; charset=utf-8",
      Effect.map(reference, ({ page }) => page)
    )
    yield* route("/docs/openapi-explorer.js", "text/javascript; charset=utf-8", script)
    yield* route(
      "/docs/page.js",
      "text/javascript; charset=utf-8",
      Effect.succeed(new TextEncoder().encode(referenceScript))
    )
    yield* route(
      "/openapi.json",
      "application/json",
      Effect.map(reference, ({ document }) => document)
    )
  })
)
