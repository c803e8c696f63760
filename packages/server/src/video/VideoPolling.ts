/**
 * Follows a video job that an upstream has accepted: polls its status, and copies the finished
 * videos.
 *
 * A worker stays with a young job and polls at short intervals. When the next poll is further away,
 * or other jobs wait for a slot, it hands the job back to the queue, so that a long render occupies
 * no slot.
 */
import { isFinal } from "@model-gateway/core/Video"
import type { Charge } from "@model-gateway/offers/Pricing"
import type { ProviderError } from "@model-gateway/offers/ProviderError"
import * as SafeMessage from "@model-gateway/offers/SafeMessage"
import { Clock, Duration, Effect, Option, Result } from "effect"
import * as Metrics from "../observability/Metrics.ts"
import * as RetryDecision from "./RetryDecision.ts"
import * as VideoCandidate from "./VideoCandidate.ts"
import type * as VideoDownload from "./VideoDownload.ts"
import type * as VideoEnd from "./VideoEnd.ts"
import * as VideoFailures from "./VideoFailures.ts"
import { entered, isOverdue, type VideoJob } from "./VideoJob.ts"
import type { VideoJobs } from "./VideoJobs.ts"
import type { VideoSignals } from "./VideoSignals.ts"
import type { Slot } from "./VideoSlots.ts"

/** A job with a longer wait goes back to the queue, whose clock counts whole seconds. */
const maxInlineDelay = Duration.seconds(2)

/**
 * How long to wait before the next poll: a fortieth of the job's age, between a quarter of a second
 * and 5 seconds, and no less than the upstream asks for.
 */
export const pollDelay = (
  age: Duration.Duration,
  pollInterval: Duration.Duration = Duration.zero,
  retryAfter: Duration.Duration = Duration.zero
): Duration.Duration =>
  Duration.max(
    Duration.clamp(Duration.times(age, 1 / 40), { minimum: Duration.millis(250), maximum: Duration.seconds(5) }),
    Duration.max(pollInterval, Duration.min(retryAfter, RetryDecision.maxRetryAfter))
  )

const notMade = "the provider could not make the video"

/** What the worker uses for its other jobs too. */
export interface Options {
  readonly jobs: VideoJobs["Service"]
  readonly signals: VideoSignals["Service"]
  readonly videos: ReturnType<typeof VideoDownload.make>
  readonly failures: Pick<ReturnType<typeof VideoFailures.make>, "failJob" | "retry">
  readonly unlessEnded: ReturnType<typeof VideoEnd.make>["unlessEnded"]
  /** Limits the time of one upstream call. */
  readonly timed: <A>(call: Effect.Effect<A, ProviderError>) => Effect.Effect<A, ProviderError>
}

/** Makes the function that follows a job. `failures` counts the consecutive ones before. */
export const make = ({ failures: { failJob, retry }, jobs, signals, timed, unlessEnded, videos }: Options) => {
  /**
   * Copies the results and completes the job. If the job ends meanwhile, the copies are deleted.
   */
  const finish = Effect.fnUntraced(function* (
    job: VideoJob,
    upstream: VideoDownload.Upstream,
    count: number,
    charge: Charge,
    failures: number
  ) {
    const fetched = yield* unlessEnded(job, Effect.result(videos.fetchAll(job, upstream, count)))
    if (Option.isSome(fetched) && Result.isFailure(fetched.value)) {
      const error = fetched.value.failure
      yield* VideoFailures.note(job, "A finished video could not be downloaded", error)
      const decision = RetryDecision.ofDownload(error, VideoCandidate.usesProviderKey(job))
      return yield* retry(job, failures + 1, decision, upstream.offer.pollInterval)
    }
    const completed =
      Option.isSome(fetched) && Result.isSuccess(fetched.value)
        ? yield* jobs.complete(job, fetched.value.success, charge, VideoCandidate.costOf(job, charge.cost))
        : null
    if (completed !== null) return yield* Effect.andThen(entered(completed), Metrics.spent("video", completed.cost))
    const now = yield* jobs.find(job.id)
    // If another worker completed the job, these objects are its copies, under the same keys.
    if (now === null || (isFinal(now.status) && now.status !== "completed")) yield* videos.remove(job)
  })

  /** Polls until the job is over or the next poll is too far away to stay. */
  const follow = Effect.fnUntraced(function* (
    job: VideoJob,
    slot: Slot,
    upstream: VideoDownload.Upstream,
    failures: number
  ) {
    const { credential, offer, submitted } = upstream
    const changed = yield* signals.watch(job.id)
    let progress = job.progress
    let warned: VideoJob = job
    while (true) {
      const answer = yield* unlessEnded(job, Effect.result(timed(offer.poll(submitted, credential))))
      if (Option.isNone(answer)) return
      const polled = answer.value
      if (Result.isFailure(polled)) {
        yield* VideoFailures.note(job, "The status of a video job could not be read from the upstream", polled.failure)
        const decision = RetryDecision.ofPoll(polled.failure.reason, VideoCandidate.usesProviderKey(job))
        return yield* retry(job, failures + 1, decision, offer.pollInterval)
      }
      const status = polled.success
      const candidates = VideoCandidate.withWarnings(warned, status.warnings ?? [])
      if (candidates !== undefined) {
        yield* jobs.warn(job, candidates)
        warned = { ...job, candidates }
      }
      if (status.status === "completed") {
        if (status.outputs === 0) return yield* failJob(job, { error: "the provider finished the job without a video" })
        return yield* finish(job, upstream, status.outputs, status.charge, failures)
      }
      if (status.status === "failed") {
        return yield* failJob(job, { error: SafeMessage.make(status.message) ?? notMade, logged: notMade })
      }
      yield* changed.close
      const reached = status.progress === undefined ? progress : Math.min(1, Math.max(0, status.progress))
      if (reached !== null && reached !== progress) yield* jobs.progress(job, reached)
      progress = reached
      const age = Duration.millis((yield* Clock.currentTimeMillis) - job.createdAt)
      const delay = yield* RetryDecision.jittered(pollDelay(age, offer.pollInterval, status.retryAfter))
      if (slot.isWanted() || Duration.isGreaterThanOrEqualTo(delay, maxInlineDelay)) {
        yield* jobs.postpone(job, delay, 0)
        return
      }
      yield* Effect.race(Effect.sleep(delay), changed.await)
      const now = yield* jobs.find(job.id)
      // The job has moved on, and the queue has a message for its new step.
      if (now?.step !== job.step) return
      if (yield* isOverdue(job)) return yield* Effect.flatMap(jobs.expire(job), entered)
    }
  }, Effect.scoped)

  return follow
}
