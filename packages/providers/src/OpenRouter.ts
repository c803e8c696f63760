/**
 * OpenRouter's rerank, transcription and video models.
 *
 * Its API is the one that `@model-gateway/core` calls, so this is the gateway adapter with
 * OpenRouter's limits. Protocol: https://openrouter.ai/docs/guides/overview/multimodal/stt,
 * https://openrouter.ai/docs/api/api-reference/video-generation/get-videos, and the SDK
 * `@openrouter/sdk` 1.3.19, which drives the double of the tests. Prices: its own GET `/models` and
 * GET `/videos/models`.
 *
 * What differs from a gateway of this project:
 *
 * - No idempotency key is documented, so a video is submitted once.
 * - The form of a transcription takes files up to 25 MB and no `provider`.
 * - Transcriptions and videos take `options` of `provider` alone, and ignore the preferences of
 *   routing (https://openrouter.ai/blog/tutorials/transcription-on-openrouter).
 * - Jobs are to be polled every 10 to 30 seconds, and cannot be canceled.
 *
 * @since 0.1.0
 */
import { ofPreset } from "@model-gateway/core/WireNames"
import { Duration, Effect } from "effect"
import type { Adapter } from "@model-gateway/offers/Adapter"
import * as Catalog from "./Catalog.ts"
import * as GatewayClient from "./internal/gatewayClient.ts"
import { listModels } from "./internal/gatewayModels.ts"
import { type Dialect, offerOf } from "./internal/gatewayOffers.ts"

export { RerankParameters, TranscriptionParameters, VideoParameters } from "./internal/gatewayParameters.ts"

const dialect: Dialect = {
  isIdempotent: false,
  pollInterval: Duration.seconds(10),
  formHasProvider: Effect.succeed(false),
  // Whether a MB has 1,000,000 bytes is not said.
  maxFormBytes: 25_000_000,
  onlyOptions: true,
  refusesOptions: false
}

/**
 * OpenRouter: `OPENROUTER_API_KEY`, `OPENROUTER_BASE_URL`. Without models, it asks OpenRouter for
 * its own, and offers none if it does not answer. The `parameters` of a model are
 * {@link RerankParameters}, {@link TranscriptionParameters} or {@link VideoParameters}.
 *
 * @category adapters
 * @since 0.1.0
 */
export const adapter: Adapter = {
  name: "openrouter",
  title: "OpenRouter",
  variables: { apiKey: "OPENROUTER_API_KEY", baseUrl: "OPENROUTER_BASE_URL" },
  defaultBaseUrl: "https://openrouter.ai/api/v1",
  credential: "required",
  kinds: ["rerank", "transcription", "video"],
  ...Catalog.of("openrouter"),
  offers: Effect.fnUntraced(function* (upstream, models) {
    const client = yield* GatewayClient.make(upstream, ofPreset("openrouter"))
    const offered = models.length > 0 ? models : yield* listModels(client, upstream)
    return yield* Effect.forEach(offered, (model) => offerOf(client, dialect, upstream, model))
  })
}
