/** A video job as it is stored, as a database row, and in its wire format. */
import { type Job, Request, Status } from "@model-gateway/core/Video"
import type { JobHandle } from "@model-gateway/offers/Video"
import { Clock, Data, Effect, Schema } from "effect"
import { Model } from "effect/schema"
import type { Row } from "effect/sql/SqlConnection"
import { hash } from "node:crypto"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import * as ProviderAttempt from "../accounting/ProviderAttempt.ts"
import * as Timestamp from "../internal/Timestamp.ts"
import * as Metrics from "../observability/Metrics.ts"
import * as Table from "../storage/sql/Table.ts"
import * as VideoRequests from "./VideoRequest.ts"
import { CandidatesJson, usesProviderKey, warningsOf } from "./VideoCandidate.ts"

/** One finished video. */
export const Output = Schema.Struct({
  object_key: Schema.String,
  bytes: Schema.Int,
  sha256: Schema.String
})

/** One finished video. */
export type Output = typeof Output.Type

/** The upstream's handle of a job. */
const Handle = Schema.Json.pipe(Schema.refine((json): json is JobHandle => json !== null))

/** The table `video_jobs`. Times are epoch milliseconds. */
class StoredVideoJob extends Model.Class<StoredVideoJob>("VideoJob")({
  id: Table.constant(Schema.String),
  workspaceId: Table.constant(Schema.String),
  keyHash: Table.constant(Schema.String),
  /** The ephemeral key that submitted the job, or null if another kind of key did. */
  ephemeralHash: Table.constantOrNull(Schema.String),
  status: Status,
  /** Incremented by each transition. */
  step: Table.constant(Table.Whole),
  model: Table.constant(Schema.String),
  /**
   * The candidates in order of preference, as chosen on submission. Contains at least the current
   * one.
   */
  candidates: CandidatesJson,
  /**
   * The current candidate; it no longer changes after an upstream has accepted the job.
   * `credential` is the id of the credential. Null: the gateway's own.
   */
  provider: Schema.String,
  upstreamModel: Schema.String,
  credential: Table.nullable(Schema.String),
  /**
   * Since when the current candidate may have taken the job. Null while it certainly has not.
   */
  askedAt: Table.nullable(Table.Whole),
  /** The submissions so far. See `VideoAttempts`. */
  attempts: ProviderAttempt.Column,
  /** The upstream's handle of the job, once it is accepted. */
  handle: Table.nullable(Schema.fromJsonString(Handle)),
  generationId: Table.nullable(Schema.String),
  /** From 0 to 1, if the upstream reports it. */
  progress: Table.nullable(Schema.Finite),
  /** The id of the reservation of the job's cost. */
  reservationId: Table.constant(Schema.String),
  /** That of the first candidate. */
  isByok: Table.constant(Table.Bit),
  /**
   * What the job cost, once it is completed. Until then the quote of the current candidate. The
   * largest quote of all candidates is reserved from the start.
   */
  cost: Table.MicroCredits,
  /** Null: none. */
  outputs: Table.nullable(Schema.fromJsonString(Schema.Array(Output))),
  error: Table.nullable(Schema.String),
  /** The callback URL of the request, or the workspace's default at submission. */
  callbackUrl: Table.constantOrNull(Schema.String),
  /** The trace of the submission, as a `traceparent`. */
  traceParent: Table.constantOrNull(Schema.String),
  cancelRequestedAt: Table.nullable(Table.Whole),
  createdAt: Table.constant(Table.Whole),
  updatedAt: Table.Whole,
  deadlineAt: Table.constant(Table.Whole),
  completedAt: Table.nullable(Table.Whole)
}) {}

/** The table. */
export const table = Table.make(StoredVideoJob, { handle: "upstream_job_id", cost: "cost_micro" })

/** A stored job. */
export interface VideoJob extends Omit<StoredVideoJob, "outputs" | "cancelRequestedAt"> {
  /** Of the current candidate. */
  readonly isByok: boolean
  readonly outputs: ReadonlyArray<Output>
}

/**
 * The workspace has no such job (status 404). The error does not reveal whether another workspace
 * has it.
 */
export class VideoJobNotFound extends Data.TaggedError("VideoJobNotFound")<{ readonly id: string }> {
  override readonly message = "There is no such video job."
}

/**
 * Whether the job was canceled or expired while its submission had no answer: an upstream may have
 * it, and nobody knows its handle yet. The worker that asked finds out, or the next one if it died.
 */
export const isUnresolved = ({ askedAt, handle, status }: VideoJob): boolean =>
  (status === "cancelled" || status === "expired") && askedAt !== null && handle === null

/** Whether the job's deadline has passed. */
export const isOverdue = ({ deadlineAt }: VideoJob): Effect.Effect<boolean> =>
  Effect.map(Clock.currentTimeMillis, (now) => now >= deadlineAt)

/** Counts a transition. Null: there was none. */
export const entered = (job: VideoJob | null): Effect.Effect<void> =>
  job === null ? Effect.void : Metrics.jobEntered(job.status)

/**
 * The token under which the job is submitted to its provider. It stays the same across retries and
 * crashes, so that an idempotent upstream recognizes the job. Another candidate gets another token:
 * two providers may front the same upstream, which would otherwise answer with the job that the
 * first one rejected. The token starts with the job's id, so that the operator can match the
 * upstream's bill to the job.
 */
export const tokenOf = ({ credential, id, provider, upstreamModel }: VideoJob): string => {
  const candidate = [provider, upstreamModel, ...(credential === null ? [] : [credential])]
  return `${id}-${hash("sha256", JSON.stringify(candidate), "hex").slice(0, 16)}`
}

// The types are stated, because the declarations that the compiler writes for them are not valid.
const RequestJson = Schema.fromJsonString(Request)
/**
 * Reads the column `request`. Its bounds were checked when the job was submitted. A bound that a
 * later release adds must not make the job unreadable.
 */
export const decodeRequest: (json: string) => Effect.Effect<typeof Request.Type, Schema.SchemaError> =
  Schema.decodeEffect(RequestJson, { disableChecks: true })
const encodeRequest: (request: typeof Request.Type) => Effect.Effect<string, Schema.SchemaError> =
  Schema.encodeEffect(RequestJson)

/**
 * The columns of a request: complete, and without the content of its images and references if it
 * has any.
 */
export const requestColumns = (
  request: typeof Request.Type
): Effect.Effect<{ readonly request: string; readonly described: string | null }> =>
  Effect.orDie(
    Effect.all({
      request: encodeRequest(request),
      described: VideoRequests.hasMedia(request)
        ? encodeRequest(VideoRequests.withoutMedia(request))
        : Effect.succeed(null)
    })
  )

/** Reads a row. A column with an invalid value is a defect. */
export const fromRow = (row: Row): VideoJob => {
  const { cancelRequestedAt: _cancelRequestedAt, outputs, ...job } = table.read(row)
  // A job that moved to another candidate may use another kind of credential than at first.
  const isByok = job.credential === null ? job.isByok : usesProviderKey({ credential: job.credential })
  return { ...job, isByok, outputs: outputs ?? [] }
}

/** The job in its wire format, for a service below this path. Absent values are left out. */
export const toWire = (job: VideoJob, basePath = ""): typeof Job.Type => {
  const warnings = warningsOf(job)
  const path = `${basePath}/api/v1/videos/${job.id}`
  return {
    id: job.id,
    polling_url: path,
    status: job.status,
    model: job.model,
    created_at: Timestamp.fromMillis(job.createdAt),
    ...(job.generationId === null ? {} : { generation_id: job.generationId }),
    ...(job.status === "completed"
      ? {
          progress: 1,
          usage: { cost: MicroCredits.toCredits(job.cost), is_byok: job.isByok },
          unsigned_urls: job.outputs.map((_, index) => `${path}/content?index=${index}`)
        }
      : job.progress === null
        ? {}
        : { progress: job.progress }),
    ...(job.error === null ? {} : { error: job.error }),
    ...(warnings.length === 0 ? {} : { warnings })
  }
}
