/**
 * Advances video jobs: submits them upstream, polls their progress and downloads the results.
 *
 * Every process of the service is a worker. A message wakes one of them for one job. The worker
 * first compares the message's step with the row's. It then makes one transition, or follows the
 * job for a while ({@link VideoPolling}).
 *
 * On a definite rejection the next candidate is tried, after the last one with a growing delay. A
 * job that an upstream has accepted stays there. The job fails after too many consecutive failures
 * of all candidates, or when a message was delivered too often because its workers died.
 *
 * An upstream is asked for a job once. If its answer is lost, it may make the video and bill it, so
 * the job fails, unless the offer is idempotent: then it is submitted again with the same token.
 */
import type { VideoOffer } from "@model-gateway/offers/Offer"
import type { ProviderError } from "@model-gateway/offers/ProviderError"
import { ProviderError as UpstreamError, Timeout } from "@model-gateway/offers/ProviderError"
import type { JobHandle, VideoRequest } from "@model-gateway/offers/Video"
import { isFinal } from "@model-gateway/core/Video"
import { Cause, Clock, Context, Duration, Effect, Layer, Schedule, type Scope, Semaphore } from "effect"
import { ObjectStore } from "../objects/ObjectStore.ts"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import * as Failures from "../http/Failures.ts"
import * as FairShare from "@model-gateway/offers/FairShare"
import * as Metrics from "../observability/Metrics.ts"
import * as Tracing from "../observability/Tracing.ts"
import type { Candidate } from "../routing/Candidate.ts"
import { ProviderKeys } from "../access/ProviderKeys.ts"
import { ModelCatalog } from "../routing/ModelCatalog.ts"
import type { Router } from "../routing/Router.ts"
import type { StorageError } from "../storage/sql/StorageError.ts"
import * as UnresolvedVideo from "./UnresolvedVideo.ts"
import * as VideoAttempts from "./VideoAttempts.ts"
import * as VideoCandidate from "./VideoCandidate.ts"
import * as VideoDownload from "./VideoDownload.ts"
import * as VideoEnd from "./VideoEnd.ts"
import * as VideoFailures from "./VideoFailures.ts"
import { entered, isOverdue, isUnresolved, type VideoJob } from "./VideoJob.ts"
import { VideoJobs } from "./VideoJobs.ts"
import { type Message, VideoQueue } from "./VideoQueue.ts"
import * as VideoPolling from "./VideoPolling.ts"
import * as VideoRequests from "./VideoRequest.ts"
import { VideoSignals } from "./VideoSignals.ts"
import * as VideoSlots from "./VideoSlots.ts"
import * as VideoSubmission from "./VideoSubmission.ts"
import * as RetryDecision from "./RetryDecision.ts"
import * as LogEvent from "../log/LogEvent.ts"

/** Options of the worker. */
export interface Options {
  /**
   * Time limit of one upstream call, except for downloading a finished video. Default: 60 seconds.
   */
  readonly callTimeout?: Duration.Input | undefined
  /** Time limit for downloading one finished video. Default: 15 minutes. */
  readonly contentTimeout?: Duration.Input | undefined
  /**
   * Consecutive failures of each candidate after which the job fails. Default: 30, which is about
   * 25 minutes.
   */
  readonly failures?: number | undefined
  /**
   * The bytes of the requests, as they are stored, that are submitted at the same time. One
   * workspace gets half of them. Default: 48 MiB.
   */
  readonly submissionBytes?: number | undefined
  /**
   * Deliveries of one message after which the job fails, because it seems to crash its workers.
   * Default: 10.
   */
  readonly maxDeliveries?: number | undefined
}

/** The worker. */
export class VideoWorker extends Context.Service<
  VideoWorker,
  {
    /** Handles one message. `deliveries` counts those of the message, from 1. */
    readonly handle: (
      message: Message,
      deliveries: number
    ) => Effect.Effect<void, UnresolvedVideo.NotResolved | VideoSlots.NoSlot | StorageError>
    /** Expires the jobs whose deadline has passed. */
    readonly expireOverdue: Effect.Effect<void, StorageError>
  }
>()("@model-gateway/server/video/VideoWorker") {}

/**
 * The bytes of the requests that are submitted at the same time. Decoded and as the upstream's
 * request, with the images in them, they take about four times as much memory.
 */
const maxSubmissionBytes = 48 * 1024 * 1024

/** Requests of this many bytes or more are read one at a time. */
const largeRequest = 1024 * 1024

/** How long a job of this age waits before it asks for a slot again. */
const slotDelay = (age: Duration.Duration): Duration.Duration =>
  Duration.clamp(Duration.times(age, 1 / 10), { minimum: Duration.seconds(1), maximum: Duration.seconds(15) })

const timedOut = new UpstreamError({ reason: new Timeout() })

/** Makes the worker over the jobs, the catalog and the object store. */
export const make = Effect.fnUntraced(function* (options?: Options) {
  const jobs = yield* VideoJobs
  const signals = yield* VideoSignals
  const objects = yield* ObjectStore
  const candidateOf = VideoCandidate.lookup(yield* ModelCatalog, yield* ProviderKeys)
  const settings = (yield* GatewayServerConfig).videos
  const maxDeliveries = options?.maxDeliveries ?? 10
  const callTimeout = options?.callTimeout ?? "60 seconds"
  const submitTo = yield* VideoSubmission.make({ callTimeout })
  const slots = VideoSlots.make(settings.concurrency)
  const capacity = options?.submissionBytes ?? maxSubmissionBytes
  const submissions = FairShare.make({ capacity, perOwner: capacity / 2 })
  const reading = yield* Semaphore.make(1)
  const { submission, unlessEnded } = VideoEnd.make(jobs, signals, slots)
  const videos = VideoDownload.make(objects, {
    ...settings,
    firstBytes: Duration.fromInputUnsafe(callTimeout),
    wholeVideo: Duration.fromInputUnsafe(options?.contentTimeout ?? "15 minutes"),
    timedOut
  })
  const failures = VideoFailures.make(jobs, videos.remove, options?.failures ?? 30)
  const { failJob, failLost, retry, tryNextProvider } = failures

  const timed = <A>(call: Effect.Effect<A, ProviderError>) =>
    Effect.timeoutOrElse(call, { duration: callTimeout, orElse: () => Effect.fail(timedOut) })

  /**
   * Reads the request of a submission. Large ones are read one after the other with pauses, because
   * each takes the event loop for tens of milliseconds, and again to be sent.
   */
  const readRequest = (job: VideoJob, bytes: number) =>
    bytes < largeRequest
      ? jobs.requestOf(job.id)
      : reading.withPermit(
          Effect.timed(jobs.requestOf(job.id)).pipe(
            Effect.tap(([duration]) => Effect.sleep(Duration.times(duration, 2))),
            Effect.map(([, request]) => request)
          )
        )

  const requestFor = Effect.fnUntraced(function* (job: VideoJob) {
    const wanted = yield* jobs.requestOf(job.id)
    return VideoRequests.forProvider(wanted, job.provider)
  })

  const cancelUpstream = Effect.fnUntraced(function* (job: VideoJob, handle: JobHandle) {
    const candidate = yield* candidateOf(job)
    if (candidate === undefined) return
    // The job is over whatever the upstream answers. In the worst case the upstream works for
    // nothing.
    yield* timed(candidate.offer.cancel(handle, candidate.credential)).pipe(
      Effect.catch((error) => VideoFailures.note(job, "A canceled video job could not be canceled upstream", error))
    )
  })

  const submit = (job: VideoJob, slot: VideoSlots.Slot, failures: number) =>
    Effect.flatMap(jobs.requestBytes(job.id), (bytes) =>
      submissions.withAmount(job.workspaceId, bytes)(submitNow(job, bytes, slot, failures))
    )

  const submitNow = Effect.fnUntraced(function* (
    job: VideoJob,
    bytes: number,
    slot: VideoSlots.Slot,
    failures: number
  ) {
    const request = VideoRequests.forProvider(yield* readRequest(job, bytes), job.provider)
    const candidate = yield* candidateOf(job)
    const isRepeatable = yield* VideoSubmission.isRepeatable(job, candidate)
    const mayHaveIt = job.askedAt !== null
    if (mayHaveIt && !isRepeatable) return yield* failLost(job)
    // Record the attempt before calling the upstream. If this process dies after the call, the
    // upstream may have the job, and nobody else may get it.
    if (!mayHaveIt && !(yield* jobs.asking(job))) return
    yield* submission(job, slot, { isRepeatable }, submitOnce(job, candidate, request, failures, isRepeatable))
  })

  const submitOnce = Effect.fnUntraced(function* (
    seen: VideoJob,
    candidate: Candidate<VideoOffer> | undefined,
    request: VideoRequest,
    failures: number,
    isRepeatable: boolean
  ) {
    const mayHaveIt = seen.askedAt !== null
    const { attempts, outcome } = yield* submitTo(seen, candidate, request)
    // Whatever happens to the job next is recorded together with the attempt.
    const job = { ...seen, attempts: VideoAttempts.add(seen.attempts, attempts) }
    if (outcome._tag === "Accepted") {
      const accepted = yield* jobs.accepted(job, outcome.handle, Duration.zero)
      if (accepted === null) yield* Effect.andThen(cancelUpstream(job, outcome.handle), jobs.resolve(job.id))
      return
    }
    const { reason, decision } = outcome
    const now = yield* jobs.find(job.id)
    if (now !== null && isUnresolved(now)) {
      if (outcome._tag === "NotTaken" && !mayHaveIt) return yield* jobs.resolve(job.id)
      return yield* new UnresolvedVideo.NotResolved({ provider: job.provider })
    }
    if (reason !== undefined)
      yield* VideoFailures.note(job, "A video job was not accepted upstream", new UpstreamError({ reason }))
    if (outcome._tag === "NotTaken" && outcome.isFinal) return yield* failJob(job, decision)
    if (outcome._tag === "Unknown" && !isRepeatable) return yield* failLost(job)
    yield* outcome._tag === "Unknown" || mayHaveIt
      ? retry(job, failures + 1, decision)
      : tryNextProvider(job, failures, decision)
  })

  const follow = VideoPolling.make({ jobs, signals, videos, failures, unlessEnded, timed })

  const resolve = UnresolvedVideo.make({ jobs, candidateOf, requestFor, submitTo, cancelUpstream, maxDeliveries })

  /**
   * Hands back a job for which there is no slot. The longer it waits already, the later it comes
   * again, so that a long queue costs little.
   */
  const comeLater = Effect.fnUntraced(function* (job: VideoJob, failures: number) {
    const age = Duration.millis((yield* Clock.currentTimeMillis) - job.createdAt)
    yield* jobs.postpone(job, yield* RetryDecision.jittered(slotDelay(age)), failures)
  })

  /** Runs the work on an open job in a slot of its provider. */
  const withSlot = <E>(
    job: VideoJob,
    failures: number,
    work: (slot: VideoSlots.Slot) => Effect.Effect<void, E, Scope.Scope>
  ): Effect.Effect<void, E | StorageError> =>
    Effect.gen(function* () {
      const slot = yield* slots.open(job)
      const now = slot.hasWaited ? yield* jobs.find(job.id) : job
      if (now?.step === job.step) yield* Metrics.workingOnVideoJob(work(slot))
    }).pipe(
      Effect.scoped,
      Effect.catchIf(
        (error): error is VideoSlots.NoSlot => error instanceof VideoSlots.NoSlot,
        () => Effect.asVoid(comeLater(job, failures))
      )
    )

  const advance = Effect.fnUntraced(function* (job: VideoJob, { failures }: Message, deliveries: number) {
    if (yield* isOverdue(job)) return yield* Effect.flatMap(jobs.expire(job), entered)
    if (job.status === "pending") return yield* Effect.flatMap(jobs.start(job), entered)
    if (deliveries > maxDeliveries)
      return yield* failJob(job, { error: `the job was given up after ${maxDeliveries} attempts` })
    if (job.handle === null) return yield* withSlot(job, failures, (slot) => submit(job, slot, failures))
    const { handle } = job
    yield* withSlot(
      job,
      failures,
      Effect.fnUntraced(function* (slot) {
        const candidate = yield* candidateOf(job)
        if (candidate === undefined) return yield* failJob(job, { error: VideoCandidate.goneError(job) })
        const submitted = { handle, request: yield* requestFor(job) }
        yield* follow(job, slot, { ...candidate, submitted }, failures)
      })
    )
  })

  /** What is left to do for a job that has ended: here, and then upstream. */
  const conclude = Effect.fnUntraced(function* (job: VideoJob, deliveries: number) {
    if (job.handle !== null && job.status !== "completed") yield* videos.remove(job)
    yield* slots.ended(job)
    yield* job.handle === null ? resolve(job, deliveries) : cancelUpstream(job, job.handle)
  }, Effect.scoped)

  const handle = Effect.fn("VideoWorker.handle")(function* (message: Message, deliveries: number) {
    const job = yield* jobs.find(message.job_id)
    if (job === null) return
    const attributes = { "model_gateway.job.id": job.id, "model_gateway.job.step": job.step }
    yield* Tracing.continued(
      job.traceParent,
      `video job: ${job.status}`,
      attributes,
      handleJob(job, message, deliveries)
    )
  })

  const handleJob = Effect.fnUntraced(function* (job: VideoJob, message: Message, deliveries: number) {
    if (job.step === message.step + 1 && isUnresolved(job)) return yield* conclude(job, deliveries)
    if (job.step !== message.step) return
    if (isFinal(job.status)) return yield* job.handle === null ? Effect.void : conclude(job, deliveries)
    // The request is deleted when someone else ends the job meanwhile; nothing is left to do.
    yield* Effect.catchTag(advance(job, message, deliveries), "VideoJobNotFound", () => Effect.void)
  })

  const expireOverdue = Effect.gen(function* () {
    for (const job of yield* jobs.overdue) yield* Effect.flatMap(jobs.expire(job), entered)
  })

  return VideoWorker.of({ handle, expireOverdue })
})

/** The worker without its loop: nothing runs by itself. */
export const layer = (
  options?: Options
): Layer.Layer<VideoWorker, never, VideoJobs | VideoSignals | ObjectStore | ModelCatalog | ProviderKeys | Router> =>
  Layer.effect(VideoWorker, make(options))

/**
 * Takes messages as long as the layer lives, and works on them in the slots of their providers
 * (`VideoSlots`), as many as {@link GatewayServerConfig} says. It takes more messages than there
 * are slots, so that those that wait do not keep the others out. When the layer closes, unfinished
 * messages go back to the queue.
 */
export const layerBackground = (
  options?: Options
): Layer.Layer<
  never,
  never,
  VideoJobs | VideoSignals | ObjectStore | ModelCatalog | ProviderKeys | Router | VideoQueue
> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const worker = yield* make(options)
      const queue = yield* VideoQueue
      const { videos } = yield* GatewayServerConfig
      const catalog = yield* ModelCatalog
      const scope = yield* Effect.scope
      // The queue delivers the message again with a growing delay. The pause here is for a queue
      // that itself fails.
      const failed = (cause: Cause.Cause<UnresolvedVideo.NotResolved | StorageError>) =>
        Cause.hasInterruptsOnly(cause)
          ? Effect.failCause(cause)
          : LogEvent.log(
              "video_job_failed",
              `A video job could not be advanced. ${Failures.describe(Failures.errorOf(cause))}`
            ).pipe(Effect.andThen(Effect.sleep("1 second")))
      const taker = queue.take(worker.handle).pipe(
        Effect.catchTag("NoSlot", () => Effect.void),
        Effect.catchCause(failed),
        Effect.forever
      )
      let takers = 0
      /** A reload may have added providers. */
      const addTakers = Effect.gen(function* () {
        const offers = catalog.videos.flatMap((model) => model.offers)
        const providers = new Set(offers.map(({ provider }) => provider))
        const wanted = VideoSlots.maxJobs(videos.concurrency, Math.max(1, providers.size))
        for (; takers < wanted; takers++) yield* Effect.forkIn(taker, scope)
      })
      yield* addTakers
      yield* addTakers.pipe(Effect.delay("5 seconds"), Effect.forever, Effect.forkScoped)
      yield* worker.expireOverdue.pipe(
        Effect.catch((error) =>
          LogEvent.log("video_job_failed", `Overdue video jobs could not be expired: ${error.message}`)
        ),
        Effect.repeat(Schedule.spaced("15 seconds")),
        Effect.forkScoped
      )
    })
  )
