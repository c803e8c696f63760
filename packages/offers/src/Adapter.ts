/**
 * An adapter turns the configuration of an upstream into offers.
 *
 * An adapter is one kind of API. An upstream is one address that speaks it, with one credential. A
 * gateway may have several upstreams of one adapter, each with its own name.
 *
 * @since 0.1.0
 */
import { Config, Data, type Duration, Effect, Schema } from "effect"
import type { HttpClient } from "effect/http"
import type { DataPolicy } from "./DataPolicy.ts"
import type { Model } from "./Model.ts"
import { type Credential, gatewayCredential, type Kind, type Offers } from "./Offer.ts"
import * as UpstreamHttp from "./UpstreamHttp.ts"

/**
 * One address that speaks an adapter's API.
 *
 * @category models
 * @since 0.1.0
 */
export interface Upstream {
  /**
   * The provider's name for callers: in `provider.order`, in `provider.options` and in responses.
   */
  readonly name: string
  /** See `UpstreamHttp.BaseUrl`. Empty for an adapter that has none. */
  readonly baseUrl: string
  /**
   * The gateway's own credential. If it is absent, only callers with a provider key
   * can use the offers.
   */
  readonly credential: Credential | undefined
  /** The longest wait for a response, or for its next bytes. Default: 5 minutes. */
  readonly timeLimit?: Duration.Input | undefined
}

/**
 * A model that the adapter cannot offer. `message` completes the sentence "The model …" and names
 * the field, such as `parameters.ratios must not be empty`.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidModel extends Data.TaggedError("InvalidModel")<{
  readonly model: Model
  readonly message: string
}> {}

/**
 * Decodes the `parameters` of a model, which may come from a settings file. A field that the schema
 * does not have is an error.
 *
 * @category decoding
 * @since 0.1.0
 */
export const decodeParameters = <A, I>(schema: Schema.Codec<A, I>, model: Model): Effect.Effect<A, InvalidModel> =>
  Schema.decodeUnknownEffect(schema)(model.parameters ?? {}, { onExcessProperty: "error" }).pipe(
    Effect.mapError(
      (error) =>
        new InvalidModel({ model, message: `has invalid parameters: ${error.message.replaceAll(/\s+/g, " ")}` })
    )
  )

/**
 * The settings of an adapter's own upstream. They are environment variables for everybody who sets
 * one key and starts the gateway.
 *
 * @category models
 * @since 0.1.0
 */
export interface Variables {
  /** The variable of the credential, such as `COHERE_API_KEY`. */
  readonly apiKey: string
  /** The variable of the base URL, such as `COHERE_BASE_URL`. */
  readonly baseUrl: string
}

/**
 * An adapter. `R` is what its offers need to be made.
 *
 * @category models
 * @since 0.1.0
 */
export interface Adapter<out R = HttpClient.HttpClient> {
  /** Its name in settings, and the name of its own upstream: `cohere`. */
  readonly name: string
  /** The name of the service for people: `Cohere`. */
  readonly title: string
  /** Undefined if the adapter has no upstream of its own, so that settings must define one. */
  readonly variables: Variables | undefined
  /**
   * Where the public API is. Undefined: the upstream is off unless a URL is set.
   * Empty if the adapter calls no URL, such as that of a local command.
   */
  readonly defaultBaseUrl: string | undefined
  /**
   * Where calls with the upstream's own credential go, for people. Default: to its base URL. Only
   * for a service with several addresses, each of which takes keys of its own.
   */
  readonly addressOf?: (upstream: Pick<Upstream, "baseUrl" | "credential">) => string
  /** Whether calls need a credential. `optional`: the upstream is on if it has a base URL. */
  readonly credential: "required" | "optional" | "none"
  /** The kinds of models that it can offer. */
  readonly kinds: ReadonlyArray<Kind>
  /** The built-in models. */
  readonly models: ReadonlyArray<Model>
  /**
   * What the public service documents of the data in requests. Default: nothing.
   */
  readonly dataPolicy?: DataPolicy | undefined
  /** The offers of these models at an upstream, in the same order. */
  readonly offers: (upstream: Upstream, models: ReadonlyArray<Model>) => Effect.Effect<Offers, InvalidModel, R>
}

/**
 * What an upstream of the adapter declares of the data in requests, if its settings declare
 * nothing: that of the public service. Undefined for any other URL, where others may serve.
 *
 * @category getters
 * @since 0.1.0
 */
export const dataPolicyOf = <R>(
  { dataPolicy, defaultBaseUrl }: Adapter<R>,
  { baseUrl }: Pick<Upstream, "baseUrl">
): DataPolicy | undefined => (baseUrl === defaultBaseUrl ? dataPolicy : undefined)

/**
 * The offers with the data policy of their provider, where they have none of their own.
 *
 * @category combinators
 * @since 0.1.0
 */
export const withDataPolicy = (offers: Offers, dataPolicy: DataPolicy | undefined): Offers =>
  dataPolicy === undefined ? offers : offers.map((offer) => ({ dataPolicy, ...offer }))

/**
 * The built-in models of an adapter, with the key and the base URL from its environment variables.
 * None if the key is missing, or the base URL if there is no default.
 *
 * @example
 * ```ts
 * import * as Adapter from "@model-gateway/offers/Adapter"
 *
 * // `Cohere.adapter` of `@model-gateway/providers`
 * declare const cohere: Adapter.Adapter
 *
 * // From COHERE_API_KEY and COHERE_BASE_URL
 * const offers = Adapter.offersConfig(cohere)
 * ```
 *
 * @category configuration
 * @since 0.1.0
 */
export const offersConfig = Effect.fnUntraced(function* <R>(
  adapter: Adapter<R>
): Effect.fn.Return<Offers, Config.ConfigError | InvalidModel, R> {
  const { credential, defaultBaseUrl, models, name, variables } = adapter
  if (variables === undefined) return []
  const baseUrl = yield* Config.withDefault(Config.schema(UpstreamHttp.BaseUrl, variables.baseUrl), defaultBaseUrl)
  const apiKey = yield* Config.withDefault(Config.schema(UpstreamHttp.ApiKey, variables.apiKey), undefined)
  if (baseUrl === undefined || (apiKey === undefined && credential === "required")) return []
  const upstream = { name, baseUrl, credential: gatewayCredential(apiKey) }
  return withDataPolicy(yield* adapter.offers(upstream, models), dataPolicyOf(adapter, upstream))
})
