/** What OpenRouter's API shows of a request and this service does not know. */
import * as Schema from "effect/Schema"
import { fixed } from "./fixed.ts"

export const generationFields = {
  /** Always `global`: this gateway has one region. */
  data_region: fixed(Schema.String, "global"),
  /** Always empty: origins of requests are not stored. */
  origin: fixed(Schema.String, ""),
  /** Always false: responses are not streamed. */
  streamed: fixed(Schema.NullOr(Schema.Boolean), false),
  /** Always null: apps are not told apart. */
  app_id: fixed(Schema.NullOr(Schema.Finite), null),
  /** Always null: there is no discount for cached input. */
  cache_discount: fixed(Schema.NullOr(Schema.Finite), null),
  /** Always null: these models have no reason to stop. */
  finish_reason: fixed(Schema.NullOr(Schema.String), null),
  /** Always null: it is not stored. */
  http_referer: fixed(Schema.NullOr(Schema.String), null),
  /** Always null: requests are not moderated. */
  moderation_latency: fixed(Schema.NullOr(Schema.Finite), null),
  /** Always null, as `finish_reason`. */
  native_finish_reason: fixed(Schema.NullOr(Schema.String), null),
  /** Always null: it is not counted. */
  native_tokens_cached: fixed(Schema.NullOr(Schema.Finite), null),
  /** Always null: it is not counted. */
  native_tokens_completion_images: fixed(Schema.NullOr(Schema.Finite), null),
  /** Always null: these models do not reason. */
  native_tokens_reasoning: fixed(Schema.NullOr(Schema.Finite), null),
  /** Always null: models fetch no pages. */
  num_fetches: fixed(Schema.NullOr(Schema.Finite), null),
  /** Always null: it is not counted. */
  num_input_audio_prompt: fixed(Schema.NullOr(Schema.Finite), null),
  /** Always null: it is not counted. */
  num_media_completion: fixed(Schema.NullOr(Schema.Finite), null),
  /** Always null: it is not counted. */
  num_media_prompt: fixed(Schema.NullOr(Schema.Finite), null),
  /** Always null: models do not search the web. */
  num_search_results: fixed(Schema.NullOr(Schema.Finite), null),
  /** Always null: there are no presets. */
  preset_id: fixed(Schema.NullOr(Schema.String), null),
  /** Always null: a request names its model. */
  router: fixed(Schema.NullOr(Schema.String), null),
  /** Always null: there are no tiers. */
  service_tier: fixed(Schema.NullOr(Schema.String), null),
  /** Always null: the provider's own identifier is not stored. */
  upstream_id: fixed(Schema.NullOr(Schema.String), null),
  /** Always null: it is not stored. */
  user_agent: fixed(Schema.NullOr(Schema.String), null),
  /** Always null: models do not search the web. */
  web_search_engine: fixed(Schema.NullOr(Schema.String), null)
}
