/**
 * The API reference: `/docs` as a page, `/openapi.json` as a document. Everything is served from
 * here; the page loads nothing from other origins.
 */
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import * as OpenApiDocument from "@model-gateway/core/OpenApiDocument"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { HttpApiSwagger } from "effect/http-api"
import * as FixedAnswer from "../http/FixedAnswer.ts"

/** Scripts and styles are inline. Requests may only go to this service. */
const policy = [
  "default-src 'none'",
  "script-src 'unsafe-inline'",
  "style-src 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join("; ")

const confined = (response: HttpServerResponse.HttpServerResponse): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.setHeader(response, "content-security-policy", policy)

/** The page is 2 MB, nearly all of it scripts. */
const packed = HttpRouter.middleware(
  Effect.sync(() => {
    let page: FixedAnswer.FixedAnswer | undefined
    return (effect) =>
      Effect.flatMap(effect, (response) => {
        const { body } = response
        if (body._tag !== "Uint8Array") return Effect.succeed(confined(response))
        page ??= FixedAnswer.make(body.body, body.contentType)
        return Effect.map(page, confined)
      })
  })
)

const page = HttpApiSwagger.layer(GatewayApi, { path: "/docs" }).pipe(Layer.provide(packed.layer))

const document = HttpRouter.use((router) => {
  let answer: FixedAnswer.FixedAnswer | undefined
  const make = () =>
    FixedAnswer.make(new TextEncoder().encode(JSON.stringify(OpenApiDocument.make())), "application/json")
  return router.add(
    "GET",
    "/openapi.json",
    Effect.suspend(() => (answer ??= make()))
  )
})

/** Both routes. */
export const layer = Layer.mergeAll(page, document)
