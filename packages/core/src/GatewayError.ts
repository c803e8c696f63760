/**
 * The error envelope, and one tagged error a status.
 *
 * Every response that is no success carries the same envelope (specification,
 * "Error envelope" and "Errors"):
 *
 * ```json
 * {
 *   "error": { "code": 429, "message": "rate limit exceeded", "metadata": { "retry_after": 2 } },
 *   "service_metadata": { "request_id": "req_0197…" },
 *   "user_id": null
 * }
 * ```
 *
 * The status picks the class, so `Effect.catchTag("PaymentRequired", …)` reads
 * as what happened. The tag is no part of the wire form.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"

/**
 * Free-form details of an error. The keys this service uses: `issues` on a 400,
 * `retry_after` (seconds) on a 429, 503 and 529, `provider` and `attempts` on a
 * 502, 524 and 529.
 *
 * @since 0.1.0
 */
export const Metadata = Schema.Record(Schema.String, Schema.Json)

/** @since 0.1.0 */
export type Metadata = typeof Metadata.Type

/**
 * One thing wrong with a request, as listed in `error.metadata.issues` of a 400.
 * `path` is dotted, from the root of the body or of the parameters:
 * `documents.0.image`.
 *
 * @since 0.1.0
 */
export const Issue = Schema.Struct({ path: Schema.String, message: Schema.String })

/** @since 0.1.0 */
export type Issue = typeof Issue.Type

const isIssues = Schema.is(Schema.Array(Issue))

/**
 * The words with which the service's messages begin, by status: the specification's
 * examples, but for a 403, whose example speaks of one case.
 *
 * @since 0.1.0
 */
export const phrases = {
  400: "invalid request parameters",
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
 * The statuses that are worth trying again: the request may well succeed later,
 * unchanged. A 500 is not among them: nobody knows what it did.
 *
 * @since 0.1.0
 */
export const retryableStatuses = [429, 502, 503, 504, 524, 529] as const

/** @since 0.1.0 */
export type RetryableStatus = (typeof retryableStatuses)[number]

/**
 * What all errors of a status share: the fields of the envelope, and readers for
 * what callers ask of it.
 *
 * @since 0.1.0
 */
export class EnvelopeError extends Schema.Error<EnvelopeError>("EnvelopeError")({
  error: Schema.Struct({
    code: Schema.Int,
    message: Schema.String,
    metadata: Schema.optionalKey(Schema.NullOr(Metadata))
  }),
  service_metadata: Schema.optionalKey(Schema.NullOr(Metadata)),
  user_id: Schema.optionalKey(Schema.NullOr(Schema.String)),
  /** How often the client tried before it gave up. Known to the client alone: never on the wire. */
  attempts: Schema.Int.pipe(
    Schema.withConstructorDefault(Effect.succeed(1)),
    Schema.withDecodingDefaultKey(Effect.succeed(1), { encodingStrategy: "omit" })
  )
}) {
  /** The HTTP status; the same number as `error.code`. */
  get status(): number {
    return this.error.code
  }

  /** The service's sentence, from `error.message`. */
  override get message(): string {
    return this.error.message
  }

  /** `error.metadata`, empty where the service gave none. */
  get metadata(): Metadata {
    return this.error.metadata ?? {}
  }

  /** What to hand on when asking for help, from `service_metadata.request_id`. */
  get requestId(): string | undefined {
    const id = this.service_metadata?.["request_id"]
    return typeof id === "string" ? id : undefined
  }

  /** Seconds to wait before trying again, where the service said so. */
  get retryAfter(): number | undefined {
    const seconds = this.metadata["retry_after"]
    return typeof seconds === "number" ? seconds : undefined
  }

  /** Everything that is wrong with the request, from `error.metadata.issues`. */
  get issues(): ReadonlyArray<Issue> {
    const issues = this.metadata["issues"]
    return isIssues(issues) ? issues : []
  }

  /** Whether the same request may well succeed later: the status is one of {@link retryableStatuses}. */
  get isRetryable(): boolean {
    return retryableStatuses.some((status) => status === this.error.code)
  }
}

/** What one status has as its own: a tag that stays off the wire, and the only code it admits. */
const status = <const Tag extends string, const Status extends number>(tag: Tag, status: Status) => ({
  _tag: Schema.tagDefaultOmit(tag),
  error: Schema.Struct({
    code: Schema.Literal(status).pipe(Schema.withConstructorDefault(Effect.succeed(status))),
    message: Schema.String,
    metadata: Schema.optionalKey(Schema.NullOr(Metadata))
  })
})

/**
 * 400: the request's form is wrong, or the upstream said that its content is.
 * `issues` lists every field that is out of bounds. Sending it again as it is
 * is of no use.
 *
 * Specification: "Errors", 400 (rerank, transcription, video, guardrail assignment).
 *
 * @since 0.1.0
 */
export class BadRequest extends EnvelopeError.extend<BadRequest>("BadRequest")(status("BadRequest", 400), {
  httpApiStatus: 400
}) {}

/**
 * 401: no credential, a malformed one, or one that is unknown, expired, disabled
 * or deleted.
 *
 * Specification: "Authentication" 2, "Errors", 401 (all six).
 *
 * @since 0.1.0
 */
export class Unauthorized extends EnvelopeError.extend<Unauthorized>("Unauthorized")(status("Unauthorized", 401), {
  httpApiStatus: 401
}) {}

/**
 * 402: no credits, or the spending limit of the key or of its guardrail is used
 * up; the message says which.
 *
 * Specification: "Errors", 402 (rerank, transcription, video).
 *
 * @since 0.1.0
 */
export class PaymentRequired extends EnvelopeError.extend<PaymentRequired>("PaymentRequired")(
  status("PaymentRequired", 402),
  { httpApiStatus: 402 }
) {}

/**
 * 403: authenticated, but this key may not do that (the wrong kind of key, a
 * foreign workspace, a guardrail's rule).
 *
 * Specification: "Authentication" 3, "Errors", 403.
 *
 * @since 0.1.0
 */
export class Forbidden extends EnvelopeError.extend<Forbidden>("Forbidden")(status("Forbidden", 403), {
  httpApiStatus: 403
}) {}

/**
 * 404: no such file, model, job or guardrail within the caller's reach.
 *
 * Specification: "Errors", 404.
 *
 * @since 0.1.0
 */
export class NotFound extends EnvelopeError.extend<NotFound>("NotFound")(status("NotFound", 404), {
  httpApiStatus: 404
}) {}

/**
 * 413: the body is larger than the operation takes.
 *
 * Specification: "Errors", 413 (rerank, transcription, video).
 *
 * @since 0.1.0
 */
export class PayloadTooLarge extends EnvelopeError.extend<PayloadTooLarge>("PayloadTooLarge")(
  status("PayloadTooLarge", 413),
  { httpApiStatus: 413 }
) {}

/**
 * 429: too many requests for this key, or a free model's requests of the day are
 * used up. `retryAfter` says when to try again.
 *
 * Specification: "Errors", 429 (deleteFile, rerank, transcription, video).
 *
 * @since 0.1.0
 */
export class TooManyRequests extends EnvelopeError.extend<TooManyRequests>("TooManyRequests")(
  status("TooManyRequests", 429),
  { httpApiStatus: 429 }
) {}

/**
 * 500: the gateway failed in a way that nobody foresaw. Hand on the `requestId`.
 *
 * Specification: "Errors", 500 (all six).
 *
 * @since 0.1.0
 */
export class InternalServerError extends EnvelopeError.extend<InternalServerError>("InternalServerError")(
  status("InternalServerError", 500),
  { httpApiStatus: 500 }
) {}

/**
 * 502: the upstream refused the gateway's credentials, broke, or answered
 * nonsense.
 *
 * Specification: "Errors", 502 (deleteFile, rerank, transcription).
 *
 * @since 0.1.0
 */
export class BadGateway extends EnvelopeError.extend<BadGateway>("BadGateway")(status("BadGateway", 502), {
  httpApiStatus: 502
}) {}

/**
 * 503: the gateway, or every provider of the model, is out of service for now.
 *
 * Specification: "Errors", 503 (deleteFile, rerank, transcription).
 *
 * @since 0.1.0
 */
export class ServiceUnavailable extends EnvelopeError.extend<ServiceUnavailable>("ServiceUnavailable")(
  status("ServiceUnavailable", 503),
  { httpApiStatus: 503 }
) {}

/**
 * 504: the gateway's own deadline for a transcription ran out.
 *
 * Specification: "Errors", 504 (transcription).
 *
 * @since 0.1.0
 */
export class GatewayTimeout extends EnvelopeError.extend<GatewayTimeout>("GatewayTimeout")(
  status("GatewayTimeout", 504),
  { httpApiStatus: 504 }
) {}

/**
 * 524: no upstream answered in time, fallbacks included.
 *
 * Specification: "Errors", 524 (rerank, transcription).
 *
 * @since 0.1.0
 */
export class UpstreamTimeout extends EnvelopeError.extend<UpstreamTimeout>("UpstreamTimeout")(
  status("UpstreamTimeout", 524),
  { httpApiStatus: 524 }
) {}

/**
 * 529: the upstream is overloaded, or limits the gateway's rate.
 *
 * Specification: "Errors", 529 (rerank, transcription).
 *
 * @since 0.1.0
 */
export class ProviderOverloaded extends EnvelopeError.extend<ProviderOverloaded>("ProviderOverloaded")(
  status("ProviderOverloaded", 529),
  { httpApiStatus: 529 }
) {}

/**
 * Every error that carries a status.
 *
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
 * The status that an endpoint's error schema stands for.
 *
 * @since 0.1.0
 */
export const statusOf = (schema: Schema.Top): number | undefined => resolveStatus(schema.ast)

const resolveStatus = SchemaAST.resolveAt<number>("httpApiStatus")
