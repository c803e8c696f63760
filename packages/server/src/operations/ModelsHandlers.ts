/** GET `/models`: the models that the caller can use. */
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import type * as Models from "@model-gateway/core/Models"
import type { Offer } from "@model-gateway/providers/Offer"
import { perUnit, type Unit, units } from "@model-gateway/providers/Pricing"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as MicroCredits from "@model-gateway/providers/MicroCredits"
import { currentCaller } from "../access/Caller.ts"
import { type Entry, ModelCatalogue } from "../routing/ModelCatalogue.ts"
import * as OwnKeys from "../routing/OwnKeys.ts"

const capabilitiesOf = (offer: Offer): Models.Model["capabilities"] => {
  switch (offer.kind) {
    case "rerank":
      return { image_documents: offer.capabilities.image_documents }
    case "transcription": {
      const { audio_formats, word_timestamps } = offer.capabilities
      return { audio_formats, word_timestamps }
    }
    case "video": {
      const { aspect_ratios, generate_audio, max_duration, prompt_optional, resolutions, upscale } = offer.capabilities
      return { aspect_ratios, generate_audio, max_duration, prompt_optional, resolutions, upscale }
    }
  }
}

/** The offer's first price, for comparing offers of one model. */
const priceOf = ({ pricing }: Offer): number => {
  const prices = perUnit(pricing)
  return prices.search_unit ?? prices.second ?? prices.prompt ?? prices.request ?? Number.POSITIVE_INFINITY
}

/** The number of units that a price of the offer is for. */
const unitsOfPrice = (unit: Unit): number => (unit === "prompt" || unit === "completion" ? 1_000_000 : 1)

/** Prices in credits for one unit. */
const pricingOf = ({ pricing }: Offer): Models.Pricing => {
  const wire: { -readonly [U in Unit]?: number } = {}
  const prices = perUnit(pricing)
  for (const unit of units) {
    const price = prices[unit]
    // One division, so that the result is the double nearest to the exact price.
    if (price !== undefined) wire[unit] = price / (MicroCredits.perCredit * unitsOfPrice(unit))
  }
  return wire
}

const toWire = ({ id, kind, offers }: Entry): Models.Model => {
  const cheapest = offers.reduce((a, b) => (priceOf(b) < priceOf(a) ? b : a))
  return {
    id,
    name: cheapest.name,
    kind,
    is_free: offers.some(({ isFree }) => isFree),
    providers: offers.map(({ provider }) => provider),
    pricing: pricingOf(cheapest),
    capabilities: capabilitiesOf(cheapest)
  }
}

/** The `models` group of the contract. */
export const layer = HttpApiBuilder.group(GatewayApi, "models", (handlers) =>
  Effect.gen(function* () {
    const { all } = yield* ModelCatalogue
    const ownKeys = yield* OwnKeys.OwnKeys
    const models = all.map((entry) => ({ entry, model: toWire(entry) }))
    return handlers.handle(
      "listModels",
      Effect.fnUntraced(function* ({ query }) {
        const own = yield* ownKeys.of(yield* currentCaller)
        const usable = models.filter(
          ({ entry, model }) =>
            (query.kind === undefined || model.kind === query.kind) && OwnKeys.isUsable(entry.offers, own)
        )
        return { object: "list" as const, data: usable.map(({ model }) => model) }
      })
    )
  })
)
