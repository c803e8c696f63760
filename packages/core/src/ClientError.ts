/**
 * What can go wrong before a status is known, or because no valid answer came:
 * the three errors that every operation of the client has beside its own statuses.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"

/**
 * The request never got an answer: the connection was refused or cut, the name
 * did not resolve, or the credential could not be had. `cause` is the platform's
 * own error; the request and its headers are kept out of it.
 *
 * @since 0.1.0
 */
export class TransportError extends Data.TaggedError("TransportError")<{
  /** The operation's name in the contract: `rerank`. */
  readonly operation: string
  /**
   * `connection`: it was refused or cut. `credential`: the bearer token could not be
   * had. `request`: what was given can be put into no request (a base URL or an
   * idempotency key that is none). After the last two nothing was sent.
   */
  readonly reason: "connection" | "credential" | "request"
  readonly cause: unknown
  /** How often it was tried. Bytes that break off while they stream are not asked for again: then it is how many tries it took to get them going. */
  readonly attempts: number
}> {
  override get message(): string {
    switch (this.reason) {
      case "connection":
        return `${this.operation}: no answer came (${describe(this.cause)}) in ${this.attempts} ${tries(this.attempts)}`
      case "credential":
        return `${this.operation}: the credential could not be had, so nothing was sent${reasonOf(this.cause)}`
      case "request":
        return `${this.operation}: the request could not be made, so nothing was sent${reasonOf(this.cause)}`
    }
  }

  /** Whether trying again may help: true where it was the connection. */
  get isRetryable(): boolean {
    return this.reason === "connection"
  }
}

/**
 * The time allowed for the call, or for its only attempt, ran out. The service
 * may still have done the work: a paid call sent again with the same
 * idempotency key answers that work instead of paying twice.
 *
 * @since 0.1.0
 */
export class TimeoutError extends Data.TaggedError("TimeoutError")<{
  readonly operation: string
  /** The time that was allowed, in milliseconds. */
  readonly milliseconds: number
  readonly attempts: number
}> {
  override get message(): string {
    return `${this.operation}: no answer within ${this.milliseconds} ms, in ${this.attempts} ${tries(this.attempts)}`
  }

  /** Always true. */
  get isRetryable(): boolean {
    return true
  }
}

/**
 * An answer came that the contract does not allow: a status outside the
 * operation's set, a body that is no JSON, or JSON of another form. Often a proxy
 * in between answered. `description` says what is wrong with it, never what it
 * contains.
 *
 * @since 0.1.0
 */
export class InvalidResponse extends Data.TaggedError("InvalidResponse")<{
  readonly operation: string
  readonly status: number
  /** The response's `x-request-id`, where it had one. */
  readonly requestId: string | undefined
  readonly description: string
  readonly attempts: number
}> {
  override get message(): string {
    return `${this.operation}: status ${this.status} came with ${this.description}`
  }

  /** Whether the status alone says that trying again may help. */
  get isRetryable(): boolean {
    return (
      this.status === 429 ||
      this.status === 502 ||
      this.status === 503 ||
      this.status === 504 ||
      this.status === 524 ||
      this.status === 529
    )
  }
}

/**
 * @since 0.1.0
 */
export type ClientError = TransportError | TimeoutError | InvalidResponse

const reasonOf = (cause: unknown): string =>
  cause instanceof Error && cause.message !== "" ? `: ${cause.message}` : ""

const tries = (attempts: number): string => (attempts === 1 ? "attempt" : "attempts")

const describe = (cause: unknown): string => {
  if (!(cause instanceof Error)) return "the connection failed"
  const code: unknown = "code" in cause ? cause.code : undefined
  return typeof code === "string" ? code : cause.message
}
