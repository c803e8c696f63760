/** Adapters of upstreams that serve more than one kind of model. */
import { Effect } from "effect"
import { type Adapter, InvalidModel } from "@model-gateway/offers/Adapter"
import type { Kind } from "@model-gateway/offers/Offer"

/** The `offers` of an adapter, of those for each kind. */
export const offersByKind =
  <R>(byKind: { readonly [K in Kind]?: Adapter<R>["offers"] }): Adapter<R>["offers"] =>
  (upstream, models) =>
    Effect.map(
      Effect.forEach(models, (model) => {
        const offers = byKind[model.kind]
        const kinds = Object.keys(byKind).join(" or ")
        return offers === undefined
          ? Effect.fail(new InvalidModel({ model, message: `must be a ${kinds} model` }))
          : offers(upstream, [model])
      }),
      (offers) => offers.flat()
    )
