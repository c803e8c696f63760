/**
 * Calls the service in this process. A request passes everything that one from a network passes:
 * the key, its permission, its rate limit, idempotency, the reservation and the ledger. Nothing of
 * the service is reached in another way.
 */
import { type Context, Effect, type Option, type Scope } from "effect"
import { HttpClient, HttpClientRequest, HttpClientResponse, HttpEffect, HttpServerRequest } from "effect/http"
import type { HttpServerResponse } from "effect/http"

/** What the HTTP server runs for each request. */
export type App = Effect.Effect<
  HttpServerResponse.HttpServerResponse,
  unknown,
  HttpServerRequest.HttpServerRequest | Scope.Scope
>

/** What the service sees of the connection that a call is made for. */
export interface Peer {
  readonly remoteAddress: Option.Option<string>
  /** For trusted proxies. */
  readonly forwardedFor: string | undefined
}

/** The peer of a request. Failed authentications count for its address. */
export const peerOf = ({ headers, remoteAddress }: HttpServerRequest.HttpServerRequest): Peer => ({
  remoteAddress,
  forwardedFor: headers["x-forwarded-for"]
})

/** The client of a peer. `context` is that of the service. */
export const makeClient = (app: App, context: Context.Context<never>, peer: Peer): HttpClient.HttpClient => {
  const handle = HttpEffect.toWebHandlerWith<never, HttpServerRequest.HttpServerRequest | Scope.Scope>(context)(
    Effect.updateService(app, HttpServerRequest.HttpServerRequest, (request) =>
      request.modify({ remoteAddress: peer.remoteAddress })
    )
  )
  return HttpClient.make((request, _url, signal) => {
    const sent =
      peer.forwardedFor === undefined
        ? request
        : HttpClientRequest.setHeader(request, "x-forwarded-for", peer.forwardedFor)
    return HttpClientRequest.toWeb(sent, { signal }).pipe(
      // The address is a constant of this program.
      Effect.orDie,
      Effect.flatMap((web) => Effect.promise(() => handle(web))),
      Effect.map((response) => HttpClientResponse.fromWeb(request, response))
    )
  })
}
