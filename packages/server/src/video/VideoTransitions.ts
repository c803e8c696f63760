/**
 * The transitions of video jobs. The rows are authoritative.
 *
 * Every transition is one conditional update, in one transaction with its side effects: the
 * reservation with the insert, the settlement with `completed`, the release with the other final
 * states, and the next wake-up with transitions that leave the job open. So whatever crashes, a job
 * is paid for at most once, and an open job always has a wake-up. `step` is incremented by each
 * transition. A worker that read an older row changes nothing and gets `null`.
 */
import { isFinal, type Request, type Status } from "@model-gateway/core/Video"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import type { Charge } from "@model-gateway/offers/Pricing"
import type { JobHandle } from "@model-gateway/offers/Video"
import { Clock, type Duration, Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { Accounting, type Failure } from "../accounting/Accounting.ts"
import { Outbox } from "../events/Outbox.ts"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import { DeliveryStore } from "../webhooks/DeliveryStore.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"
import * as JobStatus from "./JobStatus.ts"
import type { Candidate, NextCandidate } from "./VideoCandidate.ts"
import {
  decodeRequest,
  fromRow,
  isUnresolved,
  type Output,
  requestColumns,
  table,
  type VideoJob,
  type VideoJobNotFound
} from "./VideoJob.ts"
import * as VideoAttempts from "./VideoAttempts.ts"
import * as VideoEvent from "./VideoEvent.ts"
import { VideoQueue } from "./VideoQueue.ts"
import { VideoSignals } from "./VideoSignals.ts"

/**
 * The version of the row that a worker has read, with the attempts that it has made since. The
 * transition stores these. Without attempts, the row keeps its own.
 */
export type Seen = Pick<VideoJob, "id" | "step"> & Partial<Pick<VideoJob, "attempts">>

/**
 * The transitions. Each returns the updated row, or null if the row had changed and nothing was
 * done.
 */
export interface VideoTransitions {
  /** A worker starts the job: `in_progress`. */
  readonly start: (seen: Seen) => Effect.Effect<VideoJob | null, StorageError>
  /**
   * Records that the current candidate may have the job from now on. Not a transition. False if
   * the row has changed.
   */
  readonly asking: (seen: Seen) => Effect.Effect<boolean, StorageError>
  /**
   * The current candidate certainly has not taken the job. Assigns it to the next one, which may be
   * the same one, at that one's price, and wakes a worker after `after`. The wake-up carries
   * `failures`.
   */
  readonly reroute: (
    seen: Seen,
    next: NextCandidate,
    after: Duration.Duration,
    failures: number
  ) => Effect.Effect<VideoJob | null, StorageError>
  /**
   * An upstream has accepted the job, so it has a generation id. Wakes a worker after
   * `pollAfter`.
   */
  readonly accepted: (
    seen: Seen,
    handle: JobHandle,
    pollAfter: Duration.Duration
  ) => Effect.Effect<VideoJob | null, StorageError>
  /** Records the progress. Not a transition. False if the row has changed. */
  readonly progress: (seen: Seen, progress: number) => Effect.Effect<boolean, StorageError>
  /**
   * Records the candidates with what the current upstream ignored of the request. Not a transition.
   * False if the row has changed.
   */
  readonly warn: (seen: Seen, candidates: VideoJob["candidates"]) => Effect.Effect<boolean, StorageError>
  /** Hands the job back and wakes a worker after `after`. The wake-up carries `failures`. */
  readonly postpone: (
    seen: Seen,
    after: Duration.Duration,
    failures: number
  ) => Effect.Effect<VideoJob | null, StorageError>
  /**
   * `completed`: charges the job `cost` (default: the charge's). The charge's counts are recorded
   * in the ledger.
   */
  readonly complete: (
    seen: Seen,
    outputs: ReadonlyArray<Output>,
    charge: Charge,
    cost?: MicroCredits.MicroCredits
  ) => Effect.Effect<VideoJob | null, StorageError>
  /**
   * `failed`: releases the reservation. `error` is shown to the caller, `logged` (default: the
   * same) in the request log.
   */
  readonly fail: (seen: Seen, error: string, logged?: string) => Effect.Effect<VideoJob | null, StorageError>
  /** `expired`: releases the reservation. */
  readonly expire: (seen: Seen) => Effect.Effect<VideoJob | null, StorageError>
  /**
   * `cancelled`, at any step: releases the reservation. A job in a final state is unchanged.
   * Returns the resulting job.
   */
  readonly cancel: (workspaceId: string, id: string) => Effect.Effect<VideoJob, VideoJobNotFound | StorageError>
  /**
   * Records that no upstream works on a job that ended during its submission (`isUnresolved`), or
   * with `error`, that this cannot be found out. Not a transition. Deletes the request.
   */
  readonly resolve: (id: string, error?: string) => Effect.Effect<void, StorageError>
}

/** What the request log shows of a job that was not completed. */
const failureOf = (
  job: VideoJob,
  status: Failure["status"],
  request: typeof Request.Type | undefined,
  errorMessage?: string
): Failure => ({
  status,
  errorMessage,
  trace: request?.trace,
  provider: job.provider,
  upstreamModel: job.upstreamModel,
  isByok: job.isByok,
  attempts: VideoAttempts.atEnd(job)
})

/** What a transition writes besides state, step and times. */
type Change = Parameters<typeof table.update>[0]

/** How to read a job and its request. */
export interface Reads {
  readonly get: (workspaceId: string, id: string) => Effect.Effect<VideoJob, VideoJobNotFound | StorageError>
  readonly requestOf: (id: string) => Effect.Effect<typeof Request.Type, VideoJobNotFound | StorageError>
}

/** Makes the transitions over the database in the context. */
export const make = Effect.fnUntraced(function* ({ get, requestOf }: Reads) {
  const sql = yield* SqlClient
  const accounting = yield* Accounting
  const outbox = yield* Outbox
  const webhooks = yield* DeliveryStore
  const queue = yield* VideoQueue
  const signals = yield* VideoSignals
  const { basePath } = yield* GatewayServerConfig

  /** The request of a job without the content of its images. Undefined if it was deleted. */
  const describedOf = Effect.fnUntraced(function* (id: string) {
    const [row] = yield* sql`SELECT COALESCE(described, request) AS request FROM video_requests WHERE job_id = ${id}`
    return row === undefined ? undefined : yield* Effect.orDie(decodeRequest(Dialect.text(row, "request")))
  })

  const deleteRequest = (id: string) => sql`DELETE FROM video_requests WHERE job_id = ${id}`

  /**
   * If the job has ended, reports that with what the caller sent for tracing, and deletes the
   * request: nothing reads its prompt and images after that, unless the submission must be repeated
   * to learn the upstream's handle.
   */
  const ended = Effect.fnUntraced(function* (
    job: VideoJob,
    request: typeof Request.Type | undefined,
    usage: Readonly<Record<string, number>>
  ) {
    const type = VideoEvent.typeOf(job.status)
    if (type === undefined) return
    yield* outbox.write(VideoEvent.make(type, job, request, usage, basePath))
    const delivery = VideoEvent.toDelivery(type, job, basePath)
    if (delivery !== undefined) yield* webhooks.write(delivery)
    if (!isUnresolved(job)) yield* deleteRequest(job.id)
  })

  /**
   * One transition and its side effects in one transaction. Null if the row does not match `where`.
   */
  const move = (
    operation: string,
    from: ReadonlyArray<Status>,
    where: Partial<Seen> & { readonly id: string; readonly workspaceId?: string },
    to: Status | undefined,
    change: Change,
    withinTransaction: (job: VideoJob, request: typeof Request.Type | undefined) => Effect.Effect<void, StorageError>,
    usage: Readonly<Record<string, number>> = {}
  ) =>
    sql
      .withTransaction(
        Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const columns = table.update({
            ...change,
            updatedAt: now,
            attempts: where.attempts,
            status: to,
            completedAt: to !== undefined && isFinal(to) ? now : undefined
          })
          const [row] = yield* sql`UPDATE video_jobs SET ${sql.update(columns)}, step = step + 1
            ${change.handle === undefined ? sql.literal("") : sql`, generation_id = reservation_id`}
            WHERE ${sql.and([
              sql`id = ${where.id}`,
              sql.in("status", from),
              ...(where.step === undefined ? [] : [sql`step = ${where.step}`]),
              ...(where.workspaceId === undefined ? [] : [sql`workspace_id = ${where.workspaceId}`])
            ])} RETURNING *`
          if (row === undefined) return null
          const job = fromRow(row)
          const request = isFinal(job.status) ? yield* describedOf(job.id) : undefined
          yield* withinTransaction(job, request)
          yield* ended(job, request, usage)
          yield* sql.afterCommit(signals.notify(job.id))
          return job
        })
      )
      .pipe(mapSqlError(operation))

  const wake =
    (after?: Duration.Duration, failures = 0) =>
    (job: VideoJob) =>
      queue.offer({ job_id: job.id, step: job.step, failures }, after)

  /**
   * Releases the reservation. A separate wake-up cancels the job at an upstream that may still be
   * working.
   */
  const release = (status: Failure["status"]) => (job: VideoJob, request: typeof Request.Type | undefined) =>
    Effect.andThen(
      accounting.release({ id: job.reservationId }, failureOf(job, status, request)),
      job.handle === null ? Effect.void : wake()(job)
    )

  const start = Effect.fn("VideoJobs.start")((seen: Seen) =>
    move("VideoJobs.start", JobStatus.sourcesOf("in_progress"), seen, "in_progress", {}, wake())
  )

  /** Fills in the options that the caller left out with the candidate's values. */
  const fillIn = (jobId: string, { duration, generate_audio }: Candidate) =>
    Effect.gen(function* () {
      const request = yield* Effect.catchTag(requestOf(jobId), "VideoJobNotFound", Effect.die)
      if (request.duration === duration && request.generate_audio === generate_audio) return
      const columns = yield* requestColumns({
        ...request,
        ...(duration === undefined ? {} : { duration }),
        ...(generate_audio === undefined ? {} : { generate_audio })
      })
      yield* sql`UPDATE video_requests SET ${sql.update(columns)} WHERE job_id = ${jobId}`
    }).pipe(mapSqlError("VideoJobs.reroute"))

  const reroute = Effect.fn("VideoJobs.reroute")(
    (seen: Seen, { candidate, candidates }: NextCandidate, after: Duration.Duration, failures: number) =>
      move(
        "VideoJobs.reroute",
        ["in_progress"],
        seen,
        undefined,
        {
          provider: candidate.provider,
          upstreamModel: candidate.upstream_model,
          credential: candidate.credential ?? null,
          cost: MicroCredits.make(candidate.cost_micro),
          candidates,
          askedAt: null
        },
        (job) => Effect.andThen(fillIn(job.id, candidate), wake(after, failures)(job))
      )
  )

  const accepted = Effect.fn("VideoJobs.accepted")(function* (
    seen: Seen,
    handle: JobHandle,
    pollAfter: Duration.Duration
  ) {
    // The upstream has the images. Kept, they would fill the database and each worker that polls.
    const dropMedia = mapSqlError("VideoJobs.accepted")(
      sql`UPDATE video_requests SET request = described, described = NULL
        WHERE job_id = ${seen.id} AND described IS NOT NULL`
    )
    return yield* move("VideoJobs.accepted", ["in_progress"], seen, undefined, { handle }, (job) =>
      Effect.andThen(dropMedia, wake(pollAfter)(job))
    )
  })

  const postpone = Effect.fn("VideoJobs.postpone")((seen: Seen, after: Duration.Duration, failures: number) =>
    move("VideoJobs.postpone", JobStatus.open, seen, undefined, {}, wake(after, failures))
  )

  const complete = Effect.fn("VideoJobs.complete")(
    (
      seen: Seen,
      outputs: ReadonlyArray<Output>,
      { cost: billed, usage }: Charge,
      cost: MicroCredits.MicroCredits = billed
    ) =>
      move(
        "VideoJobs.complete",
        JobStatus.sourcesOf("completed"),
        seen,
        "completed",
        { outputs, cost },
        (job, request) =>
          Effect.asVoid(
            accounting.settle(
              { id: job.reservationId },
              {
                cost,
                billed,
                provider: job.provider,
                upstreamModel: job.upstreamModel,
                usage,
                trace: request?.trace,
                isByok: job.isByok,
                attempts: VideoAttempts.atEnd(job)
              }
            )
          ),
        usage
      )
  )

  const fail = Effect.fn("VideoJobs.fail")((seen: Seen, error: string, logged: string = error) =>
    move("VideoJobs.fail", JobStatus.sourcesOf("failed"), seen, "failed", { error }, (job, request) =>
      Effect.asVoid(accounting.release({ id: job.reservationId }, failureOf(job, "failed", request, logged)))
    )
  )

  const expire = Effect.fn("VideoJobs.expire")((seen: Seen) =>
    move("VideoJobs.expire", JobStatus.sourcesOf("expired"), seen, "expired", {}, release("expired"))
  )

  const cancel = Effect.fn("VideoJobs.cancel")(function* (workspaceId: string, id: string) {
    const now = yield* Clock.currentTimeMillis
    const moved = yield* move(
      "VideoJobs.cancel",
      JobStatus.sourcesOf("cancelled"),
      { id, workspaceId },
      "cancelled",
      { cancelRequestedAt: now },
      release("cancelled")
    )
    return moved ?? (yield* get(workspaceId, id))
  })

  const asking = Effect.fn("VideoJobs.asking")(function* (seen: Seen) {
    const now = yield* Clock.currentTimeMillis
    const rows = yield* sql`UPDATE video_jobs SET asked_at = ${now}
      WHERE id = ${seen.id} AND step = ${seen.step} AND status = 'in_progress' RETURNING id`
    return rows.length > 0
  }, mapSqlError("VideoJobs.asking"))

  const progress = Effect.fn("VideoJobs.progress")(function* (seen: Seen, progress: number) {
    const rows = yield* sql`UPDATE video_jobs SET progress = ${progress}
      WHERE id = ${seen.id} AND step = ${seen.step} AND status = 'in_progress' RETURNING id`
    return rows.length > 0
  }, mapSqlError("VideoJobs.progress"))

  const warn = Effect.fn("VideoJobs.warn")(function* (seen: Seen, candidates: VideoJob["candidates"]) {
    const rows = yield* sql`UPDATE video_jobs SET ${sql.update(table.update({ candidates }))}
      WHERE id = ${seen.id} AND step = ${seen.step} AND status = 'in_progress' RETURNING id`
    return rows.length > 0
  }, mapSqlError("VideoJobs.warn"))

  const resolve = Effect.fn("VideoJobs.resolve")(
    function* (id: string, error?: string) {
      const rows = yield* sql`UPDATE video_jobs SET asked_at = NULL, error = ${error ?? null}
        WHERE id = ${id} AND status IN ('cancelled', 'expired') AND upstream_job_id IS NULL RETURNING id`
      if (rows.length > 0) yield* deleteRequest(id)
    },
    sql.withTransaction,
    mapSqlError("VideoJobs.resolve")
  )

  const transitions: VideoTransitions = {
    start,
    asking,
    reroute,
    accepted,
    progress,
    warn,
    postpone,
    complete,
    fail,
    expire,
    cancel,
    resolve
  }
  return transitions
})
