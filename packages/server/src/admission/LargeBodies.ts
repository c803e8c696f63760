/** Admission's checks before a body is read. */
import { Effect, Layer } from "effect"
import { currentCaller } from "../access/Caller.ts"
import { BodyAdmission } from "../http/BodyAdmission.ts"
import * as OwnKeys from "../routing/OwnKeys.ts"
import { Admission } from "./Admission.ts"
import { RateLimits } from "./RateLimits.ts"
import * as RequestRate from "./RequestRate.ts"

/** The checks. */
export const layer: Layer.Layer<BodyAdmission, never, Admission | RateLimits | OwnKeys.OwnKeys> = Layer.effect(
  BodyAdmission,
  Effect.gen(function* () {
    const { notExhausted } = yield* Admission
    const ownKeys = yield* OwnKeys.OwnKeys
    return {
      withinRate: RequestRate.make(yield* RateLimits),
      // A caller with a provider key of its own may need no credits. The body says which model.
      notExhausted: (idempotencyKey) =>
        Effect.flatMap(currentCaller, (caller) =>
          Effect.flatMap(ownKeys.of(caller), (own) =>
            own.length === 0 ? notExhausted(caller, idempotencyKey) : Effect.void
          )
        )
    }
  })
)
