/** Which models the executable offers: those of every upstream that is set, then the sandbox's. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import type { Adapter } from "@model-gateway/providers/Adapter"
import { adapters } from "@model-gateway/providers/Adapters"
import { gatewayCredential, type Offers } from "@model-gateway/providers/Offer"
import * as Sandbox from "@model-gateway/sandbox/Sandbox"
import { Effect, Layer } from "effect"
import type { Settings } from "./Settings.ts"

/** The built-in models of an adapter at its own upstream. None if the upstream is not set. */
const builtIn = Effect.fnUntraced(function* (adapter: Adapter, upstreams: Settings["upstreams"]) {
  const { apiKey, baseUrl = "" } = upstreams[adapter.name] ?? {}
  if (baseUrl === "" || (apiKey === undefined && adapter.credential === "required")) return []
  const upstream = { name: adapter.name, baseUrl, credential: gatewayCredential(apiKey) }
  return yield* adapter.offers(upstream, adapter.models)
})

const all = Effect.fnUntraced(function* (upstreams: Settings["upstreams"]) {
  const offers = yield* Effect.forEach(adapters, (adapter) => builtIn(adapter, upstreams))
  return [...offers.flat(), ...(yield* Sandbox.make())]
})

/** The layer that `use` makes from the offers. They share connections, which it keeps open. */
export const provideTo = <A, E, R>(upstreams: Settings["upstreams"], use: (offers: Offers) => Layer.Layer<A, E, R>) =>
  Layer.unwrap(Effect.map(all(upstreams), use)).pipe(Layer.provide(NodeHttpClient.layerUndici))
