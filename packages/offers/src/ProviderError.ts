/**
 * The failures of an upstream provider, from the upstream's point of view.
 *
 * There is one error, `ProviderError`, and its `reason` names the case. The service maps reasons to
 * the contract's statuses in one exhaustive match, so a new reason does not compile until it has a
 * status.
 *
 * @since 0.1.0
 */
import { Issue } from "@model-gateway/core/GatewayError"
import { Schema } from "effect"

/**
 * The upstream rejected the request as invalid. Another provider would most likely do the same,
 * unless `othersMayAccept` it.
 *
 * `message` is shown to the caller. Quote no more of the request than is needed to correct it.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidRequest extends Schema.TaggedError<InvalidRequest>("@model-gateway/offers/InvalidRequest")(
  "InvalidRequest",
  {
    message: Schema.String,
    /** What is wrong with which field, if an adapter's own check found it. */
    issues: Schema.optionalKey(Schema.Array(Issue)),
    /**
     * Whether another provider of the model may accept it, because the request asks for what this
     * one lacks, such as a language. Default: false.
     */
    othersMayAccept: Schema.optionalKey(Schema.Boolean)
  }
) {}

/**
 * The input exceeds a limit of the upstream. Another provider may accept it.
 *
 * `message` is shown to the caller and names the limit, if the upstream did.
 *
 * @category errors
 * @since 0.1.0
 */
export class InputTooLarge extends Schema.TaggedError<InputTooLarge>("@model-gateway/offers/InputTooLarge")(
  "InputTooLarge",
  {
    message: Schema.String,
    /** Which field is too large, if an adapter's own check found it. */
    issues: Schema.optionalKey(Schema.Array(Issue))
  }
) {}

/**
 * The upstream does not have the model, or not as a model of this kind.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnknownModel extends Schema.TaggedError<UnknownModel>("@model-gateway/offers/UnknownModel")(
  "UnknownModel",
  { model: Schema.String }
) {
  override get message(): string {
    return `unknown model ${this.model}`
  }
}

/**
 * The upstream rejected the gateway's credentials.
 *
 * @category errors
 * @since 0.1.0
 */
export class Unauthorized extends Schema.TaggedError<Unauthorized>("@model-gateway/offers/Unauthorized")(
  "Unauthorized",
  {}
) {
  override get message(): string {
    return "the provider rejected its credentials"
  }
}

/**
 * The account that the credential belongs to is out of credit or quota at the upstream. Waiting a
 * moment does not help: someone has to pay or raise a limit there.
 *
 * @category errors
 * @since 0.1.0
 */
export class OutOfCredit extends Schema.TaggedError<OutOfCredit>("@model-gateway/offers/OutOfCredit")(
  "OutOfCredit",
  {}
) {
  override get message(): string {
    return "the account at the provider is out of credit"
  }
}

/**
 * The upstream limits the gateway's request rate. `retryAfter` is the waiting time that it sent.
 *
 * @category errors
 * @since 0.1.0
 */
export class RateLimited extends Schema.TaggedError<RateLimited>("@model-gateway/offers/RateLimited")("RateLimited", {
  retryAfter: Schema.optionalKey(Schema.Duration)
}) {
  override get message(): string {
    return "the provider's rate limit is exceeded"
  }
}

/**
 * The upstream is up but has no capacity.
 *
 * @category errors
 * @since 0.1.0
 */
export class Overloaded extends Schema.TaggedError<Overloaded>("@model-gateway/offers/Overloaded")("Overloaded", {
  retryAfter: Schema.optionalKey(Schema.Duration)
}) {
  override get message(): string {
    return "the provider is overloaded"
  }
}

/**
 * The upstream could not be reached, or reports that it is down.
 *
 * @category errors
 * @since 0.1.0
 */
export class Unavailable extends Schema.TaggedError<Unavailable>("@model-gateway/offers/Unavailable")("Unavailable", {
  retryAfter: Schema.optionalKey(Schema.Duration)
}) {
  override get message(): string {
    return "the provider is not available"
  }
}

/**
 * The upstream received the request but did not answer in time.
 *
 * @category errors
 * @since 0.1.0
 */
export class Timeout extends Schema.TaggedError<Timeout>("@model-gateway/offers/Timeout")("Timeout", {}) {
  override get message(): string {
    return "the provider did not answer in time"
  }
}

/**
 * The connection broke after the request was sent: the upstream may have received the request, and
 * its answer did not arrive, or not whole.
 *
 * @category errors
 * @since 0.1.0
 */
export class ConnectionLost extends Schema.TaggedError<ConnectionLost>("@model-gateway/offers/ConnectionLost")(
  "ConnectionLost",
  {}
) {
  override get message(): string {
    return "the connection to the provider was lost before its answer was complete"
  }
}

/**
 * The upstream failed or sent an invalid response. `description` is for the operator's log: it says
 * what was wrong with the response and contains none of its content.
 *
 * @category errors
 * @since 0.1.0
 */
export class BadResponse extends Schema.TaggedError<BadResponse>("@model-gateway/offers/BadResponse")("BadResponse", {
  description: Schema.String
}) {
  override get message(): string {
    return `the provider sent an invalid response: ${this.description}`
  }
}

/**
 * The statuses that sandbox models can answer with.
 *
 * @category constants
 * @since 0.1.0
 */
export const simulatedStatuses = [400, 401, 402, 403, 404, 413, 429, 500, 502, 503, 504, 524, 529] as const

/**
 * @category models
 * @since 0.1.0
 */
export type SimulatedStatus = (typeof simulatedStatuses)[number]

/**
 * Not an upstream failure: a `sandbox/status-<code>` model was called to get exactly this status,
 * and the service answers with it.
 *
 * @category errors
 * @since 0.1.0
 */
export class Simulated extends Schema.TaggedError<Simulated>("@model-gateway/offers/Simulated")("Simulated", {
  status: Schema.Literals(simulatedStatuses),
  retryAfter: Schema.optionalKey(Schema.Duration)
}) {
  override get message(): string {
    return `simulated status ${this.status}`
  }
}

/**
 * Every reason.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Reason = Schema.Union([
  InvalidRequest,
  InputTooLarge,
  UnknownModel,
  Unauthorized,
  OutOfCredit,
  RateLimited,
  Overloaded,
  Unavailable,
  Timeout,
  ConnectionLost,
  BadResponse,
  Simulated
])

/**
 * @category models
 * @since 0.1.0
 */
export type Reason = typeof Reason.Type

const fallsBack: Readonly<Record<Exclude<Reason["_tag"], "InvalidRequest">, boolean>> = {
  InputTooLarge: true,
  UnknownModel: true,
  Unauthorized: true,
  OutOfCredit: true,
  RateLimited: true,
  Overloaded: true,
  Unavailable: true,
  Timeout: true,
  ConnectionLost: true,
  BadResponse: true,
  Simulated: false
}

/**
 * Whether to try another provider of the same model after a failure for this reason.
 *
 * @category predicates
 * @since 0.1.0
 */
export const canFallBack = (reason: Reason): boolean =>
  reason._tag === "InvalidRequest" ? reason.othersMayAccept === true : fallsBack[reason._tag]

/**
 * The one failure of every provider.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { InvalidRequest, ProviderError } from "@model-gateway/offers/ProviderError"
 *
 * const refused = Effect.fail(new ProviderError({ reason: new InvalidRequest({ message: "the audio is empty" }) }))
 * ```
 *
 * @category errors
 * @since 0.1.0
 */
export class ProviderError extends Schema.TaggedError<ProviderError>("@model-gateway/offers/ProviderError")(
  "ProviderError",
  {
    reason: Reason,
    /** The HTTP status that the upstream answered with. Absent if it did not answer. */
    status: Schema.optionalKey(Schema.Int),
    /**
     * Whether the upstream was asked in several calls and answered some of them, so that it bills a
     * part although the whole failed.
     */
    isPartlyBilled: Schema.optionalKey(Schema.Boolean)
  }
) {
  /** The reason's message. */
  override get message(): string {
    return this.reason.message
  }

  /** Whether to try another provider of the same model. */
  get canFallBack(): boolean {
    return canFallBack(this.reason)
  }
}

/**
 * A `ProviderError` for an invalid request.
 *
 * @category constructors
 * @since 0.1.0
 */
export const invalidRequest = (message: string): ProviderError =>
  new ProviderError({ reason: new InvalidRequest({ message }) })

/**
 * A `ProviderError` for a request with a field that is too large, by an adapter's own check.
 *
 * @category constructors
 * @since 0.1.0
 */
export const tooLargeField = ({ message, path }: Issue): ProviderError =>
  new ProviderError({ reason: new InputTooLarge({ message, issues: [{ path, message }] }) })

/**
 * A `ProviderError` for a request whose fields an adapter's own check refuses. The message is the
 * first issue's.
 *
 * @category constructors
 * @since 0.1.0
 */
export const invalidFields = (issues: readonly [Issue, ...ReadonlyArray<Issue>]): ProviderError => {
  const [{ message, path }] = issues
  return new ProviderError({ reason: new InvalidRequest({ message: `${path}: ${message}`, issues }) })
}
