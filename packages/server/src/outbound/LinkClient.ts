/**
 * The client for links that providers return, such as the one to a finished video. A provider that
 * was taken over, or lies, must not make the gateway read the operator's own network, so these
 * links are fetched like URLs of callers: see `OutboundHttp`.
 *
 * Provide it to the adapters. Without it, they refuse links to other hosts than their own.
 *
 * @example
 * ```ts
 * import { NodeHttpClient } from "@effect/platform-node"
 * import * as Adapter from "@model-gateway/offers/Adapter"
 * import * as Replicate from "@model-gateway/providers/Replicate"
 * import * as LinkClient from "@model-gateway/server/LinkClient"
 * import { Effect } from "effect"
 *
 * const offers = Adapter.offersConfig(Replicate.adapter).pipe(
 *   Effect.provide([NodeHttpClient.layerUndici, LinkClient.layer])
 * )
 * ```
 */
import * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"
import { Layer } from "effect"
import { layer as layerOutbound, OutboundHttp } from "./OutboundHttp.ts"

/** Connects to public addresses only, and to the setting `outboundExemptHosts`. */
export const layer: Layer.Layer<never> = Layer.effect(UpstreamHttp.LinkClient, OutboundHttp).pipe(
  Layer.provide(layerOutbound)
)
