/**
 * The error envelope, and one tagged error for each status.
 *
 * Every error response carries the same envelope:
 *
 * ```json
 * {
 *   "error": { "code": 429, "message": "rate limit exceeded", "metadata": { "retry_after": 2 } },
 *   "service_metadata": { "request_id": "req_0197…" },
 *   "user_id": null
 * }
 * ```
 *
 * The status determines the class, so that `Effect.catchTag("PaymentRequired", …)` handles a 402.
 * The tag is not sent over the wire.
 *
 * Specification: "Error envelope", "Errors".
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { NodeInspectSymbol } from "effect/Inspectable"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import { FreeForm } from "./Identifiers.ts"
import * as Description from "./internal/description.ts"

/**
 * Free-form details of an error. This service sets `issues` on a 400, `retry_after` (seconds) on a
 * 429, 503 and 529, and `provider` and `attempts` on a 502, 524 and 529.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Metadata = Schema.Record(Schema.String, FreeForm)

/**
 * @category models
 * @since 0.1.0
 */
export type Metadata = typeof Metadata.Type

/**
 * One problem with a request, as listed in `error.metadata.issues` of a 400.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Issue = Schema.Struct({
  /** Dotted path from the root of the body or of the parameters, such as `documents.0.image`. */
  path: Schema.String,
  /** What is wrong with the value at this path. */
  message: Schema.String
})

/**
 * @category models
 * @since 0.1.0
 */
export type Issue = { [Field in keyof typeof Issue.Type]: (typeof Issue.Type)[Field] }

const isIssues = Schema.is(Schema.Array(Issue))

/**
 * The first words of the service's messages, by status. They are the specification's examples,
 * except for 403, whose example covers only one case.
 *
 * @category constants
 * @since 0.1.0
 */
export const phrases = {
  400: Description.invalidRequest,
  401: "missing authentication header",
  402: "insufficient credits",
  403: "insufficient permissions",
  404: "resource not found",
  413: "request payload too large",
  429: "rate limit exceeded",
  500: "internal server error",
  502: "provider returned error",
  503: "service temporarily unavailable",
  504: "the operation was aborted due to timeout",
  524: "request timed out, try again later",
  529: "provider returned error"
} as const

/**
 * The statuses after which the same request may succeed later. 408 means that the request did not
 * arrive in time; no operation lists it, so the client reports it as `InvalidResponse`. A 500 is
 * not one of them, because it does not tell whether the work was done.
 *
 * @category constants
 * @since 0.1.0
 */
export const retryableStatuses = [408, 429, 502, 503, 504, 524, 529] as const

/**
 * @category models
 * @since 0.1.0
 */
export type RetryableStatus = (typeof retryableStatuses)[number]

/**
 * Whether the same request may succeed later: the status is one of {@link retryableStatuses}.
 *
 * @category guards
 * @since 0.1.0
 */
export const isRetryableStatus = (status: number): status is RetryableStatus =>
  retryableStatuses.some((retryable) => retryable === status)

/**
 * The statuses whose response has a `Retry-After` header if the delay is known.
 *
 * @category constants
 * @since 0.1.0
 */
export const retryAfterStatuses: ReadonlySet<number> = new Set([429, 503, 529])

/**
 * The fields of the error envelope.
 *
 * @category models
 * @since 0.1.0
 */
export interface EnvelopeFields {
  readonly error: { readonly code: number; readonly message: string; readonly metadata?: Metadata | null }
  readonly service_metadata?: Metadata | null
  readonly user_id?: string | null
}

/**
 * The base of all errors that have a status: the fields of the envelope, and accessors for the most
 * used ones. The client adds `operation`, `attempts` and `idempotencyKey`, which are not sent.
 *
 * @category errors
 * @since 0.1.0
 */
export class EnvelopeError extends Schema.Error<EnvelopeError>("EnvelopeError")({
  error: Schema.Struct({
    code: Schema.Int,
    message: Schema.String,
    metadata: Schema.optionalKey(Schema.NullOr(Metadata))
  }),
  service_metadata: Schema.optionalKey(Schema.NullOr(Metadata)),
  user_id: Schema.optionalKey(Schema.NullOr(Schema.String))
}) {
  /** The operation's identifier in the contract. Undefined if no client made the error. */
  declare readonly operation?: string | undefined

  /** The number of requests that were sent. */
  readonly attempts: number = 1

  /**
   * The idempotency key of the requests, if they had one. A new call with the same key and the same
   * request is not charged twice.
   */
  declare readonly idempotencyKey?: string | undefined

  constructor(fields: EnvelopeFields, options?: Schema.MakeOptions) {
    super(fields, options)
    Description.removeFrames(this)
  }

  /** The HTTP status; the same number as `error.code`. */
  get status(): number {
    return this.error.code
  }

  /**
   * One line for a log: operation, status, the service's own message, request id and attempts. The
   * service's message alone is `error.message`, or here if no client made the error.
   */
  override get message(): string {
    return this.operation === undefined
      ? this.error.message
      : Description.line(this, `${this.status} ${this.error.message}`)
  }

  /** `error.metadata`, or an empty object if the service sent none. */
  get metadata(): Metadata {
    return this.error.metadata ?? {}
  }

  /** The identifier to quote when you ask for support, from `service_metadata.request_id`. */
  get requestId(): string | undefined {
    const id = this.service_metadata?.["request_id"]
    return typeof id === "string" ? id : undefined
  }

  /** Seconds to wait before the next attempt, if the service sent them. */
  get retryAfter(): number | undefined {
    const seconds = this.metadata["retry_after"]
    return typeof seconds === "number" ? seconds : undefined
  }

  /** All problems with the request, from `error.metadata.issues`. */
  get issues(): ReadonlyArray<Issue> {
    const issues = this.metadata["issues"]
    return isIssues(issues) ? issues : []
  }

  /** Whether the same request may succeed later: the status is one of {@link retryableStatuses}. */
  get isRetryable(): boolean {
    return isRetryableStatus(this.error.code)
  }

  /** The fields of all errors, and `metadata`. */
  override toJSON(): unknown {
    return { ...Description.fields(this), metadata: this.metadata }
  }

  /** One line. */
  override [NodeInspectSymbol](): string {
    return String(this)
  }
}

/** The field that differs by status: the only valid `code`. */
const withCode = <const Status extends number>(status: Status) => ({
  error: Schema.Struct({
    code: Schema.Literal(status).pipe(Schema.withConstructorDefault(Effect.succeed(status))),
    message: Schema.String,
    metadata: Schema.optionalKey(Schema.NullOr(Metadata))
  })
})

/**
 * 400: the request is invalid, or the upstream rejected its content. `issues` lists every invalid
 * field. Do not retry an unchanged request.
 *
 * Specification: "Errors".
 *
 * @category errors
 * @since 0.1.0
 */
export class BadRequest extends EnvelopeError.extend<BadRequest>("BadRequest")(withCode(400), {
  httpApiStatus: 400
}) {
  readonly _tag = "BadRequest"
}

/**
 * 401: the credential is missing, malformed, unknown, expired, disabled or deleted.
 *
 * Specification: "Authentication", "Errors".
 *
 * @category errors
 * @since 0.1.0
 */
export class Unauthorized extends EnvelopeError.extend<Unauthorized>("Unauthorized")(withCode(401), {
  httpApiStatus: 401
}) {
  readonly _tag = "Unauthorized"
}

/**
 * 402: the workspace has too few credits, or the request would exceed the spending limit of the key
 * or of its guardrail. The message says which.
 *
 * Specification: "Errors".
 *
 * @category errors
 * @since 0.1.0
 */
export class PaymentRequired extends EnvelopeError.extend<PaymentRequired>("PaymentRequired")(withCode(402), {
  httpApiStatus: 402
}) {
  readonly _tag = "PaymentRequired"
}

/**
 * 403: the key is valid but not allowed to do this: it is the wrong kind of key, the workspace is
 * not its own, or its guardrail forbids it.
 *
 * Specification: "Authentication", "Errors".
 *
 * @category errors
 * @since 0.1.0
 */
export class Forbidden extends EnvelopeError.extend<Forbidden>("Forbidden")(withCode(403), {
  httpApiStatus: 403
}) {
  readonly _tag = "Forbidden"
}

/**
 * 404: the file, model, job or guardrail does not exist, or the caller has no access to it.
 *
 * Specification: "Errors".
 *
 * @category errors
 * @since 0.1.0
 */
export class NotFound extends EnvelopeError.extend<NotFound>("NotFound")(withCode(404), {
  httpApiStatus: 404
}) {
  readonly _tag = "NotFound"
}

/**
 * 413: the body is larger than the operation's limit.
 *
 * Specification: "Errors".
 *
 * @category errors
 * @since 0.1.0
 */
export class PayloadTooLarge extends EnvelopeError.extend<PayloadTooLarge>("PayloadTooLarge")(withCode(413), {
  httpApiStatus: 413
}) {
  readonly _tag = "PayloadTooLarge"
}

/**
 * 429: the key exceeded its rate limit, or its daily requests to free models are used up.
 * The response says when to try again.
 *
 * Specification: "Errors".
 *
 * @category errors
 * @since 0.1.0
 */
export class TooManyRequests extends EnvelopeError.extend<TooManyRequests>("TooManyRequests")(withCode(429), {
  httpApiStatus: 429
}) {
  readonly _tag = "TooManyRequests"
}

/**
 * 500: the gateway failed unexpectedly. Quote the request id when you report it.
 *
 * Specification: "Errors".
 *
 * @category errors
 * @since 0.1.0
 */
export class InternalServerError extends EnvelopeError.extend<InternalServerError>("InternalServerError")(
  withCode(500),
  { httpApiStatus: 500 }
) {
  readonly _tag = "InternalServerError"
}

/**
 * 502: the upstream rejected the gateway's credentials, failed, or sent an invalid response.
 *
 * Specification: "Errors".
 *
 * @category errors
 * @since 0.1.0
 */
export class BadGateway extends EnvelopeError.extend<BadGateway>("BadGateway")(withCode(502), {
  httpApiStatus: 502
}) {
  readonly _tag = "BadGateway"
}

/**
 * 503: the gateway, or every provider of the model, is temporarily unavailable.
 *
 * Specification: "Errors".
 *
 * @category errors
 * @since 0.1.0
 */
export class ServiceUnavailable extends EnvelopeError.extend<ServiceUnavailable>("ServiceUnavailable")(withCode(503), {
  httpApiStatus: 503
}) {
  readonly _tag = "ServiceUnavailable"
}

/**
 * 504: the transcription exceeded the gateway's own time limit.
 *
 * Specification: "Errors".
 *
 * @category errors
 * @since 0.1.0
 */
export class GatewayTimeout extends EnvelopeError.extend<GatewayTimeout>("GatewayTimeout")(withCode(504), {
  httpApiStatus: 504
}) {
  readonly _tag = "GatewayTimeout"
}

/**
 * 524: no upstream responded in time, including fallbacks.
 *
 * Specification: "Errors".
 *
 * @category errors
 * @since 0.1.0
 */
export class UpstreamTimeout extends EnvelopeError.extend<UpstreamTimeout>("UpstreamTimeout")(withCode(524), {
  httpApiStatus: 524
}) {
  readonly _tag = "UpstreamTimeout"
}

/**
 * 529: the upstream is overloaded, or rate-limits the gateway.
 *
 * Specification: "Errors".
 *
 * @category errors
 * @since 0.1.0
 */
export class ProviderOverloaded extends EnvelopeError.extend<ProviderOverloaded>("ProviderOverloaded")(withCode(529), {
  httpApiStatus: 529
}) {
  readonly _tag = "ProviderOverloaded"
}

/**
 * All errors that have a status.
 *
 * @category errors
 * @since 0.1.0
 */
export type GatewayError =
  | BadRequest
  | Unauthorized
  | PaymentRequired
  | Forbidden
  | NotFound
  | PayloadTooLarge
  | TooManyRequests
  | InternalServerError
  | BadGateway
  | ServiceUnavailable
  | GatewayTimeout
  | UpstreamTimeout
  | ProviderOverloaded

/**
 * The HTTP status of an error schema.
 *
 * @category getters
 * @since 0.1.0
 */
export const statusOf = (schema: Schema.Top): number | undefined => resolveStatus(schema.ast)

const resolveStatus = SchemaAST.resolveAt<number>("httpApiStatus")

/**
 * The class of an error, as operations list them.
 *
 * @category models
 * @since 0.1.0
 */
export type ErrorClass<E extends GatewayError> = Schema.Top &
  (new (fields: { readonly error: { readonly message: string; readonly metadata?: Metadata } }) => E)

/**
 * The error with a status that is known only when the program runs, if the operation has that
 * status. `undefined` if it does not.
 *
 * @example
 * ```ts
 * import { GatewayError, Rerank } from "@model-gateway/core"
 *
 * const make = (status: number) =>
 *   GatewayError.ofStatus<GatewayError.GatewayError>(Rerank.rerankOperation.error, status, { message: "no" })
 *
 * make(404) // NotFound
 * make(504) // undefined: a rerank has no 504
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const ofStatus = <E extends GatewayError>(
  errors: ReadonlyArray<ErrorClass<E>>,
  status: number,
  error: { readonly message: string; readonly metadata?: Metadata }
): E | undefined => {
  const found = errors.find((each) => statusOf(each) === status)
  return found === undefined ? undefined : new found({ error })
}
