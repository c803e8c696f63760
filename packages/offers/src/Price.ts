/**
 * A price as files state it: credits by unit. The settings file and the catalog of models use it.
 *
 * `expected` of a schema completes "which is not …" in the messages of the executable.
 *
 * @since 0.1.0
 */
import { Resolution } from "@model-gateway/core/Video"
import { Schema } from "effect"
import * as MicroCredits from "./MicroCredits.ts"
import type { PerToken, PerVideo, Pricing } from "./Pricing.ts"

const Credits = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))

const VideoPrice = Schema.Struct({
  resolution: Schema.optionalKey(Resolution),
  audio: Schema.optionalKey(Schema.Boolean),
  credits: Credits
})

const oneOrMore = Schema.Union([Credits, Schema.Array(VideoPrice).check(Schema.isMinLength(1))]).annotate({
  expected: 'a number of credits, or a list such as [{ "resolution": "1080p", "audio": true, "credits": 0.4 }]'
})

const credits = Credits.annotate({ expected: "a number of credits from 0 to 1000000" })

/**
 * Credits by unit, such as `{ "search_unit": 0.002 }`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Price = Schema.Struct({
  search_unit: Schema.optionalKey(credits.annotate({ description: "Credits per search unit: up to 100 documents" })),
  second: Schema.optionalKey(
    oneOrMore.annotate({
      description:
        "Credits per second of audio or video. For video also a list of prices by `resolution` and `audio`, of which the first that matches applies"
    })
  ),
  video: Schema.optionalKey(oneOrMore.annotate({ description: "Credits per video, or a list as for `second`" })),
  video_tokens: Schema.optionalKey(
    oneOrMore.annotate({ description: "Credits per million tokens of video, or a list as for `second`" })
  ),
  input_tokens: Schema.optionalKey(credits.annotate({ description: "Credits per million input tokens" })),
  output_tokens: Schema.optionalKey(credits.annotate({ description: "Credits per million output tokens. Default: 0" }))
}).annotate({ expected: 'an object of credits by unit, such as { "search_unit": 0.002 }' })

/**
 * @category models
 * @since 0.1.0
 */
export interface Price extends Schema.Schema.Type<typeof Price> {}

/**
 * Moves the decimal point in the digits, because a multiplication or a division would add a float
 * error.
 */
const shifted = (value: number, places: number): number => {
  const [digits = "0", exponent = "0"] = value.toExponential().split("e")
  return Number(`${digits}e${Number(exponent) + places}`)
}

const places = Math.log10(MicroCredits.perCredit)

/** Micro-credits of a price, which may be a fraction of one. */
const micro = (credits: number): number => shifted(credits, places)

const toCredits = (microCredits: number): number => shifted(microCredits, -places)

const perVideo = (unit: PerVideo["unit"], prices: NonNullable<Price["video"]>): PerVideo | undefined => {
  const [first, ...others] =
    typeof prices === "number"
      ? [{ microCredits: micro(prices) }]
      : prices.map(({ credits, ...filter }) => ({ ...filter, microCredits: micro(credits) }))
  return first === undefined ? undefined : { unit, prices: [first, ...others] }
}

/** How a file calls what a price of a video is for. */
const perVideoKeys = { second: "second", video: "video", video_token: "video_tokens" } as const

const perToken = ({ input_tokens, output_tokens }: Price): PerToken => ({
  unit: "token",
  inputMicroCredits: micro(input_tokens ?? 0),
  outputMicroCredits: micro(output_tokens ?? 0)
})

/**
 * What a price is by. Undefined if it has no unit, or units that do not go together.
 *
 * @category converting
 * @since 0.1.0
 */
export const toPricing = (price: Price): Pricing | undefined => {
  const { search_unit, second, video, video_tokens } = price
  const given = Object.keys(price).map((unit) => (/^(?:in|out)put_tokens$/.test(unit) ? "tokens" : unit))
  if (new Set(given).size !== 1) return undefined
  if (search_unit !== undefined) return { unit: "search_unit", microCredits: micro(search_unit) }
  if (typeof second === "number") return { unit: "second", microCredits: micro(second) }
  if (second !== undefined) return perVideo("second", second)
  if (video_tokens !== undefined) return perVideo("video_token", video_tokens)
  return video === undefined ? perToken(price) : perVideo("video", video)
}

/**
 * The price of an offer, as a file states it: the number that {@link toPricing} was given.
 *
 * @category converting
 * @since 0.1.0
 */
export const fromPricing = (pricing: Pricing): Price => {
  if ("prices" in pricing) {
    const prices = pricing.prices.map(({ microCredits, ...filter }) => ({
      ...filter,
      credits: toCredits(microCredits)
    }))
    return { [perVideoKeys[pricing.unit]]: prices }
  }
  if (pricing.unit === "token") {
    return { input_tokens: toCredits(pricing.inputMicroCredits), output_tokens: toCredits(pricing.outputMicroCredits) }
  }
  return pricing.unit === "second"
    ? { second: toCredits(pricing.microCredits) }
    : { search_unit: toCredits(pricing.microCredits) }
}
