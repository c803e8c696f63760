/** A flag whose value is a number of credits, stored as micro-credits. */
import * as MicroCredits from "@model-gateway/providers/MicroCredits"
import { Option } from "effect"
import { Flag } from "effect/cli"

/** The largest whole number of credits that can be counted in micro-credits. */
const largest = Math.floor(Number.MAX_SAFE_INTEGER / MicroCredits.perCredit)

/** The flag `name`. `read` turns the number into micro-credits, or rejects it. */
export const make = (
  name: string,
  minimum: number,
  read: (credits: number) => Option.Option<MicroCredits.MicroCredits>
): Flag.Flag<MicroCredits.MicroCredits> =>
  Flag.String(name).pipe(
    Flag.withMetavar("credits"),
    Flag.filterMap(
      (text) =>
        text.trim() === ""
          ? Option.none()
          : Option.filter(read(Number(text)), (micro) => micro >= minimum * MicroCredits.perCredit),
      () => `Expected a number of credits from ${minimum} to ${largest}, with at most 6 decimals`
    )
  )
