/** Which models the executable offers. A new adapter is added here. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as Cohere from "@model-gateway/providers/Cohere"
import type { Offers } from "@model-gateway/providers/Offer"
import * as Sandbox from "@model-gateway/sandbox/Sandbox"
import { Effect, Layer } from "effect"
import type { Settings } from "./Settings.ts"

/** The offers of every upstream that has a key, then the sandbox's. */
const all = Effect.fnUntraced(function* ({ cohere: { apiKey, baseUrl } }: Settings["upstreams"]) {
  const cohere = apiKey === undefined ? [] : yield* Cohere.offers({ apiKey, baseUrl })
  return [...cohere, ...(yield* Sandbox.make())]
})

/** The layer that `use` makes from the offers. They share connections, which it keeps open. */
export const provideTo = <A, E, R>(upstreams: Settings["upstreams"], use: (offers: Offers) => Layer.Layer<A, E, R>) =>
  Layer.unwrap(Effect.map(all(upstreams), use)).pipe(Layer.provide(NodeHttpClient.layerUndici))
