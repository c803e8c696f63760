/**
 * What a failure of an upstream means for a video job, and how long to wait after one.
 */
import type { Reason } from "@model-gateway/providers/ProviderError"
import { Duration } from "effect"

/** What a failure means; `error` is what the caller reads should the job fail of it. */
export interface Verdict {
  /** It is worth asking again later. */
  readonly isPassing: boolean
  readonly error: string
  readonly retryAfter?: Duration.Duration | undefined
}

/** What a failure means for a job. */
export const of = (reason: Reason): Verdict => {
  switch (reason._tag) {
    case "InvalidRequest":
      return { isPassing: false, error: reason.message }
    case "UnknownModel":
      return { isPassing: false, error: "the provider does not know the model" }
    case "Unauthorized":
      return { isPassing: false, error: "the provider rejected the gateway's credentials" }
    case "Simulated":
      return { isPassing: false, error: reason.message }
    case "RateLimited":
    case "Overloaded":
    case "Unavailable":
      return { isPassing: true, error: reason.message, retryAfter: reason.retryAfter }
    case "Timeout":
      return { isPassing: true, error: reason.message }
    case "BadResponse":
      // The description is for the operator's log.
      return { isPassing: true, error: "the provider answered badly" }
  }
}

/** How long to wait after so many failures in a row: 1, 2, 4, … seconds, at most 60, and no less than the upstream asks for. */
export const backoff = (failures: number, retryAfter?: Duration.Duration): Duration.Duration =>
  Duration.max(
    Duration.min(Duration.seconds(2 ** Math.min(failures - 1, 10)), Duration.seconds(60)),
    Duration.min(retryAfter ?? Duration.zero, Duration.minutes(10))
  )
