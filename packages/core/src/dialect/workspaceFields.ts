/** Settings of a workspace in OpenRouter's API that this service does not have. */
import * as Schema from "effect/Schema"
import { fixed } from "./fixed.ts"

export const workspaceFields = {
  /** Always empty: a workspace has no guardrail of its own. Guardrails are assigned to keys. */
  default_guardrail_id: fixed(Schema.String, ""),
  /** Always null: requests name their model. */
  default_text_model: fixed(Schema.NullOr(Schema.String), null),
  /** Always null: requests name their model. */
  default_image_model: fixed(Schema.NullOr(Schema.String), null),
  /** Always null: requests sort providers by `provider.sort`. */
  default_provider_sort: fixed(Schema.NullOr(Schema.String), null),
  /** Always null: the gateway has no server tools. */
  disabled_server_tools: fixed(Schema.NullOr(Schema.Array(Schema.String)), null),
  /** Always false: a workspace has no budget. */
  include_byok_in_budgets: fixed(Schema.Boolean, false),
  /** Always null: inputs and outputs are never logged. */
  io_logging_api_key_ids: fixed(Schema.NullOr(Schema.Array(Schema.Int)), null),
  /** Always 1, without effect: inputs and outputs are never logged. */
  io_logging_sampling_rate: fixed(Schema.Finite, 1),
  /** Always false: inputs and outputs are never logged. */
  is_observability_io_logging_enabled: fixed(Schema.Boolean, false),
  /** Always false: no data is sold. */
  is_data_discount_logging_enabled: fixed(Schema.Boolean, false),
  /** Always true: each broadcast destination has its own `enabled`. */
  is_observability_broadcast_enabled: fixed(Schema.Boolean, true)
}
