/** Amounts of credits from the wire. */
import type { BadRequest } from "@model-gateway/core/GatewayError"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { Effect, Option } from "effect"
import { invalid } from "../internal/Issues.ts"

/**
 * The amount in micro-credits. Fails with a 400 that names the field if it has more than six
 * decimal places: it is not rounded.
 */
export const fromWire = (field: string, credits: number): Effect.Effect<MicroCredits.MicroCredits, BadRequest> =>
  Option.match(MicroCredits.fromCreditsExact(credits), {
    onNone: () => Effect.fail(invalid([{ path: field, message: "Expected at most six decimal places" }])),
    onSome: Effect.succeed
  })

/** As {@link fromWire}, for an amount that may be null. */
export const fromWireOrNull = (
  field: string,
  credits: number | null
): Effect.Effect<MicroCredits.MicroCredits | null, BadRequest> =>
  credits === null ? Effect.succeed(null) : fromWire(field, credits)
