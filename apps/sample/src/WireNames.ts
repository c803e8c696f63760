/** The vendor-specific words on the wire. */
import { WireNames } from "@model-gateway/core"

/**
 * Sends the neutral words, which every gateway accepts, and reads the words of both presets,
 * because the sample does not know how the gateway is configured.
 */
export const wireNames: WireNames.WireNames = {
  ...WireNames.openrouter,
  toWire: { ...WireNames.openrouter.toWire, request: (_, request) => request }
}
