/**
 * Fields of a guardrail in the published shape of this API family that this gateway does not
 * support. A request may not turn them on, so that nobody relies on them, and every guardrail has
 * the same values.
 */
import * as Schema from "effect/Schema"

/** A restriction that this gateway cannot enforce, so it cannot be turned on. */
const Unrestricted = Schema.NullOr(Schema.Literal(true))

/** A protection that this gateway cannot give, so it cannot be turned on. */
const Unprotected = Schema.NullOr(Schema.Literal(false))

/** Filters that this gateway cannot apply, so there cannot be any. */
const Unfiltered = Schema.NullOr(Schema.Array(Schema.Json).check(Schema.isMaxLength(0, { expected: "no items" })))

/** The fields of a guardrail. */
export const response = {
  /**
   * Whether usage of the callers' own provider keys counts toward `limit_usd`. Always false: it
   * counts toward the limits of keys only.
   */
  include_byok_in_budgets: Schema.Boolean,
  /** The regions that requests must arrive in. Always null: this gateway has no regions. */
  allowed_data_regions: Schema.NullOr(Schema.Array(Schema.String)),
  /** Filters of request contents. Always null: this gateway does not filter contents. */
  content_filters: Schema.NullOr(Schema.Array(Schema.Json)),
  /** Ready-made filters of request contents. Always null: this gateway does not filter contents. */
  content_filter_builtins: Schema.NullOr(Schema.Array(Schema.Json)),
  /** Whether free models may publish prompts. Always null: this gateway does not know which do. */
  enable_free_model_publication: Schema.NullOr(Schema.Boolean),
  /**
   * Whether free models may train on requests. Always null: this gateway does not know which do.
   */
  enable_free_model_training: Schema.NullOr(Schema.Boolean),
  /**
   * Whether paid models may train on requests. Always null: this gateway does not know which do.
   */
  enable_paid_model_training: Schema.NullOr(Schema.Boolean),
  /** Whether only providers that keep no data may serve. Always null: this cannot be enforced. */
  enforce_zdr: Schema.NullOr(Schema.Boolean),
  /** As `enforce_zdr`, for models of Anthropic. Always null. */
  enforce_zdr_anthropic: Schema.NullOr(Schema.Boolean),
  /** As `enforce_zdr`, for models of Google. Always null. */
  enforce_zdr_google: Schema.NullOr(Schema.Boolean),
  /** As `enforce_zdr`, for models of OpenAI. Always null. */
  enforce_zdr_openai: Schema.NullOr(Schema.Boolean),
  /** As `enforce_zdr`, for models of xAI. Always null. */
  enforce_zdr_xai: Schema.NullOr(Schema.Boolean),
  /** As `enforce_zdr`, for models of all others. Always null. */
  enforce_zdr_other: Schema.NullOr(Schema.Boolean)
}

/** The fields of a request. */
export const request = {
  /**
   * Whether usage of the callers' own provider keys counts toward `limit_usd`. Only false is
   * accepted.
   */
  include_byok_in_budgets: Schema.optionalKey(Schema.Literal(false)),
  /** Only null is accepted: this gateway has no regions. */
  allowed_data_regions: Schema.optionalKey(Schema.Null),
  /** Only null and an empty list are accepted: this gateway filters no contents. */
  content_filters: Schema.optionalKey(Unfiltered),
  /** Only null and an empty list are accepted: this gateway filters no contents. */
  content_filter_builtins: Schema.optionalKey(Unfiltered),
  /**
   * Only null and true are accepted: this gateway does not know which free models
   * publish prompts.
   */
  enable_free_model_publication: Schema.optionalKey(Unrestricted),
  /**
   * Only null and true are accepted: this gateway does not know which free models
   * train on requests.
   */
  enable_free_model_training: Schema.optionalKey(Unrestricted),
  /**
   * Only null and true are accepted: this gateway does not know which paid models
   * train on requests.
   */
  enable_paid_model_training: Schema.optionalKey(Unrestricted),
  /**
   * Only null and false are accepted: this gateway does not know which providers keep
   * no data.
   */
  enforce_zdr: Schema.optionalKey(Unprotected),
  /** As `enforce_zdr`, for models of Anthropic. */
  enforce_zdr_anthropic: Schema.optionalKey(Unprotected),
  /** As `enforce_zdr`, for models of Google. */
  enforce_zdr_google: Schema.optionalKey(Unprotected),
  /** As `enforce_zdr`, for models of OpenAI. */
  enforce_zdr_openai: Schema.optionalKey(Unprotected),
  /** As `enforce_zdr`, for models of xAI. */
  enforce_zdr_xai: Schema.optionalKey(Unprotected),
  /** As `enforce_zdr`, for models of all others. */
  enforce_zdr_other: Schema.optionalKey(Unprotected)
}

/** The values that every guardrail has. */
export const values = {
  include_byok_in_budgets: false,
  allowed_data_regions: null,
  content_filters: null,
  content_filter_builtins: null,
  enable_free_model_publication: null,
  enable_free_model_training: null,
  enable_paid_model_training: null,
  enforce_zdr: null,
  enforce_zdr_anthropic: null,
  enforce_zdr_google: null,
  enforce_zdr_openai: null,
  enforce_zdr_xai: null,
  enforce_zdr_other: null
} as const satisfies { readonly [Field in keyof typeof response]: (typeof response)[Field]["Type"] }
