/**
 * Money as this service counts it: whole micro-credits in a safe integer.
 *
 * 1 credit = 1 USD = 1,000,000 micro-credits, so about nine thousand million credits fit. Numbers of credits with a fraction appear only on
 * the wire; they are converted here and nowhere else, by rounding to the nearest micro-credit.
 */
import { Brand, Option } from "effect"

/** A whole number of micro-credits, of either sign, within the safe integers. */
export type MicroCredits = number & Brand.Brand<"MicroCredits">

/** Micro-credits in one credit. */
export const perCredit = 1_000_000

const brand = Brand.nominal<MicroCredits>()

/** No money. */
export const zero: MicroCredits = brand(0)

/** The micro-credits, if `value` is a safe integer. */
export const option = (value: number): Option.Option<MicroCredits> =>
  Number.isSafeInteger(value) ? Option.some(brand(value)) : Option.none()

/**
 * The micro-credits of a number the program itself made; throws a `RangeError` when it is not a safe integer, because then a sum
 * has already gone wrong.
 */
export const make = (value: number): MicroCredits => {
  if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is no whole number of micro-credits`)
  return brand(value === 0 ? 0 : value)
}

/**
 * From credits as they stand on the wire, to the nearest micro-credit; `None` when not finite or too large to count.
 *
 * @example
 * ```ts
 * import { Option } from "effect"
 * import * as MicroCredits from "@model-gateway/server/accounting/MicroCredits"
 *
 * MicroCredits.fromCredits(0.1 + 0.2) // Some(300000)
 * MicroCredits.fromCredits(Number.NaN) // None
 * ```
 */
export const fromCredits = (credits: number): Option.Option<MicroCredits> => {
  // A decimal with six places, times a million, is off by far less than half; rounding gives the exact integer.
  const micro = Math.round(credits * perCredit)
  return option(micro === 0 ? 0 : micro)
}

/**
 * As {@link fromCredits}, but none where the amount is no whole number of micro-credits: for limits that a person sets, which must not become another than was said. Float noise, as of `0.1 + 0.2`, is
 * no such difference.
 */
export const exactly = (credits: number): Option.Option<MicroCredits> =>
  Option.filter(fromCredits(credits), (micro) => Math.abs(toCredits(micro) - credits) <= Math.abs(credits) * 1e-9)

/**
 * The price of `units` at `pricePerUnit` credits, rounded up to a whole micro-credit. Both come from the program's own
 * catalogue and measurements, so one that cannot be counted is a defect: a `RangeError`.
 */
export const ofPrice = (pricePerUnit: number, units: number): MicroCredits => {
  const exact = pricePerUnit * units * perCredit
  const nearest = Math.round(exact)
  // Float noise must not push a price that is a whole number up by one.
  const noise = Math.max(1e-6, Math.abs(exact) * 1e-12)
  return make(Math.abs(exact - nearest) <= noise ? nearest : Math.ceil(exact))
}

/** As credits for the wire: the double nearest to the exact decimal, so that 0.1 reads 0.1. */
export const toCredits = (micro: number): number => micro / perCredit

/** Sum; throws a `RangeError` where it would leave the safe integers. */
export const add = (a: number, b: number): MicroCredits => make(a + b)

/** Difference; throws a `RangeError` where it would leave the safe integers. */
export const subtract = (a: number, b: number): MicroCredits => make(a - b)
