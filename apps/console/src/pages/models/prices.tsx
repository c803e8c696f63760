/** Prices as text. */
import type { Offer } from "./offers.ts"

const format = new Intl.NumberFormat("en", { maximumSignificantDigits: 4, maximumFractionDigits: 12 })

const rounded = (price: string): string => format.format(Number(price))

/** Per million tokens a price is a figure that people know. */
const perMillion = (price: string): string => format.format(Number(price) * 1_000_000)

type Priced = Pick<NonNullable<Offer["endpoint"]>, "is_free" | "pricing">

/** Such as `0.15 per second`, in credits. */
const priceOf = ({ is_free, pricing }: Priced): string => {
  if (is_free) return "Free"
  const parts = [
    ...(pricing.request === undefined ? [] : [`${rounded(pricing.request)} per video`]),
    ...(pricing.second === undefined ? [] : [`${rounded(pricing.second)} per second`]),
    ...(pricing.search_unit === undefined ? [] : [`${rounded(pricing.search_unit)} per search`]),
    ...(Number(pricing.prompt) === 0 ? [] : [`${perMillion(pricing.prompt)} per M tokens`]),
    ...(Number(pricing.completion) === 0 ? [] : [`${perMillion(pricing.completion)} per M tokens out`])
  ]
  return parts.length === 0 ? "0" : parts.join(" + ")
}

export const Price = ({
  endpoint,
  varies
}: {
  readonly endpoint: Priced
  /** It is the highest of several. */
  readonly varies: boolean
}) => (
  <span
    title={Object.entries(endpoint.pricing)
      .filter(([, price]) => Number(price) !== 0)
      .map(([unit, price]) => `${unit.replaceAll("_", " ")}: ${price}`)
      .join(", ")}
  >
    {varies && !endpoint.is_free && "up to "}
    {priceOf(endpoint)}
  </span>
)

/** The first price as a figure to sort by. Only those of one kind of models compare. */
export const sortablePrice = ({ endpoint }: Offer): number => {
  const pricing = endpoint?.pricing
  return Number(pricing?.request ?? pricing?.second ?? pricing?.search_unit ?? pricing?.prompt ?? 0)
}
