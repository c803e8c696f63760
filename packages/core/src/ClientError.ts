/**
 * The three errors that every operation of the client can fail with besides its statuses: no
 * response arrived, no response arrived in time, or the response was invalid.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import { NodeInspectSymbol } from "effect/Inspectable"
import { isRetryableStatus } from "./GatewayError.ts"
import * as Certificate from "./internal/certificate.ts"
import * as Description from "./internal/description.ts"

/**
 * What every error says about its call. These fields are never sent.
 *
 * @category models
 * @since 0.1.0
 */
export interface Call {
  /** The operation's identifier in the contract, such as `rerank`. */
  readonly operation: string
  /** The number of requests that were sent. */
  readonly attempts: number
  /**
   * The idempotency key of the requests, if they had one. A new call with the same key and the same
   * request is not charged twice.
   */
  readonly idempotencyKey?: string | undefined
}

/**
 * What an error without a response says about its call. The fields of a response are undefined, so
 * that a program can read them from every error.
 *
 * @category models
 * @since 0.1.0
 */
export interface CallWithoutResponse extends Call {
  readonly status?: undefined
  readonly requestId?: undefined
  readonly retryAfter?: undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export interface TransportErrorFields extends CallWithoutResponse {
  /**
   * `connection`: the connection was refused or closed. `credential`: the bearer token was not
   * available. `request`: the request could not be built, for example from an invalid base URL or
   * idempotency key. With `credential` and `request`, nothing was sent.
   */
  readonly reason: "connection" | "credential" | "request"
  /**
   * The platform's error, without the request and its headers. Not named `cause`, because a log
   * would then show its stack in many lines.
   */
  readonly underlying: unknown
}

/**
 * The request got no response: the connection was refused or closed, the host name did not resolve,
 * the credential was unavailable, or the request could not be built. `underlying` is the platform's
 * error, without the request and its headers. If the credential was unavailable, it is the Effect's
 * error if that is marked with `GatewayConfig.ShownError`, and undefined otherwise.
 *
 * @category errors
 * @since 0.1.0
 */
export class TransportError extends Data.TaggedError("TransportError")<TransportErrorFields> {
  constructor(fields: TransportErrorFields) {
    super(fields)
    Description.removeFrames(this)
  }

  override get message(): string {
    switch (this.reason) {
      case "connection":
        return `${this.operation}: the connection failed (${describe(this.underlying)}) after ${Description.times(this.attempts)}. ${Certificate.advice(this.underlying) ?? "Check the base URL and the network."}`
      case "credential":
        return `${this.operation}: nothing was sent, because the credential is not available${reasonOf(this.underlying)}`
      case "request":
        return `${this.operation}: nothing was sent, because the request is invalid${reasonOf(this.underlying)}`
    }
  }

  /**
   * Whether a retry may help: true if the connection failed, unless its certificate was not
   * accepted.
   */
  get isRetryable(): boolean {
    return this.reason === "connection" && Certificate.advice(this.underlying) === undefined
  }

  /** The fields of all errors, and `reason`. */
  override toJSON(): unknown {
    return { ...Description.fields(this), reason: this.reason }
  }

  /** One line. */
  override [NodeInspectSymbol](): string {
    return String(this)
  }
}

/**
 * @category models
 * @since 0.1.0
 */
export interface TimeoutErrorFields extends CallWithoutResponse {
  /**
   * The limit that was exceeded: `attempt`, for one response; `deadline`, for the whole call;
   * `stall`, for a time without progress of an upload or of a stream of bytes.
   */
  readonly limit: "attempt" | "deadline" | "stall"
  /** The time limit in milliseconds. */
  readonly milliseconds: number
}

/**
 * The call or its last attempt exceeded its time limit. The service may still have done the work:
 * to get its result without paying twice, repeat a paid call with the same idempotency key.
 *
 * @category errors
 * @since 0.1.0
 */
export class TimeoutError extends Data.TaggedError("TimeoutError")<TimeoutErrorFields> {
  constructor(fields: TimeoutErrorFields) {
    super(fields)
    Description.removeFrames(this)
  }

  override get message(): string {
    const missing = this.limit === "stall" ? "progress" : this.attempts === 0 ? "credential" : "response"
    return `${this.operation}: no ${missing} within ${this.milliseconds} ms, after ${Description.times(this.attempts)}. Try again, or raise the time limits of the retry policy.`
  }

  /** Always true. */
  get isRetryable(): boolean {
    return true
  }

  /** The fields of all errors, `limit` and `milliseconds`. */
  override toJSON(): unknown {
    return { ...Description.fields(this), limit: this.limit, milliseconds: this.milliseconds }
  }

  /** One line. */
  override [NodeInspectSymbol](): string {
    return String(this)
  }
}

/**
 * @category models
 * @since 0.1.0
 */
export interface InvalidResponseFields extends Call {
  readonly status: number
  /** The response's `x-request-id`, if it had one. */
  readonly requestId: string | undefined
  /** What is wrong, without quoting the body. */
  readonly description: string
  /** The response's `Content-Type`, if it had one. */
  readonly contentType?: string | undefined
  /**
   * The response's `Location`, if it had one: where a redirect leads, without user name, password,
   * query and fragment, which may contain secrets.
   */
  readonly location?: string | undefined
  /** Seconds to wait before the next attempt, if the response has a `Retry-After`. */
  readonly retryAfter?: number | undefined
  /** Where the JSON differs from the contract, such as `results[0].index`. Empty for its root. */
  readonly path?: string | undefined
}

/**
 * The response violates the contract: the status is not one of the operation's, the body is not
 * JSON, or the JSON has another shape or is too long. Often the response comes from a proxy in
 * between.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidResponse extends Data.TaggedError("InvalidResponse")<InvalidResponseFields> {
  constructor(fields: InvalidResponseFields) {
    super(fields)
    Description.removeFrames(this)
  }

  override get message(): string {
    return `${Description.line(this, `the response is invalid: status ${this.status}, ${this.description}`)}. Check that the base URL points to a gateway with the same \`wireNames\`.`
  }

  /** Whether a retry may help, judged by the status alone. */
  get isRetryable(): boolean {
    return isRetryableStatus(this.status)
  }

  /** The fields of all errors, and those of the response. */
  override toJSON(): unknown {
    const { contentType, description, location, path } = this
    return { ...Description.fields(this), description, contentType, location, path }
  }

  /** One line. */
  override [NodeInspectSymbol](): string {
    return String(this)
  }
}

/**
 * @category errors
 * @since 0.1.0
 */
export type ClientError = TransportError | TimeoutError | InvalidResponse

const reasonOf = (cause: unknown): string =>
  cause instanceof Error && cause.message !== "" ? `: ${Description.oneLine(cause.message)}` : ""

const describe = (error: unknown): string =>
  error instanceof Error
    ? (Certificate.codeOf(error) ?? (Description.oneLine(error.message) || error.name))
    : "unknown cause"
