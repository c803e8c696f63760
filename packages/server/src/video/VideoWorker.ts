/**
 * Moves video jobs on: submits them upstream, asks how far they are, fetches what came out.
 *
 * Every process of the service is a worker. A message wakes one of them for one job; what it does first is to compare the message's step with the row's. It then makes one move, or, while the
 * job is young, stays with it and asks the upstream at short intervals. When the next question is further off it hands the job back to the queue, so that a long render holds no slot.
 *
 * An upstream that does not answer is asked again, later and later. When it has failed too often in a row, or a message has been delivered too often because those who took it died, the job fails.
 */
import type { ProviderError, Reason } from "@model-gateway/providers/ProviderError"
import { ProviderError as UpstreamError, Timeout } from "@model-gateway/providers/ProviderError"
import type { VideoCapability, VideoRequest } from "@model-gateway/providers/Provider"
import { isFinal } from "@model-gateway/core/Video"
import { Cause, Clock, Context, Duration, Effect, Layer, Result, Schedule } from "effect"
import { ObjectStore, keyOf, type ObjectStoreError } from "../files/ObjectStore.ts"
import * as Failures from "../http/Failures.ts"
import * as Metrics from "../http/Metrics.ts"
import { ModelCatalogue } from "../models/ModelCatalogue.ts"
import type { StorageError } from "../storage/StorageError.ts"
import { type Output, tokenOf, type VideoJob } from "./VideoJob.ts"
import { VideoJobs } from "./VideoJobs.ts"
import { type Message, VideoQueue } from "./VideoQueue.ts"
import * as VideoRequests from "./VideoRequest.ts"
import { VideoSignals } from "./VideoSignals.ts"

/** How the worker works. */
export interface Options {
  /** Jobs that this process moves on at once. Default 32; most of that time is waiting. */
  readonly concurrency?: number | undefined
  /** How long one call of an upstream may take, fetching a finished video aside. Default 60 seconds. */
  readonly callTimeout?: Duration.Input | undefined
  /** How long fetching one finished video may take. Default 15 minutes. */
  readonly contentTimeout?: Duration.Input | undefined
  /** After so many failures of the upstream in a row the job fails. Default 30, which is about 20 minutes. */
  readonly failures?: number | undefined
  /** After so many deliveries of one message the job fails: it seems to kill those who take it. Default 10. */
  readonly attempts?: number | undefined
}

/** The worker. */
export class VideoWorker extends Context.Service<
  VideoWorker,
  {
    /** Handles one message. `attempts` counts its deliveries, from 1. */
    readonly handle: (message: Message, attempts: number) => Effect.Effect<void, StorageError>
    /** Expires the jobs whose deadline has passed. */
    readonly expireOverdue: Effect.Effect<void, StorageError>
  }
>()("@model-gateway/server/video/VideoWorker") {}

/** Beyond this wait a job goes back to the queue, whose clock counts whole seconds. */
const longestStay = Duration.seconds(2)

/** How long to wait before an upstream is asked again: a fortieth of the job's age, from a quarter of a second to 5 seconds. */
export const pollDelay = (age: Duration.Duration): Duration.Duration =>
  Duration.clamp(Duration.times(age, 1 / 40), { minimum: Duration.millis(250), maximum: Duration.seconds(5) })

/** How long to wait after so many failures in a row: 1, 2, 4, … seconds, at most 60, and no less than the upstream asks for. */
export const backoff = (failures: number, retryAfter?: Duration.Duration): Duration.Duration =>
  Duration.max(
    Duration.min(Duration.seconds(2 ** Math.min(failures - 1, 10)), Duration.seconds(60)),
    Duration.min(retryAfter ?? Duration.zero, Duration.minutes(10))
  )

/** What a failure of the upstream means for a job; `error` is what the caller reads should the job fail of it. */
interface Verdict {
  readonly isPassing: boolean
  readonly error: string
  readonly retryAfter?: Duration.Duration | undefined
}

const verdictOf = (reason: Reason): Verdict => {
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

const timedOut = new UpstreamError({ reason: new Timeout() })

/** Over the jobs, the providers and the object store. */
export const make = Effect.fnUntraced(function* (options?: Options) {
  const jobs = yield* VideoJobs
  const signals = yield* VideoSignals
  const objects = yield* ObjectStore
  const catalogue = yield* ModelCatalogue
  const mostFailures = options?.failures ?? 30
  const mostAttempts = options?.attempts ?? 10
  const contentTimeout = options?.contentTimeout ?? "15 minutes"

  const timed = <A>(
    call: Effect.Effect<A, ProviderError>,
    duration: Duration.Input = options?.callTimeout ?? "60 seconds"
  ) => Effect.timeoutOrElse(call, { duration, orElse: () => Effect.fail(timedOut) })

  const entered = (job: VideoJob | null) => (job === null ? Effect.void : Metrics.jobEntered(job.status))

  const note = (job: VideoJob, what: string, error: ProviderError | ObjectStoreError) =>
    Effect.logWarning(what).pipe(
      Effect.annotateLogs({ job_id: job.id, provider: job.provider, reason: reasonOf(error), step: job.step })
    )

  const failJob = (job: VideoJob, error: string) => Effect.flatMap(jobs.fail(job, error), entered)

  /** After a failure: again later, or not at all. */
  const failedOnce = Effect.fnUntraced(function* (job: VideoJob, failures: number, verdict: Verdict) {
    if (!verdict.isPassing || failures >= mostFailures) return yield* failJob(job, verdict.error)
    yield* jobs.postpone(job, backoff(failures, verdict.retryAfter), failures)
  })

  const cancelUpstream = Effect.fnUntraced(function* (job: VideoJob, video: VideoCapability, upstreamId: string) {
    // The job is over whatever the upstream says; at worst it works for nothing.
    yield* timed(video.cancel({ upstreamId })).pipe(
      Effect.catch((error) => note(job, "A cancelled video job could not be cancelled upstream", error))
    )
  })

  const submit = Effect.fnUntraced(function* (
    job: VideoJob,
    video: VideoCapability,
    request: VideoRequest,
    failures: number
  ) {
    // However this ends, in a crash before the record too, the next submission is of the same job.
    const submission = { request, token: tokenOf(job) }
    const [took, submitted] = yield* Effect.timed(Effect.result(timed(video.submit(submission))))
    const outcome = Result.isFailure(submitted) ? submitted.failure.reason._tag : "success"
    yield* Metrics.attempted(job.provider, outcome, Duration.toSeconds(took))
    if (Result.isFailure(submitted)) {
      yield* note(job, "A video job was not accepted upstream", submitted.failure)
      return yield* failedOnce(job, failures + 1, verdictOf(submitted.failure.reason))
    }
    const { upstreamId } = submitted.success
    const accepted = yield* jobs.accepted(job, upstreamId, Duration.zero)
    if (accepted === null) yield* cancelUpstream(job, video, upstreamId)
  })

  const removeOutputs = (outputs: ReadonlyArray<Output>) =>
    Effect.forEach(outputs, (output) => Effect.ignore(objects.remove(output.object_key)), { discard: true })

  const fetchOutput = (
    job: VideoJob,
    video: VideoCapability,
    request: VideoRequest,
    upstreamId: string,
    index: number
  ) =>
    objects.put(keyOf("videos", `${job.id}-${index}`), video.content({ upstreamId, request, index })).pipe(
      Effect.timeoutOrElse({ duration: contentTimeout, orElse: () => Effect.fail(timedOut) }),
      Effect.map(({ bytes, key, sha256 }): Output => ({ object_key: key, bytes, sha256 })),
      Effect.catchTag("ObjectTooLarge", Effect.die)
    )

  /** Copies what came out and closes the job; the copies go again when somebody else closed it meanwhile. */
  const finish = Effect.fnUntraced(function* (
    job: VideoJob,
    video: VideoCapability,
    request: VideoRequest,
    upstreamId: string,
    count: number,
    failures: number
  ) {
    const fetched = yield* Effect.result(
      Effect.forEach(Array.from({ length: count }).keys(), (index) =>
        fetchOutput(job, video, request, upstreamId, index)
      )
    )
    if (Result.isFailure(fetched)) {
      const error = fetched.failure
      yield* note(job, "A finished video could not be fetched", error)
      const verdict: Verdict =
        error._tag === "ProviderError"
          ? verdictOf(error.reason)
          : { isPassing: true, error: "the finished video could not be stored" }
      return yield* failedOnce(job, failures + 1, verdict)
    }
    const outputs = fetched.success
    const completed = yield* jobs.complete(job, outputs, { seconds: request.duration ?? 0, videos: outputs.length })
    if (completed !== null) return yield* Effect.andThen(entered(completed), Metrics.spent("video", completed.cost))
    const now = yield* jobs.find(job.id)
    // Unless another worker completed it: then these are its copies, under the same keys.
    if (now?.status !== "completed" && (now === null || isFinal(now.status))) yield* removeOutputs(outputs)
  })

  /** Asks until the job is over or the next question is further off than a worker stays. */
  const follow = Effect.fnUntraced(function* (
    job: VideoJob,
    video: VideoCapability,
    request: VideoRequest,
    upstreamId: string,
    failures: number
  ) {
    const changed = yield* signals.watch(job.id)
    let progress = job.progress
    while (true) {
      const polled = yield* Effect.result(timed(video.poll({ upstreamId, request })))
      if (Result.isFailure(polled)) {
        yield* note(job, "An upstream did not say how far a video job is", polled.failure)
        return yield* failedOnce(job, failures + 1, verdictOf(polled.failure.reason))
      }
      const status = polled.success
      if (status.status === "completed") {
        return yield* finish(job, video, request, upstreamId, status.outputs, failures)
      }
      if (status.status === "failed") return yield* failJob(job, status.message)
      yield* changed.close
      const reached = status.progress === undefined ? progress : Math.min(1, Math.max(0, status.progress))
      if (reached !== null && reached !== progress) yield* jobs.progress(job, reached)
      progress = reached
      const age = Duration.millis((yield* Clock.currentTimeMillis) - job.createdAt)
      const delay = pollDelay(age)
      if (Duration.isGreaterThanOrEqualTo(delay, longestStay)) {
        yield* jobs.postpone(job, delay, 0)
        return
      }
      yield* Effect.race(Effect.sleep(delay), changed.await)
      const now = yield* jobs.find(job.id)
      // Its mover has offered a message of its own.
      if (now?.step !== job.step) return
      if (yield* isOverdue(job)) return yield* Effect.flatMap(jobs.expire(job), entered)
    }
  }, Effect.scoped)

  const isOverdue = (job: VideoJob) => Effect.map(Clock.currentTimeMillis, (now) => now >= job.deadlineAt)

  const advance = Effect.fnUntraced(function* (job: VideoJob, { failures }: Message, attempts: number) {
    const video = catalogue.provider(job.provider)?.video
    if (isFinal(job.status)) {
      if (job.upstreamId !== null && video !== undefined) yield* cancelUpstream(job, video, job.upstreamId)
      return
    }
    if (yield* isOverdue(job)) return yield* Effect.flatMap(jobs.expire(job), entered)
    if (job.status === "pending") return yield* Effect.flatMap(jobs.start(job), entered)
    if (attempts > mostAttempts) return yield* failJob(job, `the job was given up after ${mostAttempts} attempts`)
    if (video === undefined) return yield* failJob(job, `the provider ${job.provider} is no longer there`)
    const wanted = yield* Effect.catchTag(jobs.requestOf(job.id), "VideoJobNotFound", Effect.die)
    const request = VideoRequests.forProvider(wanted, job.provider, job.upstreamModel)
    if (job.upstreamId === null) return yield* submit(job, video, request, failures)
    yield* follow(job, video, request, job.upstreamId, failures)
  })

  const handle = Effect.fn("VideoWorker.handle")(function* (message: Message, attempts: number) {
    const job = yield* jobs.find(message.job_id)
    if (job === null || job.step !== message.step) return
    yield* advance(job, message, attempts)
  })

  const expireOverdue = Effect.gen(function* () {
    for (const job of yield* jobs.overdue) yield* Effect.flatMap(jobs.expire(job), entered)
  })

  return VideoWorker.of({ handle, expireOverdue })
})

/** For the log: nothing of the request, and of the upstream's answer only what was wrong with it. */
const reasonOf = (error: ProviderError | ObjectStoreError): string => {
  if (error._tag === "ObjectStoreError") return error.reason
  const { reason } = error
  return reason._tag === "BadResponse" ? `BadResponse: ${reason.description}` : reason._tag
}

/** The steps alone: nothing runs by itself. */
export const layer = (
  options?: Options
): Layer.Layer<VideoWorker, never, VideoJobs | VideoSignals | ObjectStore | ModelCatalogue> =>
  Layer.effect(VideoWorker, make(options))

/** Takes messages for as long as the layer lives; when it closes, those in hand go back to the queue. */
export const layerRunning = (
  options?: Options
): Layer.Layer<never, never, VideoJobs | VideoSignals | ObjectStore | ModelCatalogue | VideoQueue> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const worker = yield* make(options)
      const queue = yield* VideoQueue
      // The queue delivers the message again, later and later; the pause is for a queue that itself does not answer.
      const failed = (cause: Cause.Cause<StorageError>) =>
        Cause.hasInterruptsOnly(cause)
          ? Effect.failCause(cause)
          : Effect.logWarning("A video job could not be moved on", Failures.describe(Failures.errorOf(cause))).pipe(
              Effect.andThen(Effect.sleep("1 second"))
            )
      const slot = Effect.forever(Effect.catchCause(queue.take(worker.handle), failed))
      yield* Effect.forEach(Array.from({ length: options?.concurrency ?? 32 }), () => Effect.forkScoped(slot), {
        discard: true
      })
      yield* worker.expireOverdue.pipe(
        Effect.catch((error) => Effect.logWarning("Overdue video jobs could not be expired", error.message)),
        Effect.repeat(Schedule.spaced("15 seconds")),
        Effect.forkScoped
      )
    })
  )
