/** Admission's checks before a large body is read. */
import { Effect, Layer } from "effect"
import { currentCaller } from "../access/Caller.ts"
import { Accounting } from "../accounting/Accounting.ts"
import { BodyAdmission } from "../http/BodyAdmission.ts"
import * as PaidRequest from "./PaidRequest.ts"
import { RateLimits } from "./RateLimits.ts"

/** The checks, over rate limits and accounting. */
export const layer: Layer.Layer<BodyAdmission, never, Accounting | RateLimits> = Layer.effect(
  BodyAdmission,
  Effect.gen(function* () {
    const accounting = yield* Accounting
    const rates = yield* RateLimits
    return {
      withinRate: Effect.provideService(PaidRequest.withinRate, RateLimits, rates),
      notExhausted: Effect.flatMap(currentCaller, (caller) => PaidRequest.notExhausted(accounting, caller))
    }
  })
)
