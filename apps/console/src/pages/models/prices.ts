/** Prices as text. */
import type { Offer } from "./offers.ts"

/** Per million tokens a price is a figure that people know. */
const perMillion = (price: string): string => String(Number((Number(price) * 1_000_000).toPrecision(6)))

/** Such as `0.15 per second`, in credits. */
export const priceOf = ({ is_free, pricing }: NonNullable<Offer["endpoint"]>): string => {
  if (is_free) return "Free"
  const parts = [
    ...(pricing.request === undefined ? [] : [`${pricing.request} per video`]),
    ...(pricing.second === undefined ? [] : [`${pricing.second} per second`]),
    ...(pricing.search_unit === undefined ? [] : [`${pricing.search_unit} per search`]),
    ...(Number(pricing.prompt) === 0 ? [] : [`${perMillion(pricing.prompt)} per M tokens`]),
    ...(Number(pricing.completion) === 0 ? [] : [`${perMillion(pricing.completion)} per M tokens out`])
  ]
  return parts.length === 0 ? "0" : parts.join(" + ")
}

/** The first price as a figure to sort by. Only those of one kind of models compare. */
export const sortablePrice = ({ endpoint }: Offer): number => {
  const pricing = endpoint?.pricing
  return Number(pricing?.request ?? pricing?.second ?? pricing?.search_unit ?? pricing?.prompt ?? 0)
}
