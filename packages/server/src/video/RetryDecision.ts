/**
 * Decides from an upstream's failure whether a video job is retried, and how long to wait first.
 */
import type { ProviderError, Reason } from "@model-gateway/offers/ProviderError"
import { Duration, Effect, Random } from "effect"
import type { ObjectStoreError } from "../objects/ObjectStore.ts"
import type { TooMuchVideo, VideoTooSlow } from "./VideoDownload.ts"

/** Why a job fails. */
export interface Explanation {
  /** Shown to the caller. */
  readonly error: string
  /** What the request log says, if `error` may quote the request. Default: `error`. */
  readonly logged?: string | undefined
}

/** What to do after a failure, and how it is explained if the job fails because of it. */
export interface RetryDecision extends Explanation {
  /** Whether a later retry may succeed. */
  readonly isRetryable: boolean
  readonly retryAfter?: Duration.Duration | undefined
  /** Consecutive failures after which the job fails. Default: as many as the worker allows. */
  readonly maxFailures?: number | undefined
}

/**
 * The decision for a failed submission. `isByok`: it was made with a provider key.
 */
export const ofSubmission = (reason: Reason, isByok: boolean): RetryDecision => {
  switch (reason._tag) {
    case "InvalidRequest":
    case "InputTooLarge":
      return { isRetryable: false, error: reason.message, logged: "the provider refused the request" }
    case "Simulated":
      return { isRetryable: false, error: reason.message }
    case "UnknownModel":
      return { isRetryable: false, error: "the provider does not have the model" }
    case "Unauthorized":
      return {
        isRetryable: false,
        error: isByok ? "the provider rejected your provider key" : "the provider rejected the gateway's credentials"
      }
    case "OutOfCredit":
      return {
        isRetryable: false,
        error: isByok
          ? "your account at the provider is out of credit"
          : "the gateway's account at the provider is out of credit"
      }
    case "RateLimited":
    case "Overloaded":
    case "Unavailable":
      return { isRetryable: true, error: reason.message, retryAfter: reason.retryAfter }
    case "Timeout":
    case "ConnectionLost":
      return { isRetryable: true, error: reason.message }
    case "BadResponse":
      // The description of the bad response goes to the operator's log only.
      return { isRetryable: true, error: "the provider sent an invalid response" }
  }
}

/** Why a job fails whose provider was asked for it, and whose answer was lost. */
export const lostAnswer = (provider: string): string =>
  `the response of the provider ${provider} was lost. It may have taken the job, so the job was not submitted again. It costs nothing.`

/** The error of a job that ended while its submission had no answer, which is lost. */
export const lostHandle = (provider: string): string =>
  `the response of the provider ${provider} was lost before the job ended. It may still make the video. It costs nothing.`

/**
 * The decision for a poll that failed. The upstream has the job, so it is not given up while it
 * only limits how often it may be asked. The job's deadline ends that.
 */
export const ofPoll = (reason: Reason, isByok: boolean): RetryDecision => {
  switch (reason._tag) {
    case "UnknownModel":
      return { isRetryable: false, error: "the provider no longer has the job" }
    case "RateLimited":
      return { ...ofSubmission(reason, isByok), maxFailures: Number.POSITIVE_INFINITY }
    default:
      return ofSubmission(reason, isByok)
  }
}

/** Statuses of links that have expired. */
const expired = new Set([400, 401, 403, 404, 410])

/**
 * The decision for a finished video that could not be fetched. A link that is refused or leads
 * nowhere may have expired. Polling again renews it, which is tried a few times.
 */
const ofContent = ({ reason, status = 0 }: ProviderError, isByok: boolean): RetryDecision => {
  const isRefused = reason._tag === "Unauthorized" || reason._tag === "UnknownModel" || expired.has(status)
  return isRefused
    ? { isRetryable: true, error: "the finished video could not be fetched from the provider", maxFailures: 5 }
    : ofSubmission(reason, isByok)
}

/** Why a finished video could not be copied. */
export type DownloadFailure = ProviderError | ObjectStoreError | TooMuchVideo | VideoTooSlow

/** The decision for a finished video that could not be copied. */
export const ofDownload = (error: DownloadFailure, isByok: boolean): RetryDecision => {
  switch (error._tag) {
    case "ProviderError":
      return ofContent(error, isByok)
    case "TooMuchVideo":
      return { isRetryable: false, error: error.message }
    case "VideoTooSlow":
      return { isRetryable: true, error: error.message, maxFailures: 3 }
    case "ObjectStoreError":
      return {
        isRetryable: true,
        error:
          error.reason === "full"
            ? "the finished video could not be stored: the gateway has no room left"
            : "the finished video could not be stored"
      }
  }
}

/** The longest wait that an upstream can ask for. */
export const maxRetryAfter = Duration.minutes(10)

/**
 * How long to wait after this many consecutive failures: 1, 2, 4, … seconds, at most 60, and at
 * least as long as the upstream asks for.
 */
export const backoff = (failures: number, retryAfter?: Duration.Duration): Duration.Duration =>
  Duration.max(
    Duration.min(Duration.seconds(2 ** Math.min(failures - 1, 10)), Duration.seconds(60)),
    Duration.min(retryAfter ?? Duration.zero, maxRetryAfter)
  )

/**
 * Up to a tenth longer, so that jobs that were submitted together do not go on together. In whole
 * milliseconds, as clocks count them.
 */
export const jittered = (delay: Duration.Duration): Effect.Effect<Duration.Duration> =>
  Effect.map(Random.next, (part) => Duration.millis(Math.ceil(Duration.toMillis(delay) * (1 + part / 10))))
