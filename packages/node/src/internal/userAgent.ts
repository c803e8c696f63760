/** Names the client to the gateway. */
import { HttpClientRequest } from "effect/http"
import { version } from "./version.ts"

export const userAgent = `model-gateway-node/${version}`

/** Adds the `User-Agent` header, unless the caller has set one. */
export const withUserAgent = (request: HttpClientRequest.HttpClientRequest): HttpClientRequest.HttpClientRequest =>
  request.headers["user-agent"] === undefined ? HttpClientRequest.setHeader(request, "user-agent", userAgent) : request
