/**
 * What can go wrong at an upstream provider, in the upstream's terms.
 *
 * There is one error, `ProviderError`, and its `reason` says which case it is. The service turns reasons into the
 * contract's statuses in one exhaustive match, so a new reason does not compile until it has a status.
 *
 * @since 0.1.0
 */
import { Schema } from "effect"

/**
 * The upstream says that the request itself is wrong. Another provider would most likely say the same.
 *
 * `message` is shown to the caller, so it must not quote more of the request than is needed to mend it.
 *
 * @since 0.1.0
 */
export class InvalidRequest extends Schema.TaggedError<InvalidRequest>("@model-gateway/providers/InvalidRequest")(
  "InvalidRequest",
  { message: Schema.String }
) {
  /** Whether another provider of the same model is worth asking. */
  get canFallBack(): boolean {
    return false
  }
}

/**
 * The upstream does not know the model, or not as a model of this kind.
 *
 * @since 0.1.0
 */
export class UnknownModel extends Schema.TaggedError<UnknownModel>("@model-gateway/providers/UnknownModel")(
  "UnknownModel",
  { model: Schema.String }
) {
  override get message(): string {
    return `unknown model ${this.model}`
  }
  /** Whether another provider of the same model is worth asking. */
  get canFallBack(): boolean {
    return true
  }
}

/**
 * The upstream rejected the credentials that the gateway holds for it.
 *
 * @since 0.1.0
 */
export class Unauthorized extends Schema.TaggedError<Unauthorized>("@model-gateway/providers/Unauthorized")(
  "Unauthorized",
  {}
) {
  override get message(): string {
    return "the provider rejected its credentials"
  }
  /** Whether another provider of the same model is worth asking. */
  get canFallBack(): boolean {
    return true
  }
}

/**
 * The upstream limits how often the gateway may ask. `retryAfter` is the upstream's own word on how long to wait.
 *
 * @since 0.1.0
 */
export class RateLimited extends Schema.TaggedError<RateLimited>("@model-gateway/providers/RateLimited")(
  "RateLimited",
  { retryAfter: Schema.optionalKey(Schema.Duration) }
) {
  override get message(): string {
    return "the provider limits the rate of requests"
  }
  /** Whether another provider of the same model is worth asking. */
  get canFallBack(): boolean {
    return true
  }
}

/**
 * The upstream is up and has no capacity now.
 *
 * @since 0.1.0
 */
export class Overloaded extends Schema.TaggedError<Overloaded>("@model-gateway/providers/Overloaded")("Overloaded", {
  retryAfter: Schema.optionalKey(Schema.Duration)
}) {
  override get message(): string {
    return "the provider is overloaded"
  }
  /** Whether another provider of the same model is worth asking. */
  get canFallBack(): boolean {
    return true
  }
}

/**
 * The upstream could not be reached, or says that it is down.
 *
 * @since 0.1.0
 */
export class Unavailable extends Schema.TaggedError<Unavailable>("@model-gateway/providers/Unavailable")(
  "Unavailable",
  { retryAfter: Schema.optionalKey(Schema.Duration) }
) {
  override get message(): string {
    return "the provider is not available"
  }
  /** Whether another provider of the same model is worth asking. */
  get canFallBack(): boolean {
    return true
  }
}

/**
 * The upstream took the request and gave no answer in time.
 *
 * @since 0.1.0
 */
export class Timeout extends Schema.TaggedError<Timeout>("@model-gateway/providers/Timeout")("Timeout", {}) {
  override get message(): string {
    return "the provider gave no answer in time"
  }
  /** Whether another provider of the same model is worth asking. */
  get canFallBack(): boolean {
    return true
  }
}

/**
 * The upstream broke, or answered something that is no answer. `description` is for the operator's log: it names
 * what was wrong with the answer and holds none of its contents.
 *
 * @since 0.1.0
 */
export class BadResponse extends Schema.TaggedError<BadResponse>("@model-gateway/providers/BadResponse")(
  "BadResponse",
  { description: Schema.String }
) {
  override get message(): string {
    return `the provider answered badly: ${this.description}`
  }
  /** Whether another provider of the same model is worth asking. */
  get canFallBack(): boolean {
    return true
  }
}

/**
 * The statuses that a sandbox model can be asked to answer with.
 *
 * @since 0.1.0
 */
export const simulatedStatuses = [400, 401, 402, 403, 404, 413, 429, 500, 502, 503, 504, 524, 529] as const

/** @since 0.1.0 */
export type SimulatedStatus = (typeof simulatedStatuses)[number]

/**
 * Not a failure of any upstream: a `sandbox/status-<code>` model was asked for exactly this status, and the service
 * answers with it as it stands.
 *
 * @since 0.1.0
 */
export class Simulated extends Schema.TaggedError<Simulated>("@model-gateway/providers/Simulated")("Simulated", {
  status: Schema.Literals(simulatedStatuses),
  retryAfter: Schema.optionalKey(Schema.Duration)
}) {
  override get message(): string {
    return `simulated status ${this.status}`
  }
  /** Whether another provider of the same model is worth asking. */
  get canFallBack(): boolean {
    return false
  }
}

/**
 * Every reason.
 *
 * @since 0.1.0
 */
export const Reason = Schema.Union([
  InvalidRequest,
  UnknownModel,
  Unauthorized,
  RateLimited,
  Overloaded,
  Unavailable,
  Timeout,
  BadResponse,
  Simulated
])

/** @since 0.1.0 */
export type Reason = typeof Reason.Type

/**
 * The one failure of every provider.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { InvalidRequest, ProviderError } from "@model-gateway/providers/ProviderError"
 *
 * const refused = Effect.fail(new ProviderError({ reason: new InvalidRequest({ message: "the audio is empty" }) }))
 * ```
 *
 * @since 0.1.0
 */
export class ProviderError extends Schema.TaggedError<ProviderError>("@model-gateway/providers/ProviderError")(
  "ProviderError",
  { reason: Reason }
) {
  /** The reason's message. */
  override get message(): string {
    return this.reason.message
  }

  /** Whether another provider of the same model is worth asking. */
  get canFallBack(): boolean {
    return this.reason.canFallBack
  }
}

/**
 * A `ProviderError` that says the request is wrong.
 *
 * @since 0.1.0
 */
export const invalidRequest = (message: string): ProviderError =>
  new ProviderError({ reason: new InvalidRequest({ message }) })
