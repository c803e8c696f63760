/**
 * Fields of a guardrail in OpenRouter's API that this service does not support. A request may not
 * turn them on, so that nobody relies on them.
 */
import * as Schema from "effect/Schema"
import { fixed } from "./fixed.ts"

/** A restriction that this gateway cannot enforce, so it cannot be turned on. */
const Unrestricted = Schema.NullOr(Schema.Literal(true))

/** A protection that this gateway cannot give, so it cannot be turned on. */
const Unprotected = Schema.NullOr(Schema.Literal(false))

/** Filters that this gateway cannot apply, so there cannot be any. */
const Unfiltered = Schema.NullOr(Schema.Array(Schema.Json).check(Schema.isMaxLength(0, { expected: "no items" })))

/** The fields of a guardrail. */
export const guardrailFields = {
  /**
   * Whether usage of the callers' provider keys counts toward `limit_usd`. Always false: it
   * counts toward the limits of keys only.
   */
  include_byok_in_budgets: fixed(Schema.Boolean, false),
  /** The regions that requests must arrive in. Always null: this gateway has no regions. */
  allowed_data_regions: fixed(Schema.NullOr(Schema.Array(Schema.String)), null),
  /** Filters of request contents. Always null: this gateway does not filter contents. */
  content_filters: fixed(Schema.NullOr(Schema.Array(Schema.Json)), null),
  /** Ready-made filters of request contents. Always null: this gateway does not filter contents. */
  content_filter_builtins: fixed(Schema.NullOr(Schema.Array(Schema.Json)), null),
  /** Whether free models may publish prompts. Always null: this gateway does not know which do. */
  enable_free_model_publication: fixed(Schema.NullOr(Schema.Boolean), null),
  /**
   * Whether free models may train on requests. Always null: this gateway does not know which do.
   */
  enable_free_model_training: fixed(Schema.NullOr(Schema.Boolean), null),
  /**
   * Whether paid models may train on requests. Always null: this gateway does not know which do.
   */
  enable_paid_model_training: fixed(Schema.NullOr(Schema.Boolean), null),
  /** Whether only providers that keep no data may serve. Always null: this cannot be enforced. */
  enforce_zdr: fixed(Schema.NullOr(Schema.Boolean), null),
  /** As `enforce_zdr`, for models of Anthropic. Always null. */
  enforce_zdr_anthropic: fixed(Schema.NullOr(Schema.Boolean), null),
  /** As `enforce_zdr`, for models of Google. Always null. */
  enforce_zdr_google: fixed(Schema.NullOr(Schema.Boolean), null),
  /** As `enforce_zdr`, for models of OpenAI. Always null. */
  enforce_zdr_openai: fixed(Schema.NullOr(Schema.Boolean), null),
  /** As `enforce_zdr`, for models of xAI. Always null. */
  enforce_zdr_xai: fixed(Schema.NullOr(Schema.Boolean), null),
  /** As `enforce_zdr`, for models of all others. Always null. */
  enforce_zdr_other: fixed(Schema.NullOr(Schema.Boolean), null)
}

/** The fields of a request. */
export const guardrailRequestFields = {
  /**
   * Whether usage of the callers' provider keys counts toward `limit_usd`. Only false is
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
