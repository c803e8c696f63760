/**
 * The three errors that every operation of the client can fail with besides its statuses: no
 * response arrived, no response arrived in time, or the response was invalid.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import { isRetryableStatus } from "./GatewayError.ts"

/**
 * What every error says about its call.
 *
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
 * The request got no response: the connection was refused or closed, the host name did not resolve,
 * the credential was unavailable, or the request could not be built. `cause` is the platform's
 * error, without the request and its headers. If the credential was unavailable, it is the Effect's
 * error if that is marked with `GatewayConfig.ShownError`, and undefined otherwise.
 *
 * @since 0.1.0
 */
export class TransportError extends Data.TaggedError("TransportError")<
  Call & {
    /**
     * `connection`: the connection was refused or closed. `credential`: the bearer token was not
     * available. `request`: the request could not be built, for example from an invalid base URL or
     * idempotency key. With `credential` and `request`, nothing was sent.
     */
    readonly reason: "connection" | "credential" | "request"
    readonly cause: unknown
  }
> {
  override get message(): string {
    switch (this.reason) {
      case "connection":
        return `${this.operation}: the connection failed (${describe(this.cause)}) after ${this.attempts} ${attemptsWord(this.attempts)}. Check the base URL and the network.`
      case "credential":
        return `${this.operation}: nothing was sent, because the credential is not available${reasonOf(this.cause)}`
      case "request":
        return `${this.operation}: nothing was sent, because the request is invalid${reasonOf(this.cause)}`
    }
  }

  /** Whether a retry may help: true if the connection failed. */
  get isRetryable(): boolean {
    return this.reason === "connection"
  }
}

/**
 * The call or its last attempt exceeded its time limit. The service may still have done the work:
 * to get its result without paying twice, repeat a paid call with the same idempotency key.
 *
 * @since 0.1.0
 */
export class TimeoutError extends Data.TaggedError("TimeoutError")<
  Call & {
    /**
     * The limit that was exceeded: `attempt`, for one response; `deadline`, for the whole call;
     * `stall`, for a time without progress of an upload or of a stream of bytes.
     */
    readonly limit: "attempt" | "deadline" | "stall"
    /** The time limit in milliseconds. */
    readonly milliseconds: number
  }
> {
  override get message(): string {
    const missing = this.limit === "stall" ? "progress" : this.attempts === 0 ? "credential" : "response"
    return `${this.operation}: no ${missing} within ${this.milliseconds} ms, after ${this.attempts} ${attemptsWord(this.attempts)}. Try again, or raise the time limits of the retry policy.`
  }

  /** Always true. */
  get isRetryable(): boolean {
    return true
  }
}

/**
 * The response violates the contract: the status is not one of the operation's, the body is not
 * JSON, or the JSON has another shape. Often the response comes from a proxy in between.
 * `description` says what is wrong, without quoting the body.
 *
 * @since 0.1.0
 */
export class InvalidResponse extends Data.TaggedError("InvalidResponse")<
  Call & {
    readonly status: number
    /** The response's `x-request-id`, if it had one. */
    readonly requestId: string | undefined
    readonly description: string
  }
> {
  override get message(): string {
    return `${this.operation}: the response is invalid: status ${this.status} with ${this.description}. Check that the base URL points to a gateway.`
  }

  /** Whether a retry may help, judged by the status alone. */
  get isRetryable(): boolean {
    return isRetryableStatus(this.status)
  }
}

/**
 * @since 0.1.0
 */
export type ClientError = TransportError | TimeoutError | InvalidResponse

const reasonOf = (cause: unknown): string =>
  cause instanceof Error && cause.message !== "" ? `: ${cause.message}` : ""

const attemptsWord = (attempts: number): string => (attempts === 1 ? "attempt" : "attempts")

const describe = (cause: unknown): string => {
  if (!(cause instanceof Error)) return "unknown cause"
  const code: unknown = "code" in cause ? cause.code : undefined
  return typeof code === "string" ? code : cause.message
}
