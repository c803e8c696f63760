/** A flag whose value is a number of credits, stored as micro-credits. */
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { Option } from "effect"
import { Flag } from "effect/cli"

/** The largest whole number of credits that can be counted in micro-credits. */
const countable = Math.floor(Number.MAX_SAFE_INTEGER / MicroCredits.perCredit)

/** The flag `name`. A number of credits that would have to be rounded is rejected. */
export const make = (
  name: string,
  minimum: number,
  maximum: number = countable
): Flag.Flag<MicroCredits.MicroCredits> =>
  Flag.String(name).pipe(
    Flag.withMetavar("credits"),
    Flag.filterMap(
      (text) =>
        text.trim() === ""
          ? Option.none()
          : Option.filter(
              MicroCredits.fromCreditsExact(Number(text)),
              (micro) => micro >= minimum * MicroCredits.perCredit && micro <= maximum * MicroCredits.perCredit
            ),
      () => `Expected a number of credits from ${minimum} to ${maximum}, with at most 6 decimals`
    )
  )
