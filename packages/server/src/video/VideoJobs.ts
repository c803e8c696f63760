/**
 * The rows of video jobs: submitting and reading them. `VideoTransitions` has everything that
 * changes them later.
 */
import type { Request, Status } from "@model-gateway/core/Video"
import { Clock, Context, Duration, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { SqlClient } from "effect/sql/SqlClient"
import type { Row } from "effect/sql/SqlConnection"
import type { Accounting } from "../accounting/Accounting.ts"
import type { Outbox } from "../events/Outbox.ts"
import * as Tracing from "../observability/Tracing.ts"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import * as Dialect from "../storage/sql/Dialect.ts"
import * as Page from "../storage/sql/Page.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"
import * as JobStatus from "./JobStatus.ts"
import { type Candidate, usesProviderKey } from "./VideoCandidate.ts"
import { decodeRequest, fromRow, requestColumns, table, type VideoJob, VideoJobNotFound } from "./VideoJob.ts"
import * as VideoJobId from "./VideoJobId.ts"
import { VideoQueue } from "./VideoQueue.ts"
import type { VideoSignals } from "./VideoSignals.ts"
import type { DeliveryStore } from "../webhooks/DeliveryStore.ts"
import * as VideoTransitions from "./VideoTransitions.ts"

/** A job to submit. */
export interface SubmitVideo {
  readonly owner: { readonly keyHash: string; readonly workspaceId: string }
  /** The ephemeral key that submits the job. Default: none. */
  readonly ephemeralHash?: string | undefined
  /** The complete request, with `duration` filled in. */
  readonly request: typeof Request.Type
  /**
   * The candidates, in order of preference. The second one is tried if the first one does not take
   * the job, and so on.
   */
  readonly candidates: readonly [Candidate, ...ReadonlyArray<Candidate>]
  readonly callbackUrl: string | null
  /** Time until the job expires. */
  readonly lifetime: Duration.Duration
}

/** Whose jobs a list has. */
export type Scope =
  | {
      readonly workspaceId: string
      /** Only those that this ephemeral key submitted. */
      readonly ephemeralHash?: string | undefined
    }
  | {
      readonly organizationId: string
      /** Only those of these workspaces. Default: all. */
      readonly workspaceIds?: ReadonlyArray<string> | undefined
    }

/** Selects jobs of a list. Times are epoch milliseconds. */
export interface Filter {
  readonly status?: Status | undefined
  readonly keyHash?: string | undefined
  readonly model?: string | undefined
  /** The first time of submission. */
  readonly from?: number | undefined
  /** The first time of submission that is too late. */
  readonly to?: number | undefined
}

/** What changes in a job between its submission and its end. */
export type State = Pick<VideoJob, "step" | "progress">

/** What the reservation of a new job needs. */
export interface NewJob {
  readonly jobId: string
  readonly reservationId: string
  readonly isByok: boolean
  /** The size of the request as it is stored. */
  readonly requestBytes: number
}

/** The jobs. */
export class VideoJobs extends Context.Service<
  VideoJobs,
  VideoTransitions.VideoTransitions & {
    /**
     * Inserts the row and wakes a worker, in one transaction. `reserve` runs in it first and
     * reserves the cost; `withinTransaction` runs in it last. If one of them fails, no job is
     * created.
     */
    readonly submit: <E, R, E2 = never, R2 = never>(
      input: SubmitVideo,
      reserve: (job: NewJob) => Effect.Effect<unknown, E, R>,
      withinTransaction?: (job: VideoJob) => Effect.Effect<void, E2, R2>
    ) => Effect.Effect<VideoJob, E | E2 | StorageError, R | R2>
    readonly get: (workspaceId: string, id: string) => Effect.Effect<VideoJob, VideoJobNotFound | StorageError>
    /**
     * Jobs, newest first. Identifiers start with their time, so a page follows `after` even if that
     * job no longer exists. Indexes have the jobs of a workspace, also by status or ephemeral key.
     * Other filters have none: a page then looks at a limited number of jobs, however few of them
     * match, and says where to continue.
     */
    readonly list: (
      scope: Scope,
      filter: Filter,
      page: Page.Request
    ) => Effect.Effect<Page.ByTime<VideoJob>, StorageError>
    /** A job of any workspace, or null. For workers. */
    readonly find: (id: string) => Effect.Effect<VideoJob | null, StorageError>
    /** What callers see change in these jobs of any workspace. A job that is gone has no entry. */
    readonly states: (ids: ReadonlyArray<string>) => Effect.Effect<ReadonlyMap<string, State>, StorageError>
    /** The request of a job. Deleted when the job ends. */
    readonly requestOf: (id: string) => Effect.Effect<typeof Request.Type, VideoJobNotFound | StorageError>
    /** The size of a job's request as it is stored. 0 if there is none. */
    readonly requestBytes: (id: string) => Effect.Effect<number, StorageError>
    /** The size of the requests of the workspace's open jobs. */
    readonly openRequestBytes: (workspaceId: string) => Effect.Effect<number, StorageError>
    /** Open jobs whose deadline has passed, at most 100. */
    readonly overdue: Effect.Effect<ReadonlyArray<VideoJob>, StorageError>
    /**
     * Returns which of these identifiers, in any workspace, are jobs that have videos or may still
     * get some.
     */
    readonly withContent: (ids: ReadonlyArray<string>) => Effect.Effect<ReadonlySet<string>, StorageError>
  }
>()("@model-gateway/server/video/VideoJobs") {}

/** Makes the service over the database in the context. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const random = yield* SecureRandom
  const queue = yield* VideoQueue

  const nextId = (prefix: string) => Effect.map(random.uuidV7(), (uuid) => `${prefix}_${uuid.replaceAll("-", "")}`)

  const submit = Effect.fn("VideoJobs.submit")(function* <E, R, E2 = never, R2 = never>(
    input: SubmitVideo,
    reserve: (job: NewJob) => Effect.Effect<unknown, E, R>,
    withinTransaction?: (job: VideoJob) => Effect.Effect<void, E2, R2>
  ) {
    const now = yield* Clock.currentTimeMillis
    const [first] = input.candidates
    const job: VideoJob = {
      id: yield* nextId(VideoJobId.prefix),
      workspaceId: input.owner.workspaceId,
      keyHash: input.owner.keyHash,
      ephemeralHash: input.ephemeralHash ?? null,
      status: "pending",
      step: 0,
      model: input.request.model,
      candidates: input.candidates,
      provider: first.provider,
      upstreamModel: first.upstream_model,
      credential: first.credential ?? null,
      askedAt: null,
      attempts: [],
      handle: null,
      generationId: null,
      progress: null,
      reservationId: yield* nextId("gen"),
      isByok: usesProviderKey({ credential: first.credential ?? null }),
      cost: MicroCredits.make(first.cost_micro),
      outputs: [],
      error: null,
      callbackUrl: input.callbackUrl,
      traceParent: yield* Tracing.current,
      createdAt: now,
      updatedAt: now,
      deadlineAt: now + Math.ceil(Duration.toMillis(input.lifetime)),
      completedAt: null
    }
    // Yield, so that decoding, encoding and writing a large request do not block others in one go.
    yield* Effect.yieldNow
    const columns = yield* requestColumns(input.request)
    yield* Effect.yieldNow
    const requestBytes = Buffer.byteLength(columns.request)
    yield* sql.withTransaction(
      Effect.gen(function* () {
        yield* reserve({ jobId: job.id, reservationId: job.reservationId, isByok: job.isByok, requestBytes })
        yield* sql`INSERT INTO video_jobs ${sql.insert(table.insert({ ...job, outputs: null }))}`
        yield* sql`INSERT INTO video_requests ${sql.insert({ job_id: job.id, ...columns })}`
        yield* queue.offer({ job_id: job.id, step: job.step, failures: 0 })
        if (withinTransaction !== undefined) yield* withinTransaction(job)
      })
    )
    return job
  }, mapSqlError("VideoJobs.submit"))

  const get = Effect.fn("VideoJobs.get")(function* (workspaceId: string, id: string) {
    const [row] = yield* sql`SELECT * FROM video_jobs WHERE id = ${id} AND workspace_id = ${workspaceId}`
    return row === undefined ? yield* new VideoJobNotFound({ id }) : fromRow(row)
  }, mapSqlError("VideoJobs.get"))

  const ofOrganization = (id: string) =>
    sql`EXISTS (SELECT 1 FROM workspaces o WHERE o.id = workspace_id AND o.organization_id = ${id})`

  /** What an index finds of a list, and what each row is checked for. */
  const conditionsOf = (scope: Scope, { from, keyHash, model, status, to }: Filter) => {
    const isInStatus = status === undefined ? [] : [sql`status = ${status}`]
    const checked = [
      ...(keyHash === undefined ? [] : [sql`key_hash = ${keyHash}`]),
      ...(model === undefined ? [] : [sql`model = ${model}`]),
      ...(from === undefined ? [] : [sql`created_at >= ${from}`]),
      ...(to === undefined ? [] : [sql`created_at < ${to}`])
    ]
    if ("organizationId" in scope) {
      const ofScope = Page.inWorkspaces(sql, ofOrganization(scope.organizationId), scope.workspaceIds)
      return { found: [], checked: [ofScope, ...isInStatus, ...checked] }
    }
    const ofWorkspace = sql`workspace_id = ${scope.workspaceId}`
    return scope.ephemeralHash === undefined
      ? { found: [ofWorkspace, ...isInStatus], checked }
      : {
          found: [ofWorkspace, sql`ephemeral_hash = ${scope.ephemeralHash}`],
          // The few jobs of an ephemeral key are read by their own index, not by that of the status.
          checked: status === undefined ? checked : [sql`status || '' = ${status}`, ...checked]
        }
  }

  const list = Effect.fn("VideoJobs.list")(function* (
    scope: Scope,
    filter: Filter,
    { after, limit = 100 }: Page.Request
  ) {
    const { from, to } = filter
    const { checked, found } = conditionsOf(scope, filter)
    // The time of submission is read a moment before that of the identifier.
    const past = to === undefined ? VideoJobId.afterAll : VideoJobId.firstOf(to + 1000)
    const isInRange = sql.and([
      ...found,
      // One bound: with two of them SQLite chooses an index that does not begin with the status.
      sql`id < ${after !== undefined && after < past ? after : past}`,
      ...(from === undefined ? [] : [sql`id >= ${VideoJobId.firstOf(from - 1000)}`])
    ])
    // Read first, so that jobs that are submitted meanwhile do not move the end of the page.
    const [row] =
      checked.length === 0
        ? []
        : yield* sql`SELECT id FROM video_jobs WHERE ${isInRange} ORDER BY id DESC LIMIT 1 OFFSET ${Page.window - 1}`
    // A time, because the job may be one that the caller does not see.
    const end = row === undefined ? undefined : VideoJobId.timeOf(Dialect.text(row, "id"))
    const isInWindow = end === undefined ? isInRange : sql.and([isInRange, sql`id >= ${end}`])
    const rows = yield* sql`SELECT * FROM video_jobs WHERE ${sql.and([isInWindow, ...checked])}
      ORDER BY id DESC LIMIT ${limit + 1}`
    const items = yield* Page.itemsOf(rows.slice(0, limit), fromRow)
    const last = rows[limit - 1]
    return { items, next: rows.length > limit && last !== undefined ? Dialect.text(last, "id") : end }
  }, mapSqlError("VideoJobs.list"))

  const find = Effect.fn("VideoJobs.find")(function* (id: string) {
    const [row] = yield* sql`SELECT * FROM video_jobs WHERE id = ${id}`
    return row === undefined ? null : fromRow(row)
  }, mapSqlError("VideoJobs.find"))

  const states = Effect.fn("VideoJobs.states")(function* (ids: ReadonlyArray<string>) {
    const rows = yield* sql`SELECT id, step, progress FROM video_jobs WHERE ${sql.in("id", ids)}`
    return new Map(
      rows.map((row) => [
        Dialect.text(row, "id"),
        { step: Dialect.int(row, "step"), progress: Dialect.realOrNull(row, "progress") }
      ])
    )
  }, mapSqlError("VideoJobs.states"))

  const requestOf = Effect.fn("VideoJobs.requestOf")(function* (id: string) {
    const [row] = yield* sql`SELECT request FROM video_requests WHERE job_id = ${id}`
    if (row === undefined) return yield* new VideoJobNotFound({ id })
    // Yield, so that reading, decoding and sending a large request do not block others in one go.
    yield* Effect.yieldNow
    return yield* Effect.tap(Effect.orDie(decodeRequest(Dialect.text(row, "request"))), () => Effect.yieldNow)
  }, mapSqlError("VideoJobs.requestOf"))

  const bytesIn = ([row]: ReadonlyArray<Row>): number =>
    row === undefined ? 0 : (Dialect.intOrNull(row, "bytes") ?? 0)

  // Both databases know the length of a text without reading it.
  const requestBytes = (id: string) =>
    Effect.map(sql`SELECT octet_length(request) AS bytes FROM video_requests WHERE job_id = ${id}`, bytesIn).pipe(
      mapSqlError("VideoJobs.requestBytes")
    )

  const openRequestBytes = (workspaceId: string) =>
    Effect.map(
      sql`SELECT SUM(octet_length(r.request)) AS bytes FROM video_jobs j CROSS JOIN video_requests r
        WHERE r.job_id = j.id AND j.workspace_id = ${workspaceId} AND ${sql.in("j.status", [...JobStatus.open])}`,
      bytesIn
    ).pipe(mapSqlError("VideoJobs.openRequestBytes"))

  const overdue = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const rows = yield* sql`SELECT * FROM video_jobs WHERE completed_at IS NULL AND deadline_at <= ${now}
      ORDER BY deadline_at LIMIT 100`
    return yield* Page.itemsOf(rows, fromRow)
  }).pipe(mapSqlError("VideoJobs.overdue"))

  const withContent = Effect.fn("VideoJobs.withContent")(function* (ids: ReadonlyArray<string>) {
    if (ids.length === 0) return new Set<string>()
    const rows = yield* sql`SELECT id FROM video_jobs WHERE ${sql.in("id", ids)}
      AND ${sql.in("status", [...JobStatus.open, "completed"])}`
    return new Set(rows.map((row) => Dialect.text(row, "id")))
  }, mapSqlError("VideoJobs.withContent"))

  return VideoJobs.of({
    ...(yield* VideoTransitions.make({ get, requestOf })),
    submit,
    get,
    list,
    find,
    states,
    requestOf,
    requestBytes,
    openRequestBytes,
    overdue,
    withContent
  })
})

/** Jobs in the database. */
export const layerSql: Layer.Layer<
  VideoJobs,
  never,
  SqlClient | SecureRandom | Accounting | Outbox | DeliveryStore | VideoQueue | VideoSignals
> = Layer.effect(VideoJobs, make)
