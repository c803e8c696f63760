/** Makes what the gateway offers again, with other settings. */
import { Context, type Effect } from "effect"
import type { Failure } from "./Failure.ts"
import type { Loaded } from "./LoadSettings.ts"
import type { Offered, OfferSettings } from "./Offered.ts"

/**
 * Shares the connections and the models of this process with the first {@link Offered}. Fails with
 * a sentence about what is wrong with the settings.
 */
export class OfferedAgain extends Context.Service<
  OfferedAgain,
  (loaded: Loaded, settings: OfferSettings) => Effect.Effect<Offered["Service"], Failure>
>()("@model-gateway/gateway/OfferedAgain") {}
