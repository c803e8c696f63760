/**
 * `/docs`: the API reference as a page. All of it comes with the service, and the page may load nothing from anywhere else.
 */
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { HttpApiSwagger } from "effect/http-api"

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

const confined = HttpRouter.middleware((effect) =>
  Effect.map(effect, (response) => HttpServerResponse.setHeader(response, "content-security-policy", policy))
)

/** The page. */
export const layer = HttpApiSwagger.layer(GatewayApi, { path: "/docs" }).pipe(Layer.provide(confined.layer))
