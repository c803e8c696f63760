/** The models that the settings file defines, with the upstream of each of their offers. */
import type { AnyAdapter } from "@model-gateway/providers/Adapters"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import type { Model } from "@model-gateway/offers/Model"
import type { Kind } from "@model-gateway/offers/Offer"
import type { PerToken, PerVideo, Pricing } from "@model-gateway/offers/Pricing"
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
  readonly model: Model
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
      const pricing = offer.price === undefined ? builtIn?.pricing : pricingOf(offer.price)
      const timeLimit = ModelSettings.durationOf(offer.timeLimit)
      const parameters = offer.parameters ?? builtIn?.parameters
      const model =
        pricing === undefined
          ? undefined
          : modelOf(
              kind,
              {
                publicId,
                upstreamId: offer.model,
                name: name ?? publicId,
                ...(timeLimit === undefined ? {} : { timeLimit }),
                ...(parameters === undefined ? {} : { parameters })
              },
              pricing
            )
      if (model === undefined) {
        return yield* new Failure({
          message:
            offer.price === undefined
              ? `${at()} has no "price", and the catalog has none for ${offer.model} of ${adapter.title}. Give ${units[kind]}.`
              : `${at("price")} is not a price of a ${kind} model. Give ${units[kind]}.`
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
const builtInOf = ({ models }: AnyAdapter, upstreamId: string, kind: Kind | undefined): Model | undefined => {
  const ofKind = models.filter((model) => kind === undefined || model.kind === kind)
  return ofKind.find((model) => model.upstreamId === upstreamId) ?? ofKind.find((model) => model.upstreamId === "*")
}

const onlyKindOf = ({ kinds }: AnyAdapter): Kind | undefined => (kinds.length === 1 ? kinds[0] : undefined)

/** The units that a model of each kind may charge by. */
const units: Readonly<Record<Kind, string>> = {
  rerank: `"search_unit", or "input_tokens" and "output_tokens"`,
  transcription: `"second", or "input_tokens" and "output_tokens"`,
  video: `"second" or "video"`
}

/** Micro-credits of a price, which may be a fraction of one. Without the float error. */
const micro = (credits: number): number => Math.round(credits * MicroCredits.perCredit * 1e6) / 1e6

const perVideo = (unit: PerVideo["unit"], prices: NonNullable<ModelSettings.Price["video"]>): PerVideo | undefined => {
  const [first, ...others] =
    typeof prices === "number"
      ? [{ microCredits: micro(prices) }]
      : prices.map(({ credits, ...filter }) => ({ ...filter, microCredits: micro(credits) }))
  return first === undefined ? undefined : { unit, prices: [first, ...others] }
}

const perToken = ({ input_tokens, output_tokens }: ModelSettings.Price): PerToken => ({
  unit: "token",
  inputMicroCredits: micro(input_tokens ?? 0),
  outputMicroCredits: micro(output_tokens ?? 0)
})

/**
 * What a price of the file is by. Undefined if it has no unit, or units that do not go together.
 */
const pricingOf = (price: ModelSettings.Price): Pricing | undefined => {
  const { search_unit, second, video } = price
  const given = Object.keys(price).map((unit) => (unit.endsWith("_tokens") ? "tokens" : unit))
  if (new Set(given).size !== 1) return undefined
  if (search_unit !== undefined) return { unit: "search_unit", microCredits: micro(search_unit) }
  if (typeof second === "number") return { unit: "second", microCredits: micro(second) }
  if (second !== undefined) return perVideo("second", second)
  return video === undefined ? perToken(price) : perVideo("video", video)
}

type Described = Omit<Model, "kind" | "pricing">

/** The model, if a model of its kind can have this price. */
const modelOf = (kind: Kind, described: Described, pricing: Pricing): Model | undefined => {
  switch (kind) {
    case "rerank":
      return pricing.unit === "search_unit" || pricing.unit === "token" ? { ...described, kind, pricing } : undefined
    case "transcription":
      return pricing.unit === "token" || (pricing.unit === "second" && !("prices" in pricing))
        ? { ...described, kind, pricing }
        : undefined
    case "video":
      return pricing.unit === "second" || pricing.unit === "video" ? { ...described, kind, pricing } : undefined
  }
}
