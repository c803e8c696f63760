/**
 * Another gateway of this contract as an upstream: a gateway behind a gateway, or any service that
 * has the same API.
 *
 * Protocol: `@model-gateway/core`, by whose client it is called. The upstream's `usage.cost` is
 * what is charged. Without models of its own in the settings, an upstream offers what its GET
 * `/models` lists when the offers are made.
 *
 * Only a gateway of this project recognizes a repeated submission of a video. It says so in its
 * answer to OPTIONS `/videos`, which is asked for before the first submission.
 *
 * A request is sent with the content that the caller gave it. `trace` and `user` stay here.
 *
 * @since 0.1.0
 */
import { Effect } from "effect"
import type { Adapter } from "@model-gateway/offers/Adapter"
import * as Catalog from "./Catalog.ts"
import * as GatewayClient from "./internal/gatewayClient.ts"
import { listModels } from "./internal/gatewayModels.ts"
import { offerOf } from "./internal/gatewayOffers.ts"
import * as GatewaySupport from "./internal/gatewaySupport.ts"

export { RerankParameters, TranscriptionParameters, VideoParameters } from "./internal/gatewayParameters.ts"

/**
 * Another gateway: `UPSTREAM_GATEWAY_API_KEY`, `UPSTREAM_GATEWAY_BASE_URL`, which ends in
 * `/api/v1`. Without models, it asks the upstream for its own.
 *
 * @example
 * ```ts
 * import { Redacted } from "effect"
 * import * as Gateway from "@model-gateway/providers/Gateway"
 * import { gatewayCredential } from "@model-gateway/offers/Offer"
 *
 * declare const apiKey: string
 *
 * const upstream = {
 *   name: "gateway",
 *   baseUrl: "https://gateway.example.com/api/v1",
 *   credential: gatewayCredential(Redacted.make(apiKey))
 * }
 * const offers = Gateway.adapter.offers(upstream, [])
 * ```
 *
 * @category adapters
 * @since 0.1.0
 */
export const adapter: Adapter = {
  name: "gateway",
  title: "another gateway",
  variables: { apiKey: "UPSTREAM_GATEWAY_API_KEY", baseUrl: "UPSTREAM_GATEWAY_BASE_URL" },
  defaultBaseUrl: undefined,
  credential: "required",
  kinds: ["rerank", "transcription", "video"],
  ...Catalog.of("gateway"),
  offers: Effect.fnUntraced(function* (upstream, models) {
    const client = yield* GatewayClient.make(upstream)
    const isOfThisProject = yield* GatewaySupport.make(upstream)
    const dialect = {
      isIdempotent: isOfThisProject,
      // The form of another gateway may ignore the field.
      formHasProvider: isOfThisProject,
      maxFormBytes: Number.POSITIVE_INFINITY,
      onlyOptions: false,
      refusesOptions: true
    }
    const offered = models.length > 0 ? models : yield* listModels(client, upstream)
    return yield* Effect.forEach(offered, (model) => offerOf(client, dialect, upstream, model))
  })
}
