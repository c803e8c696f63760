/**
 * Lists the providers of the available models.
 *
 * An addition to the specification.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ClientError } from "./ClientError.ts"
import { providerFields } from "./dialect/providerFields.ts"
import type { GatewayClient } from "./GatewayClient.ts"
import { call } from "./internal/call.ts"
import { rateLimitedErrors } from "./internal/errorSets.ts"
import { DataPolicy, ModelKind } from "./Models.ts"
import * as Operation from "./Operation.ts"

/**
 * A provider. The service knows its name, its models and what it declares of the data in requests.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Provider = Schema.Struct({
  /** The same as `slug`. */
  name: Schema.String,
  /** The name that requests use in `provider.order`, `provider.only` and `provider.options`. */
  slug: Schema.String,
  ...providerFields,
  /** The kinds of models that the provider offers. */
  kinds: Schema.Array(ModelKind),
  /** What it declares of the data in requests. Absent: nothing. */
  data_policy: Schema.optionalKey(DataPolicy)
})

/**
 * @category models
 * @since 0.1.0
 */
export type Provider = { [Field in keyof typeof Provider.Type]: (typeof Provider.Type)[Field] }

/**
 * The fields of a provider that this service does not know, with the values that every provider
 * has.
 *
 * @category constants
 * @since 0.1.0
 */
export const fixed = Schema.Struct(providerFields).make({})

/**
 * Providers, by name.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ListResponse = Schema.Struct({
  /** Every provider of a model of GET `/models`. */
  data: Schema.Array(Provider)
})

/**
 * @category models
 * @since 0.1.0
 */
export type ListResponse = { [Field in keyof typeof ListResponse.Type]: (typeof ListResponse.Type)[Field] }

/**
 * @category operations
 * @since 0.1.0
 */
export const listProvidersOperation = Operation.make("listProviders", "GET", "/providers", {
  access: "any key",
  success: ListResponse,
  error: rateLimitedErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const listProvidersEndpoint = Operation.endpoint(listProvidersOperation, () => ({
  reference: {
    summary: "List providers",
    example: {
      response: {
        data: [
          {
            name: "cohere",
            slug: "cohere",
            privacy_policy_url: null,
            terms_of_service_url: null,
            status_page_url: null,
            headquarters: null,
            datacenters: null,
            kinds: ["rerank"],
            data_policy: { training: true, retains_prompts: true, prompt_retention_days: 30 }
          }
        ]
      }
    }
  }
}))

/**
 * The errors of {@link listProviders}.
 *
 * @category errors
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof listProvidersOperation> | ClientError

/**
 * Lists the providers of the models of GET `/models`.
 *
 * @category calls
 * @since 0.1.0
 */
export const listProviders: Effect.Effect<ListResponse, Failure, GatewayClient> = Effect.suspend(() =>
  call(listProvidersOperation, {})
)
