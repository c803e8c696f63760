/**
 * Decides from an upstream's failure whether a video job is retried, and how long to wait first.
 */
import type { Reason } from "@model-gateway/providers/ProviderError"
import { Duration } from "effect"

/** What to do after a failure. `error` is shown to the caller if the job fails because of it. */
export interface RetryDecision {
  /** Whether a later retry may succeed. */
  readonly isRetryable: boolean
  readonly error: string
  readonly retryAfter?: Duration.Duration | undefined
}

/** The decision for a failure. */
export const of = (reason: Reason): RetryDecision => {
  switch (reason._tag) {
    case "InvalidRequest":
    case "InputTooLarge":
    case "Simulated":
      return { isRetryable: false, error: reason.message }
    case "UnknownModel":
      return { isRetryable: false, error: "the provider does not have the model" }
    case "Unauthorized":
      return { isRetryable: false, error: "the provider rejected the gateway's credentials" }
    case "OutOfCredit":
      return { isRetryable: false, error: "the gateway's account at the provider is out of credit" }
    case "RateLimited":
    case "Overloaded":
    case "Unavailable":
      return { isRetryable: true, error: reason.message, retryAfter: reason.retryAfter }
    case "Timeout":
      return { isRetryable: true, error: reason.message }
    case "BadResponse":
      // The description of the bad response goes to the operator's log only.
      return { isRetryable: true, error: "the provider sent an invalid response" }
  }
}

/**
 * How long to wait after this many consecutive failures: 1, 2, 4, … seconds, at most 60, and at
 * least as long as the upstream asks for.
 */
export const backoff = (failures: number, retryAfter?: Duration.Duration): Duration.Duration =>
  Duration.max(
    Duration.min(Duration.seconds(2 ** Math.min(failures - 1, 10)), Duration.seconds(60)),
    Duration.min(retryAfter ?? Duration.zero, Duration.minutes(10))
  )
