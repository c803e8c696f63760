/**
 * Provider preferences: the `provider` field of rerank, transcription and video requests.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Decimal, FreeForm } from "./Identifiers.ts"
import { isMaxItems, isMaxJsonBytes } from "./internal/bounds.ts"
import { isMaxCharacters } from "./internal/characters.ts"
import type { Written } from "./internal/written.ts"

const isPrice = Schema.isGreaterThanOrEqualTo(0)

/** Published clients send prices as text. */
const Price = Schema.Union([Schema.Finite.check(isPrice), Decimal.check(isPrice)])

/**
 * The highest accepted price, in credits per unit: a number, or decimal text such as `0.002`.
 * Providers above it are not used. Units that a model does not charge by are ignored.
 *
 * @category schemas
 * @since 0.1.0
 */
export const MaxPrice = Schema.Struct({
  /** Credits per search unit (rerank). */
  search_unit: Schema.optionalKey(Price),
  /** Credits per second of audio or video. */
  second: Schema.optionalKey(Price),
  /** Credits per million input tokens. */
  prompt: Schema.optionalKey(Price),
  /** Credits per million output tokens. */
  completion: Schema.optionalKey(Price),
  /** Credits per request: for a video model that has one price for a whole video. */
  request: Schema.optionalKey(Price)
})

/**
 * @category models
 * @since 0.1.0
 */
export type MaxPrice = { [Field in keyof typeof MaxPrice.Type]: Written<typeof MaxPrice.Type, Field> }

/** An entry is compared with lists of names, and stored with the request of a video. */
const maxOptionBytes = 16_384

/** At most 64 names. */
const ProviderNames = Schema.Array(Schema.String.check(Schema.isMinLength(1), isMaxCharacters(64))).check(
  isMaxItems(64)
)

/** Published clients send null for a preference that is not set. */
const preference = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/**
 * Provider routing preferences. Null is the same as an absent field. Unknown keys are accepted and
 * ignored.
 *
 * Specification: "Routing preferences".
 *
 * @example
 * ```ts
 * import type { Preferences } from "@model-gateway/core/Routing"
 *
 * const cheapestWithoutFallback: Preferences = { sort: "price", allow_fallbacks: false }
 * ```
 *
 * @category schemas
 * @since 0.1.0
 */
export const Preferences = Schema.Struct({
  /** Whether another provider may serve the request if the first one fails. Default: true. */
  allow_fallbacks: preference(Schema.Boolean),
  /** Providers to try first, in this order: at most 64. */
  order: preference(ProviderNames),
  /** The only providers to try: at most 64. */
  only: preference(ProviderNames),
  /** Providers never to try: at most 64. */
  ignore: preference(ProviderNames),
  /**
   * How to order the providers that `order` does not list. `price` is what this request costs at
   * most; of equal prices, the faster provider comes first. Default: the operator's order.
   */
  sort: preference(Schema.Literals(["price", "latency", "throughput"])),
  /** The highest accepted price. */
  max_price: Schema.optionalKey(MaxPrice),
  /**
   * `deny`: only providers that declare that they do not train on requests, and keep them for a
   * limited time at most. A 404 if the model has none. Default: `allow`.
   */
  data_collection: preference(Schema.Literals(["allow", "deny"])),
  /**
   * Whether only providers are used that declare zero data retention: they keep nothing of a
   * request after they answered it. A 404 if the model has none. Default: false.
   */
  zdr: preference(Schema.Boolean),
  /**
   * Whether only providers are used that ignore no parameter of the request: those whose response
   * would have no `warnings`. A 404 if the model has none. Default: false.
   */
  require_parameters: preference(Schema.Boolean),
  /**
   * Options by provider name, at most 16 KiB of JSON each. Only the entry of the provider that
   * serves the request is sent to it, as it is. A 400 if a field of it changes the price, the
   * model, the credential, where results are sent, or the form of the provider's answer.
   */
  options: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Record(Schema.String, FreeForm).check(isMaxJsonBytes(maxOptionBytes)))
  )
})

/**
 * @category models
 * @since 0.1.0
 */
export type Preferences = { [Field in keyof typeof Preferences.Type]: Written<typeof Preferences.Type, Field> }
