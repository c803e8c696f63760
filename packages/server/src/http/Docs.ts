/**
 * The API reference: `/docs` as a page, `/openapi.json` as a document. All of it comes with the service, and the page may load nothing from anywhere else.
 */
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { HttpApiSwagger, OpenApi } from "effect/http-api"
import * as FixedAnswer from "./FixedAnswer.ts"

/** Scripts and styles are part of the page; requests may go to this service alone. */
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

/** The page is two megabytes, nearly all of them scripts. */
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
    FixedAnswer.make(new TextEncoder().encode(JSON.stringify(OpenApi.fromApi(GatewayApi))), "application/json")
  return router.add(
    "GET",
    "/openapi.json",
    Effect.suspend(() => (answer ??= make()))
  )
})

/** Both. */
export const layer = Layer.mergeAll(page, document)
