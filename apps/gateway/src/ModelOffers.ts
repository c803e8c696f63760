/** The models that the settings file defines, with the upstream of each of their offers. */
import type { AnyAdapter } from "@model-gateway/providers/Adapters"
import * as Model from "@model-gateway/offers/Model"
import type { Kind } from "@model-gateway/offers/Offer"
import * as Price from "@model-gateway/offers/Price"
import { nearest } from "@model-gateway/settings/Nearest"
import { Effect } from "effect"
import { Failure } from "./Failure.ts"
import type { Loaded } from "./LoadSettings.ts"
import * as ModelSettings from "./ModelSettings.ts"
import type { Upstream } from "./Offered.ts"
import * as Settings from "./Settings.ts"

/** A model at one upstream. */
export interface ModelOffer {
  readonly upstream: Upstream
  readonly model: Model.Model
  /** Names its place in the settings file. */
  readonly source: string
}

/**
 * Every offer of the settings file, in its order. Fails with a sentence about the first that is
 * wrong.
 */
export const all = Effect.fnUntraced(function* (loaded: Loaded, upstreams: ReadonlyArray<Upstream>) {
  const { modelSettings, sourceOf } = loaded.file
  const offers: Array<ModelOffer> = []
  for (const [publicId, entry] of Object.entries(modelSettings.models ?? {})) {
    const taken = new Set<Upstream>()
    let kind = entry.kind
    let name = entry.name
    for (const [index, offer] of entry.offers.entries()) {
      const at = (key?: string) => sourceOf(["models", publicId, "offers", index, ...(key === undefined ? [] : [key])])
      const upstream = yield* upstreamOf(offer.upstream, at("upstream"), upstreams)
      const { adapter } = upstream
      if (taken.has(upstream)) {
        return yield* new Failure({
          message: `Two offers use the upstream "${upstream.name}": see ${at("upstream")}. An upstream can have one offer of a model.`
        })
      }
      taken.add(upstream)
      const builtIn = builtInOf(adapter, offer.model, kind)
      kind ??= builtIn?.kind ?? onlyKindOf(adapter)
      name ??= builtIn?.name
      if (kind === undefined) {
        return yield* new Failure({
          message: `${sourceOf(["models", publicId])} has no "kind". ${adapter.title} has ${adapter.kinds.join(" and ")} models.`
        })
      }
      if (!adapter.kinds.includes(kind)) {
        return yield* new Failure({
          message: `${at("upstream")} is "${upstream.name}", but ${adapter.title} has no ${kind} models.`
        })
      }
      const pricing = offer.price === undefined ? builtIn?.pricing : Price.toPricing(offer.price)
      const timeLimit = ModelSettings.durationOf(offer.timeLimit)
      const parameters = offer.parameters ?? builtIn?.parameters
      const model =
        pricing === undefined
          ? undefined
          : Model.make(
              kind,
              {
                publicId,
                upstreamId: offer.model,
                name: name ?? publicId,
                ...(timeLimit === undefined ? {} : { timeLimit }),
                ...(parameters === undefined ? {} : { parameters }),
                ...(builtIn?.expiresOn === undefined ? {} : { expiresOn: builtIn.expiresOn }),
                ...(offer.price === undefined && builtIn?.hasUnconfirmedPrice === true
                  ? { hasUnconfirmedPrice: true }
                  : {})
              },
              pricing
            )
      if (model === undefined) {
        return yield* new Failure({
          message:
            offer.price === undefined
              ? `${at()} has no "price", and the catalog has none for ${offer.model} of ${adapter.title}. Give ${Model.units[kind]}.`
              : `${at("price")} is not a price of a ${kind} model. Give ${Model.units[kind]}.`
        })
      }
      offers.push({ upstream, model, source: at() })
    }
  }
  return offers
})

const upstreamOf = (
  name: string,
  source: string,
  upstreams: ReadonlyArray<Upstream>
): Effect.Effect<Upstream, Failure> => {
  const found = upstreams.find((upstream) => upstream.name === name)
  if (found !== undefined) return Effect.succeed(found)
  const off = Settings.upstreamOf(name)
  const names = upstreams.map((upstream) => upstream.name)
  return Effect.fail(
    new Failure({
      message:
        off === undefined
          ? `${source} is "${name}", which is not an upstream. Did you mean "${nearest(name, names)}"? Add others to "upstreams".`
          : `${source} is "${name}", which has no URL. Set ${off.baseUrl.variable}, or "upstreams.${name}.baseUrl".`
    })
  )
}

/**
 * The model of the catalog. An upstream id `*` stands for all that have no entry of their own.
 */
const builtInOf = ({ models }: AnyAdapter, upstreamId: string, kind: Kind | undefined): Model.Model | undefined => {
  const ofKind = models.filter((model) => kind === undefined || model.kind === kind)
  return ofKind.find((model) => model.upstreamId === upstreamId) ?? ofKind.find((model) => model.upstreamId === "*")
}

const onlyKindOf = ({ kinds }: AnyAdapter): Kind | undefined => (kinds.length === 1 ? kinds[0] : undefined)
