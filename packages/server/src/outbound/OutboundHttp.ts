/**
 * The `HttpClient` for URLs that callers and providers give: of webhooks, broadcast destinations
 * and finished videos.
 *
 * A request to a URL that `OutboundUrl` rejects fails with an `InvalidUrlError`. All addresses of
 * its host must be public, and the connection is made to one of these very addresses, so a name
 * that resolves differently a moment later changes nothing. Redirects are not followed. The proxies
 * of the environment are not used.
 *
 * It has its own connections, which carry no credential of the gateway.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Context, Effect, flow, Layer } from "effect"
import { HttpClient, HttpClientError } from "effect/http"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import * as HostNames from "./HostNames.ts"
import * as OutboundUrl from "./OutboundUrl.ts"

/** The client for URLs of callers and providers. */
export class OutboundHttp extends Context.Service<OutboundHttp, HttpClient.HttpClient>()(
  "@model-gateway/server/outbound/OutboundHttp"
) {}

/** A connection was refused because of where it would lead. */
export class NotPublic extends Error {
  override readonly name = "NotPublic"
}

const causeOf = ({ reason }: HttpClientError.HttpClientError): unknown => {
  const { cause } = reason
  return cause instanceof Error && cause.cause instanceof NotPublic ? cause.cause : cause
}

/**
 * Makes the client. `outboundExemptHosts` in the settings lists hosts that it always connects to.
 */
export const make = Effect.gen(function* () {
  const { outboundExemptHosts, outboundNameServers } = yield* GatewayServerConfig
  const names = yield* HostNames.shared(outboundNameServers)
  // One at a time, so that the exempt hosts never occupy both threads of the operating system.
  const exemptNames = yield* HostNames.system({ maxLookUps: 1 })
  const isExempt = (name: string) => OutboundUrl.isExempt(name, outboundExemptHosts)

  const addressesOf = Effect.fnUntraced(function* (name: string) {
    if (isExempt(name)) return yield* exemptNames.addressesOf(name)
    const all = yield* names.addressesOf(name)
    return all.every(({ address }) => OutboundUrl.isPublicAddress(address))
      ? all
      : yield* Effect.fail(new NotPublic("The host has an address that is not public"))
  })
  const lookup = yield* HostNames.toLookup((name) => addressesOf(name.replace(/\.$/, "")))
  const dispatcher = yield* NodeHttpClient.makeDispatcherOptions({ connect: { lookup, timeout: 10_000 } })
  const client = yield* Effect.provideService(NodeHttpClient.makeUndici, NodeHttpClient.Dispatcher, dispatcher)

  const guardedClient = HttpClient.make((request, url) => {
    const refuse = (cause: NotPublic) =>
      new HttpClientError.HttpClientError({ reason: new HttpClientError.InvalidUrlError({ request, cause }) })
    const problem = OutboundUrl.hostProblemOf(url, outboundExemptHosts)
    if (problem !== undefined) return Effect.fail(refuse(new NotPublic(problem)))
    const host = OutboundUrl.hostOf(url)
    // The connection finds the addresses in the cache. Here, the look-up counts for its owner.
    const resolved =
      isExempt(host) || OutboundUrl.isAddress(host)
        ? Effect.void
        : Effect.mapError(
            addressesOf(host),
            (cause) =>
              new HttpClientError.HttpClientError({ reason: new HttpClientError.TransportError({ request, cause }) })
          )
    return Effect.andThen(resolved, client.execute(request)).pipe(
      Effect.mapError((error) => {
        const cause = causeOf(error)
        return cause instanceof NotPublic ? refuse(cause) : error
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

/** The client for URLs of callers and providers. It closes its connections with the layer. */
export const layer: Layer.Layer<OutboundHttp> = Layer.effect(OutboundHttp, make)
