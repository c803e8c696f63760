/**
 * The path below which the service is served, such as `/gateway`, for a host that it shares with
 * other programs. The rest of the service sees paths without it.
 *
 * A path has exactly one spelling, so that the rules of a proxy apply to it: with the base path. Only
 * the health checks answer at the root, too, because what restarts a process need not know how it
 * is published.
 */
import { phrases } from "@model-gateway/core/GatewayError"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Failure } from "./Envelope.ts"

const healthChecks: ReadonlySet<string> = new Set(["/healthz", "/readyz"])

/** The URL without the base path. Undefined if it is not below it. */
export const strip = (basePath: string, url: string): string | undefined =>
  url.startsWith(`${basePath}/`) ? url.slice(basePath.length) : undefined

/** What becomes of a request. */
export type Located =
  | { readonly _tag: "Inside"; readonly request: HttpServerRequest.HttpServerRequest }
  | { readonly _tag: "Outside"; readonly failure: Failure }
  | { readonly _tag: "Root"; readonly response: HttpServerResponse.HttpServerResponse }

/** Locates requests. The base path itself is a redirect to the page, whose links are relative. */
export const make = (
  basePath: string | undefined
): ((request: HttpServerRequest.HttpServerRequest) => Located | undefined) => {
  if (basePath === undefined) return () => undefined
  const failure: Failure = {
    status: 404,
    message: `${phrases[404]}: no such path. The paths of the API begin with ${basePath}/api/v1, and ${basePath}/docs lists them`
  }
  const response = HttpServerResponse.empty({ status: 308, headers: { location: `${basePath}/` } })
  return (request) => {
    const url = strip(basePath, request.url)
    if (url !== undefined) return { _tag: "Inside", request: request.modify({ url }) }
    if (request.url === basePath) return { _tag: "Root", response }
    return healthChecks.has(request.url) ? undefined : { _tag: "Outside", failure }
  }
}
