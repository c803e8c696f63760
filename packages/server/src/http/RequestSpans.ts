/** The spans of requests, if the program that runs the service gives it a tracer. */
import { Effect, Layer } from "effect"
import { HttpMiddleware, type HttpServerRequest } from "effect/http"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import * as BasePath from "./BasePath.ts"
import * as Routes from "./Routes.ts"

/**
 * Names the span of a request by its operation. Other requests have none: health checks, metrics,
 * pages.
 */
export const layer: Layer.Layer<never> = Layer.unwrap(
  Effect.map(GatewayServerConfig, ({ basePath = "" }) => {
    const operationOf = ({ method, url }: HttpServerRequest.HttpServerRequest) =>
      Routes.nameOf(method, BasePath.strip(basePath, url) ?? url)
    return Layer.merge(
      Layer.succeed(HttpMiddleware.SpanNameGenerator, (request) => operationOf(request) ?? request.method),
      Layer.succeed(HttpMiddleware.TracerDisabledWhen, (request) => operationOf(request) === undefined)
    )
  })
)
