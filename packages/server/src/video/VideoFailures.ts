/**
 * What a worker does with a job after a failure: tries again later, tries the next provider, or
 * fails the job.
 */
import { Duration, Effect } from "effect"
import * as Metrics from "../observability/Metrics.ts"
import * as RetryDecision from "./RetryDecision.ts"
import * as VideoCandidate from "./VideoCandidate.ts"
import type { VideoJob } from "./VideoJob.ts"
import type { VideoJobs } from "./VideoJobs.ts"
import * as LogEvent from "../log/LogEvent.ts"

/**
 * For the log: no content of the request, and of the upstream's response only what was wrong with
 * it.
 */
const reasonOf = (error: RetryDecision.DownloadFailure): string => {
  switch (error._tag) {
    case "ObjectStoreError":
      return error.reason
    case "ProviderError":
      return error.reason._tag === "BadResponse" ? `BadResponse: ${error.reason.description}` : error.reason._tag
    case "TooMuchVideo":
    case "VideoTooSlow":
      return error.message
  }
}

/** Logs a failure of an upstream. */
export const note = (job: VideoJob, what: string, error: RetryDecision.DownloadFailure): Effect.Effect<void> =>
  LogEvent.log("video_upstream_failed", what, {
    job_id: job.id,
    provider: job.provider,
    reason: reasonOf(error),
    step: job.step
  })

/**
 * After `maxFailures` consecutive failures of all candidates, the job fails. `removeVideos`
 * deletes what an earlier attempt has stored of it.
 */
export const make = (
  jobs: VideoJobs["Service"],
  removeVideos: (job: VideoJob) => Effect.Effect<void>,
  maxFailures: number
) => {
  /** Fails the job. */
  const failJob = Effect.fnUntraced(function* (job: VideoJob, { error, logged }: RetryDecision.Explanation) {
    const failed = yield* jobs.fail(job, error, logged)
    if (failed === null) return
    yield* Metrics.jobEntered(failed.status)
    if (job.handle !== null) yield* removeVideos(job)
  })

  /**
   * Fails a job whose submission was not answered. It is logged, to explain the provider's bill.
   */
  const failLost = (job: VideoJob) =>
    LogEvent.log(
      "video_answer_lost",
      "The answer to the submission of a video job was lost: its provider may bill it",
      {
        job_id: job.id,
        provider: job.provider,
        upstream_model: job.upstreamModel
      }
    ).pipe(Effect.andThen(failJob(job, { error: RetryDecision.lostAnswer(job.provider) })))

  /**
   * Retries at the same provider, and not before `pollInterval`, or fails the job. `failures`
   * counts the consecutive ones with this one.
   */
  const retry = Effect.fnUntraced(function* (
    job: VideoJob,
    failures: number,
    decision: RetryDecision.RetryDecision,
    pollInterval: Duration.Duration = Duration.zero
  ) {
    const isGivenUp = !decision.isRetryable || failures >= (decision.maxFailures ?? maxFailures)
    if (isGivenUp) return yield* failJob(job, decision)
    const delay = Duration.max(RetryDecision.backoff(failures, decision.retryAfter), pollInterval)
    yield* jobs.postpone(job, yield* RetryDecision.jittered(delay), failures)
  })

  /**
   * After a definite rejection: tries the next provider, at once or, if all have been tried, later.
   * `failures` counts how often all have been tried before.
   */
  const tryNextProvider = Effect.fnUntraced(function* (
    job: VideoJob,
    failures: number,
    decision: RetryDecision.RetryDecision
  ) {
    const next = VideoCandidate.nextCandidate(job, !decision.isRetryable)
    if (next === undefined) return yield* failJob(job, decision)
    if (!next.startsOver) return yield* jobs.reroute(job, next, Duration.zero, failures)
    if (failures + 1 >= maxFailures) return yield* failJob(job, decision)
    const delay = yield* RetryDecision.jittered(RetryDecision.backoff(failures + 1, decision.retryAfter))
    yield* jobs.reroute(job, next, delay, failures + 1)
  })

  return { failJob, failLost, retry, tryNextProvider }
}
