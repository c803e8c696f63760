/** Models, offers and prices as the operations on models publish them. */
import * as ModelEndpoints from "@model-gateway/core/ModelEndpoints"
import * as Models from "@model-gateway/core/Models"
import type * as VideoModels from "@model-gateway/core/VideoModels"
import type { Offer, VideoOffer } from "@model-gateway/offers/Offer"
import { perUnit, type PerVideo, type Unit, type VideoPrice } from "@model-gateway/offers/Pricing"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import type { Entry } from "./ModelCatalog.ts"

const capabilitiesOf = (offer: Offer): Models.Capabilities => {
  switch (offer.kind) {
    case "rerank":
      return { image_documents: offer.capabilities.image_documents }
    case "transcription": {
      const { audio_formats, word_timestamps } = offer.capabilities
      return { audio_formats, word_timestamps }
    }
    case "video": {
      const { aspect_ratios, generate_audio, max_duration, prompt_optional, references, resolutions, upscale } =
        offer.capabilities
      return {
        aspect_ratios,
        generate_audio,
        max_duration,
        prompt_optional,
        ...(references === undefined ? {} : { references }),
        resolutions,
        upscale
      }
    }
  }
}

const inputModalitiesOf = (offer: Offer): ReadonlyArray<Models.InputModality> => {
  switch (offer.kind) {
    case "rerank":
      return offer.capabilities.image_documents ? ["text", "image"] : ["text"]
    case "transcription":
      return ["audio"]
    case "video": {
      const { frame_images, prompt_optional, references = [], upscale } = offer.capabilities
      return [
        "text",
        ...(frame_images || (prompt_optional && !upscale) || references.includes("image") ? ["image" as const] : []),
        ...(references.includes("audio") ? ["audio" as const] : []),
        ...(upscale || references.includes("video") ? ["video" as const] : [])
      ]
    }
  }
}

/** The service knows neither of any model. */
const { created, description } = Models.fixed.model

const architectureOf = (offer: Offer): Models.Architecture => {
  const input_modalities = inputModalitiesOf(offer)
  return {
    input_modalities,
    output_modalities: [offer.kind],
    modality: `${input_modalities.join("+")}->${offer.kind}`,
    ...Models.fixed.architecture
  }
}

/** The parameters that an operation has and that published clients have a word for. */
const parametersOf = (offer: Offer): ReadonlyArray<string> => {
  switch (offer.kind) {
    case "rerank":
      return []
    case "transcription":
      return [...(offer.capabilities.temperature === false ? [] : ["temperature"]), "response_format"]
    case "video":
      return offer.capabilities.seed === false ? [] : ["seed"]
  }
}

/** The offer's first price, for comparing offers of one model. */
const priceOf = ({ pricing }: Offer): number => {
  const prices = perUnit(pricing)
  return (
    prices.search_unit ??
    prices.second ??
    prices.prompt ??
    prices.request ??
    prices.completion ??
    Number.POSITIVE_INFINITY
  )
}

const cheapestOf = <O extends Offer>({ offers }: Entry<O>): O =>
  offers.reduce((a, b) => (priceOf(b) < priceOf(a) ? b : a))

/** Credits in decimal digits: a price of 1 micro-credit for a million tokens has 12 decimals. */
const inCredits = (microCredits: number, units = 1): string =>
  // One division, so that the result is the double nearest to the exact price.
  (microCredits / (MicroCredits.perCredit * units)).toFixed(12).replace(/\.?0+$/, "")

const perToken = (microCredits = 0): string => inCredits(microCredits, 1_000_000)

/** Prices in credits for one unit. */
const pricingOf = ({ pricing }: Offer): Models.Pricing => {
  const { completion, prompt, ...prices } = perUnit(pricing)
  const wire: { -readonly [U in Exclude<Unit, "prompt" | "completion">]?: string } = {}
  for (const unit of ["request", "search_unit", "second"] as const) {
    const price = prices[unit]
    if (price !== undefined) wire[unit] = inCredits(price)
  }
  return { prompt: perToken(prompt), completion: perToken(completion), ...wire }
}

const skus: Readonly<Record<PerVideo["unit"], string>> = {
  second: "duration_seconds",
  video: "generate",
  video_token: "video_tokens"
}

const skuOf = (unit: PerVideo["unit"], { audio, resolution }: VideoPrice): string =>
  [
    skus[unit],
    ...(audio === undefined ? [] : [audio ? "with_audio" : "without_audio"]),
    ...(resolution === undefined ? [] : [resolution])
  ].join("_")

const skusOf = ({ pricing }: VideoOffer): VideoModels.VideoModel["pricing_skus"] =>
  Object.fromEntries(
    ("prices" in pricing ? pricing.prices : [pricing]).map((price) => [
      skuOf(pricing.unit, price),
      pricing.unit === "video_token" ? perToken(price.microCredits) : inCredits(price.microCredits)
    ])
  )

const authorOf = (id: string): string => id.split("/", 1).join()

/**
 * Segments of a path for an id: the author, and the rest as one. An id without a slash has none.
 */
const detailsOf = (basePath: string, id: string): string => {
  const author = authorOf(id)
  return `${basePath}/api/v1/models/${encodeURIComponent(author)}/${encodeURIComponent(id.slice(author.length + 1))}/endpoints`
}

/** The last day of its offers. Null if one of them has no end that is known. */
const expirationOf = ({ offers }: Entry): string | null =>
  offers.reduce<string | null>((last, { expiresOn = null }, index) => {
    if (expiresOn === null || (last === null && index > 0)) return null
    return last === null || expiresOn > last ? expiresOn : last
  }, null)

const isFree = ({ offers }: Entry): boolean => offers.some((offer) => offer.isFree)

const providersOf = ({ offers }: Entry): ReadonlyArray<string> => offers.map(({ provider }) => provider)

/**
 * A model of a service below this path. `id` is what the caller asked for, if the entry is a prefix.
 */
export const toModel = (basePath: string, entry: Entry, id = entry.id): Models.Model => {
  const cheapest = cheapestOf(entry)
  return {
    id,
    canonical_slug: entry.id,
    object: "model",
    owned_by: authorOf(id),
    name: cheapest.name,
    ...Models.fixed.model,
    architecture: architectureOf(cheapest),
    pricing: pricingOf(cheapest),
    supported_parameters: parametersOf(cheapest),
    links: { details: detailsOf(basePath, id) },
    expiration_date: expirationOf(entry),
    providers: providersOf(entry),
    kind: entry.kind,
    is_free: isFree(entry),
    capabilities: capabilitiesOf(cheapest)
  }
}

/** The field `data_policy`. Left out if the provider declares nothing. */
export const dataPolicyOf = (offer: Pick<Offer, "dataPolicy"> = {}): { readonly data_policy?: Models.DataPolicy } => {
  if (offer.dataPolicy === undefined) return {}
  const { promptRetentionDays = null, retainsPrompts = null, training = null } = offer.dataPolicy
  return { data_policy: { training, retains_prompts: retainsPrompts, prompt_retention_days: promptRetentionDays } }
}

const toEndpoint = (offer: Offer, id: string): ModelEndpoints.Endpoint => ({
  name: `${offer.provider} | ${id}`,
  model_id: id,
  model_name: offer.name,
  provider_name: offer.provider,
  tag: offer.provider,
  pricing: pricingOf(offer),
  ...ModelEndpoints.fixed,
  supported_parameters: parametersOf(offer),
  kind: offer.kind,
  is_free: offer.isFree,
  capabilities: capabilitiesOf(offer),
  ...dataPolicyOf(offer)
})

/** A model with its offers. */
export const toEndpoints = (entry: Entry, id: string): ModelEndpoints.ModelEndpoints => {
  const cheapest = cheapestOf(entry)
  return {
    id,
    name: cheapest.name,
    created,
    description,
    architecture: architectureOf(cheapest),
    endpoints: entry.offers.map((offer) => toEndpoint(offer, id))
  }
}

/** A video model. */
export const toVideoModel = (entry: Entry<VideoOffer>): VideoModels.VideoModel => {
  const cheapest = cheapestOf(entry)
  const {
    aspect_ratios,
    default_duration,
    durations = null,
    frame_images,
    generate_audio,
    last_frame = true,
    resolutions,
    seed = true,
    sizes,
    upscale,
    upscale_factors = {}
  } = cheapest.capabilities
  return {
    id: entry.id,
    canonical_slug: entry.id,
    name: cheapest.name,
    created,
    description,
    supported_resolutions: resolutions,
    supported_aspect_ratios: aspect_ratios,
    supported_sizes: sizes === undefined ? null : [...new Set(sizes.map(({ size }) => size))],
    supported_durations: durations,
    supported_frame_images: frame_images ? ["first_frame", ...(last_frame ? (["last_frame"] as const) : [])] : [],
    generate_audio,
    seed,
    creativity: null,
    upscale_factor: upscale ? upscale_factors : null,
    allowed_passthrough_parameters: cheapest.passthrough?.documented ?? [],
    pricing_skus: skusOf(cheapest),
    pricing: pricingOf(cheapest),
    default_duration,
    is_free: isFree(entry),
    providers: providersOf(entry),
    capabilities: capabilitiesOf(cheapest)
  }
}
