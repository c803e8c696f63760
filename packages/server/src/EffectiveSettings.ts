/** The settings of the program that runs the service, for GET `/settings`. */
import type * as System from "@model-gateway/core/System"
import { Context, Effect } from "effect"

/** Reads the settings that are in force now, without secrets. Default: there are none. */
export const EffectiveSettings = Context.Reference<Effect.Effect<ReadonlyArray<System.EffectiveSetting>>>(
  "@model-gateway/server/EffectiveSettings",
  { defaultValue: () => Effect.succeed([]) }
)
