/** Spending limits from the wire. */
import type { BadRequest } from "@model-gateway/core/GatewayError"
import * as MicroCredits from "@model-gateway/providers/MicroCredits"
import { Effect, Option } from "effect"
import { invalid } from "../http/Issues.ts"

/**
 * The limit in micro-credits. Fails with a 400 that names the field if the limit has more than six
 * decimal places.
 */
export const fromWire = (
  field: string,
  limit: number | null
): Effect.Effect<MicroCredits.MicroCredits | null, BadRequest> =>
  limit === null
    ? Effect.succeed(null)
    : Option.match(MicroCredits.exactly(limit), {
        onNone: () => Effect.fail(invalid([{ path: field, message: "Expected credits in steps of a millionth" }])),
        onSome: Effect.succeed
      })
