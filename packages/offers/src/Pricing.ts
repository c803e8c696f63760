/**
 * What an offer charges, as published in GET `/models`, and the one function that turns usage into
 * money.
 *
 * @since 0.1.0
 */
import type { Resolution } from "@model-gateway/core/Video"
import * as MicroCredits from "./MicroCredits.ts"

/**
 * A price in integer micro-credits per search unit. A search unit is up to 100 documents.
 *
 * @category models
 * @since 0.1.0
 */
export interface PerSearchUnit {
  readonly unit: "search_unit"
  readonly microCredits: number
}

/**
 * A price in micro-credits per second of audio or video. It may have a fraction: 0.04 credits per
 * hour are 11.11… micro-credits per second. Only amounts are whole.
 *
 * @category models
 * @since 0.1.0
 */
export interface PerSecond {
  readonly unit: "second"
  readonly microCredits: number
}

/**
 * Prices in integer micro-credits per million tokens.
 *
 * @category models
 * @since 0.1.0
 */
export interface PerToken {
  readonly unit: "token"
  readonly inputMicroCredits: number
  readonly outputMicroCredits: number
}

/**
 * One price of a video model. A property that is absent matches every request.
 *
 * @category models
 * @since 0.1.0
 */
export interface VideoPrice {
  readonly resolution?: Resolution
  readonly audio?: boolean
  /** Per second of video, per video, or per million tokens of it, in integer micro-credits. */
  readonly microCredits: number
}

/**
 * Prices of a video model by resolution and audio. The first that matches applies.
 *
 * @category models
 * @since 0.1.0
 */
export interface PerVideo {
  /**
   * What each price is for: a second of video, a whole video, or a million tokens of video, which
   * the upstream counts.
   */
  readonly unit: "second" | "video" | "video_token"
  readonly prices: readonly [VideoPrice, ...ReadonlyArray<VideoPrice>]
}

/**
 * What an offer charges by.
 *
 * @category models
 * @since 0.1.0
 */
export type Pricing = PerSearchUnit | PerSecond | PerToken | PerVideo

/**
 * The units of GET `/models` and `provider.max_price`: a search unit, a second of audio or video, a
 * million tokens of input (`prompt`) and of output (`completion`), and a whole video (`request`).
 *
 * @category constants
 * @since 0.1.0
 */
export const units = ["search_unit", "second", "prompt", "completion", "request"] as const

/**
 * @category models
 * @since 0.1.0
 */
export type Unit = (typeof units)[number]

/**
 * The prices by unit, in micro-credits. Of several prices for one unit it is the highest. Units
 * that the offer does not charge by are left out.
 *
 * @category pricing
 * @since 0.1.0
 */
export const perUnit = (pricing: Pricing): { readonly [U in Unit]?: number } => {
  switch (pricing.unit) {
    case "search_unit":
      return { search_unit: pricing.microCredits }
    case "second":
      return { second: "prices" in pricing ? highest(pricing) : pricing.microCredits }
    case "token":
      return { prompt: pricing.inputMicroCredits, completion: pricing.outputMicroCredits }
    case "video":
      return { request: highest(pricing) }
    case "video_token":
      return { completion: highest(pricing) }
  }
}

const highest = ({ prices }: PerVideo): number => Math.max(...prices.map(({ microCredits }) => microCredits))

/**
 * The actual cost of a call, as the offer computed it, and the counts it is based on.
 *
 * @category models
 * @since 0.1.0
 */
export interface Charge {
  readonly cost: MicroCredits.MicroCredits
  /** Counts such as `search_units`, `total_tokens` or `seconds`. Recorded with the cost. */
  readonly usage: Readonly<Record<string, number>>
}

/**
 * The highest count in a {@link Charge}: of tokens, search units, seconds or videos. More for one
 * call is a mistake of the upstream, and sums of such counts would no longer be exact.
 *
 * @category constants
 * @since 0.1.0
 */
export const maxCount = 1_000_000_000

/**
 * What is wrong with a charge, if anything: an impossible count or cost. The service treats
 * such an answer as a `BadResponse`, whatever the adapter checked.
 *
 * @category validation
 * @since 0.1.0
 */
export const flawOf = ({ cost, usage }: Charge): string | undefined => {
  if (!Number.isSafeInteger(cost) || cost < 0) return "an impossible cost"
  // The negation finds NaN, too.
  const wrong = Object.entries(usage).find(([, count]) => !(count >= 0 && count <= maxCount))
  return wrong === undefined ? undefined : `an impossible count of ${wrong[0]}`
}

/**
 * The search units of a rerank request: 1 for up to 100 documents, and 1 more for each further 100.
 *
 * @example
 * ```ts
 * import { searchUnits } from "@model-gateway/offers/Pricing"
 *
 * searchUnits(100) // 1
 * searchUnits(101) // 2
 * ```
 *
 * @category pricing
 * @since 0.1.0
 */
export const searchUnits = (documents: number): number => Math.max(1, Math.ceil(documents / 100))

/**
 * The price of a number of units, rounded up to a whole micro-credit. The one place where a price
 * is rounded.
 *
 * @example
 * ```ts
 * import { cost } from "@model-gateway/offers/Pricing"
 *
 * cost(100, 1.504) // 151
 * ```
 *
 * @category pricing
 * @since 0.1.0
 */
export const cost = (microCreditsPerUnit: number, units: number): MicroCredits.MicroCredits => {
  // Ignore the float error before rounding up: 0.29 * 100 is slightly above the integer.
  const exact = microCreditsPerUnit * units
  const nearest = Math.round(exact)
  return MicroCredits.make(Math.abs(exact - nearest) < 1e-6 ? nearest : Math.ceil(exact))
}

/**
 * The price of a number of tokens, rounded up to a whole micro-credit.
 *
 * @example
 * ```ts
 * import { tokenCost } from "@model-gateway/offers/Pricing"
 *
 * const pricing = { unit: "token", inputMicroCredits: 2_500_000, outputMicroCredits: 10_000_000 } as const
 * tokenCost(pricing, 1000, 100) // 3500
 * ```
 *
 * @category pricing
 * @since 0.1.0
 */
export const tokenCost = (
  { inputMicroCredits, outputMicroCredits }: PerToken,
  input: number,
  output: number
): MicroCredits.MicroCredits => cost(1 / 1_000_000, inputMicroCredits * input + outputMicroCredits * output)

/**
 * The price of one video. Of several prices the first that matches applies, and the highest if none
 * does, so that a quote is never too low. A price per token needs the `tokens`.
 *
 * @example
 * ```ts
 * import { videoCost } from "@model-gateway/offers/Pricing"
 *
 * videoCost({ unit: "second", microCredits: 120_000 }, { seconds: 5 }) // 600_000
 * ```
 *
 * @category pricing
 * @since 0.1.0
 */
export const videoCost = (
  pricing: PerSecond | PerVideo,
  {
    audio = false,
    resolution,
    seconds,
    tokens = 0
  }: {
    readonly seconds: number
    readonly resolution?: Resolution | undefined
    readonly audio?: boolean | undefined
    readonly tokens?: number
  }
): MicroCredits.MicroCredits => {
  const prices: ReadonlyArray<VideoPrice> = "prices" in pricing ? pricing.prices : [pricing]
  const matching = prices.find(
    (price) =>
      (price.resolution === undefined || price.resolution === resolution) &&
      (price.audio === undefined || price.audio === audio)
  )
  const price = matching?.microCredits ?? Math.max(...prices.map(({ microCredits }) => microCredits))
  switch (pricing.unit) {
    case "second":
      return cost(price, seconds)
    case "video":
      return cost(price, 1)
    case "video_token":
      return cost(1 / 1_000_000, price * tokens)
  }
}
