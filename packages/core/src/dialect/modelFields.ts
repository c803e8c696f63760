/** What OpenRouter's API shows of a model and its offers and this service does not know. */
import * as Schema from "effect/Schema"
import { fixed } from "./fixed.ts"

/** Of a model. */
export const modelFields = {
  /** Always 0: the service does not know when a model was published. Unix time in seconds. */
  created: fixed(Schema.Int, 0),
  /** Always empty: the service has no descriptions. */
  description: fixed(Schema.String, ""),
  /** Always null: no model of this service has a context of tokens. */
  context_length: fixed(Schema.NullOr(Schema.Int), null),
  /** Always null: there are no limits by tokens. */
  per_request_limits: fixed(Schema.Null, null),
  /** Always null: no model of this service speaks. */
  supported_voices: fixed(Schema.Null, null),
  /** Always null: parameters have the defaults of their operation. */
  default_parameters: fixed(Schema.Null, null)
}

/** Of its architecture. */
export const architectureFields = {
  /** Always `Other`: the service does not know tokenizers. */
  tokenizer: fixed(Schema.String, "Other"),
  /** Always null: no model of this service takes chat instructions. */
  instruct_type: fixed(Schema.NullOr(Schema.String), null)
}

/** Of its first provider. */
export const topProviderFields = {
  /** Always null. */
  context_length: fixed(Schema.NullOr(Schema.Int), null),
  /** Always null. */
  max_completion_tokens: fixed(Schema.NullOr(Schema.Int), null),
  /** Always false. */
  is_moderated: fixed(Schema.Boolean, false)
}

/** Of an offer. */
export const endpointFields = {
  /** Always 0: no model of this service has a context of tokens. */
  context_length: fixed(Schema.Int, 0),
  /** Always null. */
  max_completion_tokens: fixed(Schema.Null, null),
  /** Always null. */
  max_prompt_tokens: fixed(Schema.Null, null),
  /** Always null: the service does not know it. */
  quantization: fixed(Schema.Null, null),
  /** Always false. */
  supports_implicit_caching: fixed(Schema.Boolean, false),
  /** Always false. */
  supports_voice_cloning: fixed(Schema.Boolean, false),
  /** Always null: the service publishes no measurements of providers. */
  latency_last_30m: fixed(Schema.Null, null),
  /** Always null, like `latency_last_30m`. */
  throughput_last_30m: fixed(Schema.Null, null),
  /** Always null, like `latency_last_30m`. */
  uptime_last_5m: fixed(Schema.Null, null),
  /** Always null, like `latency_last_30m`. */
  uptime_last_30m: fixed(Schema.Null, null),
  /** Always null, like `latency_last_30m`. */
  uptime_last_1d: fixed(Schema.Null, null)
}

/** Of the ways in which an offer calls tools. */
export const toolChoiceFields = {
  /** Always false. */
  auto: fixed(Schema.Boolean, false),
  /** Always false. */
  function: fixed(Schema.Boolean, false),
  /** Always false. */
  none: fixed(Schema.Boolean, false),
  /** Always false. */
  required: fixed(Schema.Boolean, false)
}
