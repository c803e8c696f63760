/**
 * Money as whole micro-credits in a safe integer.
 *
 * 1 credit = 1 USD = 1,000,000 micro-credits, so about nine billion credits fit. Fractional credits
 * appear only on the wire. They are converted here and nowhere else, by rounding to the nearest
 * micro-credit.
 *
 * @since 0.1.0
 */
import { Brand, Equivalence as equivalence, Option, Order as order } from "effect"

/**
 * A whole number of micro-credits, positive or negative, within the safe integers.
 *
 * @category models
 * @since 0.1.0
 */
export type MicroCredits = number & Brand.Brand<"MicroCredits">

/**
 * Micro-credits in one credit.
 *
 * @category constants
 * @since 0.1.0
 */
export const perCredit = 1_000_000

const brand = Brand.nominal<MicroCredits>()

/**
 * No money.
 *
 * @category constants
 * @since 0.1.0
 */
export const zero: MicroCredits = brand(0)

/**
 * The micro-credits, if `value` is a safe integer.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromNumber = (value: number): Option.Option<MicroCredits> =>
  Number.isSafeInteger(value) ? Option.some(brand(value)) : Option.none()

/**
 * The micro-credits of a number that the program computed. Throws a `RangeError` if it is not a
 * safe integer, because a sum must have gone wrong.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (value: number): MicroCredits => {
  if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is not a whole number of micro-credits`)
  return brand(value === 0 ? 0 : value)
}

/**
 * From credits as on the wire, to the nearest micro-credit. `None` if the number is not finite or
 * too large to count.
 *
 * @example
 * ```ts
 * import { Option } from "effect"
 * import * as MicroCredits from "@model-gateway/offers/MicroCredits"
 *
 * MicroCredits.fromCredits(0.1 + 0.2) // Some(300000)
 * MicroCredits.fromCredits(Number.NaN) // None
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromCredits = (credits: number): Option.Option<MicroCredits> => {
  // Rounding gives the exact integer: a decimal with six places times a million is off by far less
  // than 0.5.
  const micro = Math.round(credits * perCredit)
  return fromNumber(micro === 0 ? 0 : micro)
}

/**
 * Like {@link fromCredits}, but `None` if the amount is not a whole number of micro-credits. Use it
 * to reject user-set limits that would have to be rounded. Float error, as in `0.1 + 0.2`, is
 * ignored.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromCreditsExact = (credits: number): Option.Option<MicroCredits> =>
  Option.filter(fromCredits(credits), (micro) => Math.abs(toCredits(micro) - credits) <= Math.abs(credits) * 1e-9)

/**
 * Credits for the wire: the double nearest to the exact decimal, so that 0.1 prints as 0.1.
 *
 * @category converting
 * @since 0.1.0
 */
export const toCredits = (micro: number): number => micro / perCredit

/**
 * Credits as people read them, with at most six decimals.
 *
 * @example
 * ```ts
 * import * as MicroCredits from "@model-gateway/offers/MicroCredits"
 *
 * MicroCredits.format(1_500_000) // "1.5"
 * ```
 *
 * @category formatting
 * @since 0.1.0
 */
export const format = (micro: number): string =>
  toCredits(micro)
    .toFixed(6)
    .replace(/\.?0+$/, "")

/**
 * Sum. Throws a `RangeError` outside the safe integers.
 *
 * @category math
 * @since 0.1.0
 */
export const sum = (self: number, that: number): MicroCredits => make(self + that)

/**
 * Difference. Throws a `RangeError` outside the safe integers.
 *
 * @category math
 * @since 0.1.0
 */
export const subtract = (self: number, that: number): MicroCredits => make(self - that)

/**
 * Orders amounts, the smaller one first.
 *
 * @category instances
 * @since 0.1.0
 */
export const Order: order.Order<MicroCredits> = order.Number

/**
 * Whether two amounts are the same.
 *
 * @category instances
 * @since 0.1.0
 */
export const Equivalence: equivalence.Equivalence<MicroCredits> = equivalence.Number
