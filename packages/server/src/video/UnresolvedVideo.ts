/**
 * A video job that was canceled or expired while its submission had no answer, because its worker
 * died or the answer was lost. An upstream may have the job, and nobody knows its handle.
 *
 * If the upstream recognizes a repeated submission, the next worker submits the job again with the
 * same token, learns the handle and cancels it. Otherwise the job says that its handle is lost.
 */
import type { VideoOffer } from "@model-gateway/offers/Offer"
import type { JobHandle, VideoRequest } from "@model-gateway/offers/Video"
import { Data, Effect } from "effect"
import type { Candidate } from "../routing/Candidate.ts"
import type { StorageError } from "../storage/sql/StorageError.ts"
import * as RetryDecision from "./RetryDecision.ts"
import type { VideoJob, VideoJobNotFound } from "./VideoJob.ts"
import type { VideoJobs } from "./VideoJobs.ts"
import { isRepeatable, type Submitted } from "./VideoSubmission.ts"
import * as LogEvent from "../log/LogEvent.ts"

/** It is not known yet whether an upstream has the job. The message is delivered again. */
export class NotResolved extends Data.TaggedError("NotResolved")<{ readonly provider: string }> {
  override readonly message = `The provider ${this.provider} has not said whether it has the job.`
}

/** What the worker uses for its other jobs too. */
export interface Options<E> {
  readonly jobs: Pick<VideoJobs["Service"], "resolve">
  readonly candidateOf: (job: VideoJob) => Effect.Effect<Candidate<VideoOffer> | undefined, E>
  readonly requestFor: (job: VideoJob) => Effect.Effect<VideoRequest, VideoJobNotFound | StorageError>
  readonly submitTo: (
    job: VideoJob,
    candidate: Candidate<VideoOffer> | undefined,
    request: VideoRequest
  ) => Effect.Effect<Submitted>
  readonly cancelUpstream: (job: VideoJob, handle: JobHandle) => Effect.Effect<void, E>
  /** Deliveries of the message after which the handle counts as lost. */
  readonly maxDeliveries: number
}

/** Resolves such a job. `deliveries` counts those of its message. */
export const make = <E>({ cancelUpstream, candidateOf, jobs, maxDeliveries, requestFor, submitTo }: Options<E>) => {
  const lose = (job: VideoJob) =>
    LogEvent.log("video_answer_lost", "A video job ended, and its provider may still make the video and bill it", {
      job_id: job.id,
      provider: job.provider,
      upstream_model: job.upstreamModel
    }).pipe(Effect.andThen(jobs.resolve(job.id, RetryDecision.lostHandle(job.provider))))

  return Effect.fnUntraced(function* (job: VideoJob, deliveries: number) {
    const candidate = yield* candidateOf(job)
    if (deliveries > maxDeliveries || !(yield* isRepeatable(job, candidate))) return yield* lose(job)
    const request = yield* Effect.catchTag(requestFor(job), "VideoJobNotFound", () => Effect.undefined)
    if (request === undefined) return yield* lose(job)
    const { outcome } = yield* submitTo(job, candidate, request)
    if (outcome._tag === "Accepted") yield* cancelUpstream(job, outcome.handle)
    else if (outcome._tag === "Unknown" || !outcome.isFinal) return yield* new NotResolved({ provider: job.provider })
    yield* jobs.resolve(job.id)
  })
}
