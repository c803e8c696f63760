/** The vendor words on the wire. */
import { WireNames } from "@model-gateway/core"

/**
 * Sends the neutral words, which every gateway accepts, and reads those of both presets: the sample
 * does not know the setting of the gateway that it calls.
 */
export const wireNames: WireNames.WireNames = {
  ...WireNames.openrouter,
  toWire: { ...WireNames.openrouter.toWire, request: (_, request) => request }
}
