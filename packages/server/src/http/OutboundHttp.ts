/**
 * The `HttpClient` for URLs that callers give: of webhooks and broadcast destinations.
 *
 * A request to a URL that `OutboundUrl` rejects fails. A name is resolved once for each connection,
 * all of its addresses must be public, and the connection is made to one of these very addresses,
 * so a name that resolves differently a moment later changes nothing. Redirects are not followed.
 * The proxies of the environment are not used.
 *
 * It has its own connections, which carry no credential of the gateway.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Context, Effect, flow, Layer } from "effect"
import { HttpClient, HttpClientError } from "effect/http"
import { lookup as systemLookup, type LookupAddress } from "node:dns"
import type { LookupFunction } from "node:net"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import * as OutboundUrl from "./OutboundUrl.ts"

/** Resolves a name to all of its addresses. */
export type Resolve = (
  name: string,
  answer: (error: Error | null, addresses: ReadonlyArray<LookupAddress>) => void
) => void

/** How names are resolved. Default: by the operating system. */
export const Resolver = Context.Reference<Resolve>("@model-gateway/server/http/OutboundHttp/Resolver", {
  defaultValue: () => (name, answer) =>
    systemLookup(name, { all: true }, (error, addresses) => answer(error, addresses ?? []))
})

/** The client for URLs of callers. */
export class OutboundHttp extends Context.Service<OutboundHttp, HttpClient.HttpClient>()(
  "@model-gateway/server/http/OutboundHttp"
) {}

/** A connection was refused because of where it would lead. */
export class NotPublic extends Error {
  override readonly name = "NotPublic"
}

/** A `lookup` for connections: it answers only if every address of the name is public. */
const guarded =
  (resolve: Resolve, exemptHosts: ReadonlyArray<string>): LookupFunction =>
  (name, options, answer) =>
    resolve(name, (error, all) => {
      if (error !== null) return answer(error, [])
      const isExempt = OutboundUrl.isExempt(name.replace(/\.$/, ""), exemptHosts)
      if (!isExempt && !all.every(({ address }) => OutboundUrl.isPublicAddress(address))) {
        return answer(new NotPublic("The host has an address that is not public"), [])
      }
      const [first] = all
      if (first === undefined) return answer(new Error("The host has no address"), [])
      if (options.all === true) return answer(null, [...all])
      answer(null, first.address, first.family)
    })

/**
 * Makes the client. `outboundExemptHosts` in the settings lists hosts that it always connects to.
 */
export const make = Effect.gen(function* () {
  const { outboundExemptHosts } = yield* GatewayServerConfig
  const dispatcher = yield* NodeHttpClient.makeDispatcherOptions({
    connect: { lookup: guarded(yield* Resolver, outboundExemptHosts), timeout: 10_000 }
  })
  const client = yield* Effect.provideService(NodeHttpClient.makeUndici, NodeHttpClient.Dispatcher, dispatcher)
  const guardedClient = HttpClient.make((request, url) => {
    const problem = OutboundUrl.problemOf(url.href, outboundExemptHosts)
    return problem === undefined
      ? client.execute(request)
      : Effect.fail(
          new HttpClientError.HttpClientError({
            reason: new HttpClientError.InvalidUrlError({ request, cause: new NotPublic(problem) })
          })
        )
  })
  // A URL may contain a token, and receivers need not know the ids of the gateway's spans.
  return HttpClient.transformResponse(
    guardedClient,
    flow(
      Effect.provideService(HttpClient.TracerDisabledWhen, () => true),
      Effect.provideService(HttpClient.TracerPropagationEnabled, false)
    )
  )
})

/** The client for URLs of callers. It closes its connections with the layer. */
export const layer: Layer.Layer<OutboundHttp> = Layer.effect(OutboundHttp, make)
