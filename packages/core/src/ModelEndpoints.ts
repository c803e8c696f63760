/**
 * Lists the offers of a model.
 *
 * An addition to the specification.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ClientError } from "./ClientError.ts"
import { endpointFields, toolChoiceFields } from "./dialect/modelFields.ts"
import type { GatewayClient } from "./GatewayClient.ts"
import { call, dataOf } from "./internal/call.ts"
import { rateLimitedErrors } from "./internal/errorSets.ts"
import { modelExample, modelParams, notAnId, paramsOf } from "./internal/models.ts"
import { refuse } from "./internal/refuse.ts"
import * as Models from "./Models.ts"
import * as Operation from "./Operation.ts"

/**
 * Which values of `tool_choice` work. None: no model of this service calls tools.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ToolChoiceSupport = Schema.Struct(toolChoiceFields)

/**
 * @category models
 * @since 0.1.0
 */
export type ToolChoiceSupport = {
  [Field in keyof typeof ToolChoiceSupport.Type]: (typeof ToolChoiceSupport.Type)[Field]
}

/**
 * A model at one provider, with the provider's own price and capabilities.
 *
 * @category endpoints
 * @since 0.1.0
 */
export const Endpoint = Schema.Struct({
  /** Provider and model, such as `cohere | cohere/rerank-v3.5`. */
  name: Schema.String,
  /** The model's `id`. */
  model_id: Schema.String,
  /** The model's display name at this provider. */
  model_name: Schema.String,
  /** The provider's name, as `provider.order` takes it. */
  provider_name: Schema.String,
  /** The same as `provider_name`. */
  tag: Schema.String,
  pricing: Models.Pricing,
  /** The sampling parameters that requests may have, such as `temperature`. */
  supported_parameters: Schema.Array(Schema.String),
  supports_tool_choice: ToolChoiceSupport,
  ...endpointFields,
  /** The operation that serves the model. */
  kind: Models.ModelKind,
  /** Whether requests cost nothing and count toward the key's daily free requests. */
  is_free: Schema.Boolean,
  /** What the model can do at this provider. */
  capabilities: Models.Capabilities,
  /** What the provider declares of the data in requests. Absent: nothing. */
  data_policy: Schema.optionalKey(Models.DataPolicy)
})

/**
 * @category models
 * @since 0.1.0
 */
export type Endpoint = { [Field in keyof typeof Endpoint.Type]: (typeof Endpoint.Type)[Field] }

/**
 * The fields of an offer that this service does not know, with the values that every offer has.
 *
 * @category constants
 * @since 0.1.0
 */
export const fixed = Schema.Struct({ ...endpointFields, supports_tool_choice: ToolChoiceSupport }).make({
  supports_tool_choice: {}
})

/**
 * A model and its offers.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ModelEndpoints = Schema.Struct({
  /** What requests send as `model`. */
  id: Schema.String,
  /** Display name. */
  name: Schema.String,
  /** Always 0: the service does not know when a model was published. Unix time in seconds. */
  created: Schema.Int,
  /** Always empty: the service has no descriptions. */
  description: Schema.String,
  architecture: Models.Architecture,
  /** The model at each provider for which there is a credential, in the order of the catalog. */
  endpoints: Schema.Array(Endpoint)
})

/**
 * @category models
 * @since 0.1.0
 */
export type ModelEndpoints = { [Field in keyof typeof ModelEndpoints.Type]: (typeof ModelEndpoints.Type)[Field] }

/**
 * One model with its offers.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Response = Schema.Struct({ data: ModelEndpoints })

/**
 * @category models
 * @since 0.1.0
 */
export type Response = {
  [Field in keyof typeof Response.Type]: (typeof Response.Type)[Field]
}

/**
 * @category operations
 * @since 0.1.0
 */
export const listModelEndpointsOperation = Operation.make(
  "listModelEndpoints",
  "GET",
  "/models/:author/:slug/endpoints",
  {
    access: "any key",
    success: Response,
    error: rateLimitedErrors
  }
)

/**
 * @category endpoints
 * @since 0.1.0
 */
export const listModelEndpointsEndpoint = Operation.endpoint(listModelEndpointsOperation, () => {
  const { architecture, capabilities, id, is_free, kind, name, pricing } = modelExample
  return {
    params: modelParams(),
    reference: {
      summary: "List the offers of a model",
      arguments: ["cohere/rerank-v3.5"],
      example: {
        params: { author: "cohere", slug: "rerank-v3.5" },
        response: {
          data: {
            id,
            name,
            created: 0,
            description: "",
            architecture,
            endpoints: [
              {
                name: "cohere | cohere/rerank-v3.5",
                model_id: id,
                model_name: name,
                provider_name: "cohere",
                tag: "cohere",
                pricing,
                context_length: 0,
                max_completion_tokens: null,
                max_prompt_tokens: null,
                quantization: null,
                supported_parameters: [],
                supports_implicit_caching: false,
                supports_tool_choice: { auto: false, function: false, none: false, required: false },
                supports_voice_cloning: false,
                latency_last_30m: null,
                throughput_last_30m: null,
                uptime_last_5m: null,
                uptime_last_30m: null,
                uptime_last_1d: null,
                kind,
                is_free,
                capabilities,
                data_policy: { training: true, retains_prompts: true, prompt_retention_days: 30 }
              }
            ]
          }
        }
      }
    }
  }
})

/**
 * The errors of {@link listModelEndpoints}.
 *
 * @category errors
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof listModelEndpointsOperation> | ClientError

/**
 * Lists who offers the model, with the price and the capabilities at each provider. The path names
 * the model as GET `/model/{author}/{slug}` does.
 *
 * @remarks
 * An id without a slash fails with `BadRequest`, and nothing is sent.
 *
 * @category calls
 * @since 0.1.0
 */
export const listModelEndpoints = (id: string): Effect.Effect<ModelEndpoints, Failure, GatewayClient> => {
  const params = paramsOf(id)
  return params === undefined
    ? refuse(listModelEndpointsOperation, "id", notAnId)
    : dataOf(call(listModelEndpointsOperation, { params }))
}
