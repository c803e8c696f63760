/** Admission's checks before a large body is read. */
import { Effect, Layer } from "effect"
import { currentCaller } from "../access/Caller.ts"
import { BodyAdmission } from "../http/BodyAdmission.ts"
import { Admission } from "./Admission.ts"

/** The checks. */
export const layer: Layer.Layer<BodyAdmission, never, Admission> = Layer.effect(
  BodyAdmission,
  Effect.map(Admission, ({ notExhausted, withinRate }) => ({
    withinRate,
    notExhausted: Effect.flatMap(currentCaller, notExhausted)
  }))
)
