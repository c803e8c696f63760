/**
 * The transitions of video jobs. The rows are authoritative.
 *
 * Every transition is one conditional update, in one transaction with its side effects: the
 * reservation with the insert, the settlement with `completed`, the release with the other final
 * states, and the next wake-up with transitions that leave the job open. So whatever crashes, a job
 * is paid for at most once, and an open job always has a wake-up. `step` is incremented by each
 * transition. A worker that read an older row changes nothing and gets `null`.
 */
import { isFinal, Request, type Status } from "@model-gateway/core/Video"
import { Clock, Context, Data, Duration, Effect, Layer, Schema } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { SqlClient } from "effect/sql/SqlClient"
import { Accounting } from "../accounting/Accounting.ts"
import type * as MicroCredits from "@model-gateway/providers/MicroCredits"
import * as Dialect from "../storage/sql/Dialect.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"
import * as JobStatus from "./JobStatus.ts"
import { type Candidate, CandidatesJson, type NextCandidate } from "./VideoCandidate.ts"
import { fromRow, type Output, OutputsJson, type VideoJob } from "./VideoJob.ts"
import * as VideoEvent from "./VideoEvent.ts"
import { VideoQueue } from "./VideoQueue.ts"
import { Outbox } from "../events/Outbox.ts"
import { VideoSignals } from "./VideoSignals.ts"

/** A job to submit. */
export interface SubmitVideo {
  readonly owner: { readonly keyHash: string; readonly workspaceId: string }
  /** The ephemeral key that submits the job. Default: none. */
  readonly ephemeralHash?: string | undefined
  /** The complete request, with `duration` filled in. */
  readonly request: Request
  /** The provider, and its terms. */
  readonly provider: string
  readonly upstreamModel: string
  /**
   * Candidates to try if the first provider does not take the job, in order of preference. Default:
   * none.
   */
  readonly fallbacks?: ReadonlyArray<Candidate> | undefined
  readonly credential?: string | null | undefined
  readonly isByok?: boolean | undefined
  /**
   * The cost on completion.
   */
  readonly cost: MicroCredits.MicroCredits
  readonly callbackUrl: string | null
  /** Time until the job expires. */
  readonly lifetime: Duration.Duration
}

/** What the reservation of a new job needs. */
export interface NewJob {
  readonly jobId: string
  readonly intentId: string
  readonly isByok: boolean
}

/**
 * The workspace has no such job (status 404). The error does not reveal whether another workspace
 * has it.
 */
export class VideoJobNotFound extends Data.TaggedError("VideoJobNotFound")<{ readonly id: string }> {
  override readonly message = "There is no such video job."
}

/** The version of the row that a worker has read. */
export type Seen = Pick<VideoJob, "id" | "step">

/**
 * The jobs. Transitions return the updated row, or null if the row had changed and nothing was
 * done.
 */
export class VideoJobs extends Context.Service<
  VideoJobs,
  {
    /**
     * Inserts the row and wakes a worker, in one transaction. `hold` runs in it first and reserves
     * the cost; `withinTransaction` runs in it last. If one of them fails, no job is created.
     */
    readonly submit: <E, R, E2 = never, R2 = never>(
      input: SubmitVideo,
      hold: (job: NewJob) => Effect.Effect<unknown, E, R>,
      withinTransaction?: (job: VideoJob) => Effect.Effect<void, E2, R2>
    ) => Effect.Effect<VideoJob, E | E2 | StorageError, R | R2>
    readonly get: (workspaceId: string, id: string) => Effect.Effect<VideoJob, VideoJobNotFound | StorageError>
    /** A job of any workspace, or null. For workers. */
    readonly find: (id: string) => Effect.Effect<VideoJob | null, StorageError>
    /** The request of a job. Deleted when the job ends. */
    readonly requestOf: (id: string) => Effect.Effect<Request, VideoJobNotFound | StorageError>
    /** A worker starts the job: `in_progress`. */
    readonly start: (seen: Seen) => Effect.Effect<VideoJob | null, StorageError>
    /**
     * Records that the current candidate may have the job from now on. Not a transition. False if
     * the row has changed.
     */
    readonly asking: (seen: Seen) => Effect.Effect<boolean, StorageError>
    /**
     * The current candidate certainly has not taken the job. Assigns it to the next one at that
     * one's price, and wakes a worker after `after`. The wake-up carries `failures`.
     */
    readonly reroute: (
      seen: Seen,
      turn: NextCandidate,
      after: Duration.Duration,
      failures: number
    ) => Effect.Effect<VideoJob | null, StorageError>
    /**
     * An upstream has accepted the job, so it has a generation id. Wakes a worker after
     * `pollAfter`.
     */
    readonly accepted: (
      seen: Seen,
      upstreamId: string,
      pollAfter: Duration.Duration
    ) => Effect.Effect<VideoJob | null, StorageError>
    /** Records the progress. Not a transition. False if the row has changed. */
    readonly progress: (seen: Seen, progress: number) => Effect.Effect<boolean, StorageError>
    /** Hands the job back and wakes a worker after `after`. The wake-up carries `failures`. */
    readonly postpone: (
      seen: Seen,
      after: Duration.Duration,
      failures: number
    ) => Effect.Effect<VideoJob | null, StorageError>
    /** `completed`: charges the job. `usage` is recorded in the ledger. */
    readonly complete: (
      seen: Seen,
      outputs: ReadonlyArray<Output>,
      usage: Readonly<Record<string, number>>
    ) => Effect.Effect<VideoJob | null, StorageError>
    /** `failed`: releases the reservation. `error` is shown to the caller. */
    readonly fail: (seen: Seen, error: string) => Effect.Effect<VideoJob | null, StorageError>
    /** `expired`: releases the reservation. */
    readonly expire: (seen: Seen) => Effect.Effect<VideoJob | null, StorageError>
    /**
     * `cancelled`, at any step: releases the reservation. A job in a final state is unchanged.
     * Returns the resulting job.
     */
    readonly cancel: (workspaceId: string, id: string) => Effect.Effect<VideoJob, VideoJobNotFound | StorageError>
    /** Open jobs whose deadline has passed, at most 100. */
    readonly overdue: Effect.Effect<ReadonlyArray<VideoJob>, StorageError>
    /**
     * Returns which of these identifiers, in any workspace, are jobs that have videos or may still
     * get some.
     */
    readonly withContent: (ids: ReadonlyArray<string>) => Effect.Effect<ReadonlySet<string>, StorageError>
  }
>()("@model-gateway/server/video/VideoJobs") {}

const encodeOutputs = Schema.encodeSync(OutputsJson)
const encodeCandidates = Schema.encodeSync(CandidatesJson)
const RequestJson = Schema.fromJsonString(Request)
const encodeRequest = Schema.encodeEffect(RequestJson)
const decodeRequest = Schema.decodeEffect(RequestJson)

/** The columns that a transition writes besides state, step and times. */
interface Change {
  readonly upstream_job_id?: string
  readonly provider?: string
  readonly upstream_model?: string
  readonly cost_micro?: number
  readonly candidates?: string
  readonly asked_at?: null
  readonly outputs?: string
  readonly error?: string
  readonly cancel_requested_at?: number
}

/** Makes the service over the database in the context. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const random = yield* SecureRandom
  const accounting = yield* Accounting
  const outbox = yield* Outbox
  const queue = yield* VideoQueue
  const signals = yield* VideoSignals

  const nextId = (prefix: string) => Effect.map(random.uuidV7(), (uuid) => `${prefix}_${uuid.replaceAll("-", "")}`)

  const submit = Effect.fn("VideoJobs.submit")(function* <E, R, E2 = never, R2 = never>(
    input: SubmitVideo,
    hold: (job: NewJob) => Effect.Effect<unknown, E, R>,
    withinTransaction?: (job: VideoJob) => Effect.Effect<void, E2, R2>
  ) {
    const now = yield* Clock.currentTimeMillis
    const fallbacks = input.fallbacks ?? []
    const first: Candidate = {
      provider: input.provider,
      upstream_model: input.upstreamModel,
      cost_micro: input.cost,
      ...(input.request.duration === undefined ? {} : { duration: input.request.duration }),
      ...(input.request.generate_audio === undefined ? {} : { generate_audio: input.request.generate_audio })
    }
    const job: VideoJob = {
      id: yield* nextId("video"),
      workspaceId: input.owner.workspaceId,
      keyHash: input.owner.keyHash,
      ephemeralHash: input.ephemeralHash ?? null,
      status: "pending",
      step: 0,
      model: input.request.model,
      candidates: [first, ...fallbacks],
      provider: input.provider,
      upstreamModel: input.upstreamModel,
      credential: input.credential ?? null,
      askedAt: null,
      upstreamId: null,
      generationId: null,
      progress: null,
      intentId: yield* nextId("gen"),
      isByok: input.isByok ?? false,
      cost: input.cost,
      outputs: [],
      error: null,
      callbackUrl: input.callbackUrl,
      createdAt: now,
      updatedAt: now,
      deadlineAt: now + Math.ceil(Duration.toMillis(input.lifetime)),
      completedAt: null
    }
    const request = yield* Effect.orDie(encodeRequest(input.request))
    yield* sql.withTransaction(
      Effect.gen(function* () {
        yield* hold({ jobId: job.id, intentId: job.intentId, isByok: job.isByok })
        yield* sql`INSERT INTO video_jobs ${sql.insert({
          id: job.id,
          workspace_id: job.workspaceId,
          key_hash: job.keyHash,
          ephemeral_hash: job.ephemeralHash,
          status: job.status,
          step: job.step,
          model: job.model,
          provider: job.provider,
          upstream_model: job.upstreamModel,
          candidates: encodeCandidates([first, ...fallbacks]),
          credential: job.credential,
          intent_id: job.intentId,
          is_byok: Dialect.fromBool(job.isByok),
          cost_micro: job.cost,
          callback_url: job.callbackUrl,
          created_at: job.createdAt,
          updated_at: job.updatedAt,
          deadline_at: job.deadlineAt
        })}`
        yield* sql`INSERT INTO video_requests ${sql.insert({ job_id: job.id, request })}`
        yield* queue.offer({ job_id: job.id, step: job.step, failures: 0 })
        if (withinTransaction !== undefined) yield* withinTransaction(job)
      })
    )
    return job
  }, mapSqlError("VideoJobs.submit"))

  /**
   * If the job has ended, reports that with what the caller sent for tracing, and deletes the
   * request: nothing reads its prompt and images after that.
   */
  const ended = Effect.fnUntraced(function* (job: VideoJob, usage: Readonly<Record<string, number>>) {
    const type = VideoEvent.typeOf(job.status)
    if (type === undefined) return
    const request = yield* Effect.catchTag(requestOf(job.id), "VideoJobNotFound", () => Effect.undefined)
    yield* outbox.write(VideoEvent.make(type, job, request, usage))
    yield* sql`DELETE FROM video_requests WHERE job_id = ${job.id}`
  })

  /**
   * One transition and its side effects in one transaction. Null if the row does not match `where`.
   */
  const move = (
    operation: string,
    from: ReadonlyArray<Status>,
    where: { readonly id: string; readonly step?: number; readonly workspaceId?: string },
    to: Status | undefined,
    change: Change,
    withinTransaction: (job: VideoJob) => Effect.Effect<void, StorageError>,
    usage: Readonly<Record<string, number>> = {}
  ) =>
    sql
      .withTransaction(
        Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const columns = {
            ...change,
            updated_at: now,
            ...(to === undefined ? {} : { status: to }),
            ...(to !== undefined && isFinal(to) ? { completed_at: now } : {})
          }
          const [row] = yield* sql`UPDATE video_jobs SET ${sql.update(columns)}, step = step + 1
            ${change.upstream_job_id === undefined ? sql.literal("") : sql`, generation_id = intent_id`}
            WHERE ${sql.and([
              sql`id = ${where.id}`,
              sql.in("status", from),
              ...(where.step === undefined ? [] : [sql`step = ${where.step}`]),
              ...(where.workspaceId === undefined ? [] : [sql`workspace_id = ${where.workspaceId}`])
            ])} RETURNING *`
          if (row === undefined) return null
          const job = fromRow(row)
          yield* withinTransaction(job)
          yield* ended(job, usage)
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
  const release = (job: VideoJob) =>
    Effect.andThen(accounting.release({ id: job.intentId }), job.upstreamId === null ? Effect.void : wake()(job))

  const start = Effect.fn("VideoJobs.start")((seen: Seen) =>
    move("VideoJobs.start", JobStatus.sourcesOf("in_progress"), seen, "in_progress", {}, wake())
  )

  /** Fills in the options that the caller left out with the candidate's values. */
  const fillIn = (jobId: string, { duration, generate_audio }: Candidate) =>
    Effect.gen(function* () {
      const request = yield* Effect.catchTag(requestOf(jobId), "VideoJobNotFound", Effect.die)
      if (request.duration === duration && request.generate_audio === generate_audio) return
      const filled = yield* Effect.orDie(
        encodeRequest({
          ...request,
          ...(duration === undefined ? {} : { duration }),
          ...(generate_audio === undefined ? {} : { generate_audio })
        })
      )
      yield* sql`UPDATE video_requests SET request = ${filled} WHERE job_id = ${jobId}`
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
          upstream_model: candidate.upstream_model,
          cost_micro: candidate.cost_micro,
          candidates: encodeCandidates(candidates),
          asked_at: null
        },
        (job) => Effect.andThen(fillIn(job.id, candidate), wake(after, failures)(job))
      )
  )

  const accepted = Effect.fn("VideoJobs.accepted")((seen: Seen, upstreamId: string, pollAfter: Duration.Duration) =>
    move("VideoJobs.accepted", ["in_progress"], seen, undefined, { upstream_job_id: upstreamId }, wake(pollAfter))
  )

  const postpone = Effect.fn("VideoJobs.postpone")((seen: Seen, after: Duration.Duration, failures: number) =>
    move("VideoJobs.postpone", JobStatus.open, seen, undefined, {}, wake(after, failures))
  )

  const complete = Effect.fn("VideoJobs.complete")(
    (seen: Seen, outputs: ReadonlyArray<Output>, usage: Readonly<Record<string, number>>) =>
      move(
        "VideoJobs.complete",
        JobStatus.sourcesOf("completed"),
        seen,
        "completed",
        { outputs: encodeOutputs(outputs) },
        (job) =>
          Effect.asVoid(
            accounting.settle(
              { id: job.intentId },
              { cost: job.cost, provider: job.provider, upstreamModel: job.upstreamModel, usage, isByok: job.isByok }
            )
          ),
        usage
      )
  )

  const fail = Effect.fn("VideoJobs.fail")((seen: Seen, error: string) =>
    move("VideoJobs.fail", JobStatus.sourcesOf("failed"), seen, "failed", { error }, (job) =>
      Effect.asVoid(accounting.release({ id: job.intentId }))
    )
  )

  const expire = Effect.fn("VideoJobs.expire")((seen: Seen) =>
    move("VideoJobs.expire", JobStatus.sourcesOf("expired"), seen, "expired", {}, release)
  )

  const get = Effect.fn("VideoJobs.get")(function* (workspaceId: string, id: string) {
    const [row] = yield* sql`SELECT * FROM video_jobs WHERE id = ${id} AND workspace_id = ${workspaceId}`
    return row === undefined ? yield* new VideoJobNotFound({ id }) : fromRow(row)
  }, mapSqlError("VideoJobs.get"))

  const cancel = Effect.fn("VideoJobs.cancel")(function* (workspaceId: string, id: string) {
    const now = yield* Clock.currentTimeMillis
    const moved = yield* move(
      "VideoJobs.cancel",
      JobStatus.sourcesOf("cancelled"),
      { id, workspaceId },
      "cancelled",
      { cancel_requested_at: now },
      release
    )
    return moved ?? (yield* get(workspaceId, id))
  })

  const find = Effect.fn("VideoJobs.find")(function* (id: string) {
    const [row] = yield* sql`SELECT * FROM video_jobs WHERE id = ${id}`
    return row === undefined ? null : fromRow(row)
  }, mapSqlError("VideoJobs.find"))

  const requestOf = Effect.fn("VideoJobs.requestOf")(function* (id: string) {
    const [row] = yield* sql`SELECT request FROM video_requests WHERE job_id = ${id}`
    if (row === undefined) return yield* new VideoJobNotFound({ id })
    return yield* Effect.orDie(decodeRequest(Dialect.text(row, "request")))
  }, mapSqlError("VideoJobs.requestOf"))

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

  const overdue = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const rows = yield* sql`SELECT * FROM video_jobs WHERE completed_at IS NULL AND deadline_at <= ${now}
      ORDER BY deadline_at LIMIT 100`
    return rows.map(fromRow)
  }).pipe(mapSqlError("VideoJobs.overdue"))

  const withContent = Effect.fn("VideoJobs.withContent")(function* (ids: ReadonlyArray<string>) {
    if (ids.length === 0) return new Set<string>()
    const rows = yield* sql`SELECT id FROM video_jobs WHERE ${sql.in("id", ids)}
      AND ${sql.in("status", [...JobStatus.open, "completed"])}`
    return new Set(rows.map((row) => Dialect.text(row, "id")))
  }, mapSqlError("VideoJobs.withContent"))

  return VideoJobs.of({
    submit,
    get,
    find,
    requestOf,
    start,
    asking,
    reroute,
    accepted,
    progress,
    postpone,
    complete,
    fail,
    expire,
    cancel,
    overdue,
    withContent
  })
})

/** Jobs in the database. */
export const layerSql: Layer.Layer<
  VideoJobs,
  never,
  SqlClient | SecureRandom | Accounting | Outbox | VideoQueue | VideoSignals
> = Layer.effect(VideoJobs, make)
