/**
 * What a call will cost, from the prices that the gateway publishes: those of the model's cheapest
 * provider. The gateway reserves and charges by the provider that serves the call, so
 * {@link Estimate.maxPrice} keeps dearer ones out where the estimate must hold.
 *
 * @since 0.1.0
 */
import type { Model, Pricing } from "@model-gateway/core/Models"
import type { MaxPrice } from "@model-gateway/core/Routing"
import type { VideoModel } from "@model-gateway/core/VideoModels"

/**
 * @category models
 * @since 0.1.0
 */
export interface Estimate {
  /** Credits. Undefined: the price depends on what only the provider counts, such as tokens. */
  readonly credits: number | undefined
  /** Keeps providers away that charge more per unit. Undefined: no unit is known. */
  readonly maxPrice: MaxPrice | undefined
}

const free: Estimate = { credits: 0, maxPrice: undefined }
const unknown: Estimate = { credits: undefined, maxPrice: undefined }

/** The price of so many units. */
const of = (unit: "search_unit" | "second" | "request", price: string, count: number): Estimate => ({
  credits: Number(price) * count,
  maxPrice: { [unit]: Number(price) }
})

/** A search unit is up to 100 documents. */
const perSearchUnit = 100

/**
 * The price of a rerank.
 *
 * @category pricing
 * @since 0.1.0
 */
export const rerank = ({ is_free, pricing }: Model, documents: number): Estimate => {
  if (is_free) return free
  return pricing.search_unit === undefined
    ? unknown
    : of("search_unit", pricing.search_unit, Math.max(1, Math.ceil(documents / perSearchUnit)))
}

/**
 * The price of a transcription of so many seconds. Undefined: the length is not known.
 *
 * @category pricing
 * @since 0.1.0
 */
export const transcription = ({ is_free, pricing }: Model, seconds: number | undefined): Estimate => {
  if (is_free) return free
  return pricing.second === undefined || seconds === undefined ? unknown : of("second", pricing.second, seconds)
}

/**
 * The price of a video. Of several prices of a model, such as by resolution, it is the highest.
 *
 * @category pricing
 * @since 0.1.0
 */
export const video = (
  { default_duration, is_free, pricing }: Pick<VideoModel, "default_duration" | "is_free" | "pricing">,
  duration: number | undefined
): Estimate => {
  if (is_free) return free
  if (pricing.request !== undefined) return of("request", pricing.request, 1)
  const seconds = duration ?? default_duration
  return pricing.second === undefined || seconds === 0 ? unknown : of("second", pricing.second, seconds)
}

/**
 * A price in words, such as `0.001 credits per search unit of 100 documents`.
 *
 * @category formatting
 * @since 0.1.0
 */
export const describe = ({ is_free, pricing }: { readonly is_free: boolean; readonly pricing: Pricing }): string => {
  if (is_free) return "free"
  const parts = [
    pricing.request === undefined ? [] : [`${pricing.request} credits per video`],
    pricing.search_unit === undefined ? [] : [`${pricing.search_unit} credits per search unit of 100 documents`],
    pricing.second === undefined ? [] : [`at most ${pricing.second} credits per second`],
    Number(pricing.prompt) === 0 ? [] : [`${pricing.prompt} credits per input token`],
    Number(pricing.completion) === 0 ? [] : [`${pricing.completion} credits per output token`]
  ].flat()
  return parts.length === 0 ? "not published by unit" : parts.join(", ")
}
