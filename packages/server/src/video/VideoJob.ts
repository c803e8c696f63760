/** A video job as it is stored, as a database row, and in its wire format. */
import { type Job, Request, type Status } from "@model-gateway/core/Video"
import type { JobHandle } from "@model-gateway/offers/Video"
import { Data, Effect, Schema } from "effect"
import type { Row } from "effect/sql/SqlConnection"
import { hash } from "node:crypto"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import * as Attempt from "../accounting/Attempt.ts"
import * as Timestamp from "../http/Timestamp.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import * as JobStatus from "./JobStatus.ts"
import * as VideoRequests from "./VideoRequest.ts"
import { type Candidate, CandidatesJson, isOwn, warningsOf } from "./VideoCandidate.ts"

/** One finished video. */
export const Output = Schema.Struct({
  object_key: Schema.String,
  bytes: Schema.Int,
  sha256: Schema.String
})

/** One finished video. */
export type Output = typeof Output.Type

/** A stored job. Times are epoch milliseconds. */
export interface VideoJob {
  readonly id: string
  readonly workspaceId: string
  readonly keyHash: string
  /** The ephemeral key that submitted the job, or null if another kind of key did. */
  readonly ephemeralHash: string | null
  readonly status: Status
  /** Incremented by each transition. */
  readonly step: number
  readonly model: string
  /**
   * The candidates in order of preference, as chosen on submission. Contains at least the current
   * one.
   */
  readonly candidates: ReadonlyArray<Candidate>
  /**
   * The current candidate; it no longer changes after an upstream has accepted the job.
   * `credential` is the id of the credential, or null in jobs from earlier releases, which use the
   * gateway's own.
   */
  readonly provider: string
  readonly upstreamModel: string
  readonly credential: string | null
  /**
   * Since when the current candidate may have taken the job. Null while it certainly has not.
   */
  readonly askedAt: number | null
  /** The submissions so far. See `VideoAttempts`. */
  readonly attempts: ReadonlyArray<Attempt.Attempt>
  /** The upstream's handle of the job, once it is accepted. */
  readonly handle: JobHandle | null
  readonly generationId: string | null
  /** From 0 to 1, if the upstream reports it. */
  readonly progress: number | null
  /** The intent that reserves the job's cost. */
  readonly intentId: string
  readonly isByok: boolean
  /**
   * What the job cost, once it is completed. Until then the quote of the current candidate. The
   * largest quote of all candidates is reserved from the start.
   */
  readonly cost: MicroCredits.MicroCredits
  readonly outputs: ReadonlyArray<Output>
  readonly error: string | null
  /** The callback URL of the request, or the workspace's default at submission. */
  readonly callbackUrl: string | null
  readonly createdAt: number
  readonly updatedAt: number
  readonly deadlineAt: number
  readonly completedAt: number | null
}

/**
 * The workspace has no such job (status 404). The error does not reveal whether another workspace
 * has it.
 */
export class VideoJobNotFound extends Data.TaggedError("VideoJobNotFound")<{ readonly id: string }> {
  override readonly message = "There is no such video job."
}

/**
 * Whether the job was cancelled or expired while its submission had no answer: an upstream may have
 * it, and nobody knows its handle yet. The worker that asked finds out, or the next one if it died.
 */
export const isUnresolved = ({ askedAt, handle, status }: VideoJob): boolean =>
  (status === "cancelled" || status === "expired") && askedAt !== null && handle === null

/**
 * The token under which the job is submitted to its provider. It stays the same across retries and
 * crashes, so that an idempotent upstream recognizes the job. Another candidate gets another token:
 * two providers may front the same upstream, which would otherwise answer with the job that the
 * first one rejected. The token starts with the job's id, so that the operator can match the
 * upstream's bill to the job.
 */
export const tokenOf = ({ credential, id, provider, upstreamModel }: VideoJob): string => {
  // Jobs from earlier releases, which have no credential, keep their token.
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

/** The column `outputs`. */
export const OutputsJson = Schema.fromJsonString(Schema.Array(Output))
const decodeOutputs = Schema.decodeSync(OutputsJson)
const decodeCandidates = Schema.decodeSync(CandidatesJson)

/** The column `upstream_job_id` holds the handle as JSON. */
const HandleJson = Schema.fromJsonString(Schema.Json)
const decodeHandle = Schema.decodeSync(HandleJson)
/** Writes the column `upstream_job_id`. */
export const encodeHandle = Schema.encodeSync(HandleJson)

const realOrNull = (row: Row, column: string): number | null => {
  const value = row[column]
  return typeof value === "number" ? value : null
}

/** Reads the columns that change before the job ends. */
export const stateOf = (row: Row): Pick<VideoJob, "step" | "progress"> => ({
  step: Dialect.int(row, "step"),
  progress: realOrNull(row, "progress")
})

/** Reads a row. A column with an invalid value is a defect. */
export const fromRow = (row: Row): VideoJob => {
  const outputs = Dialect.textOrNull(row, "outputs")
  const candidates = Dialect.textOrNull(row, "candidates")
  const handle = Dialect.textOrNull(row, "upstream_job_id")
  const credential = Dialect.textOrNull(row, "credential")
  const present = {
    provider: Dialect.text(row, "provider"),
    upstream_model: Dialect.text(row, "upstream_model"),
    cost_micro: Dialect.int(row, "cost_micro")
  }
  return {
    id: Dialect.text(row, "id"),
    workspaceId: Dialect.text(row, "workspace_id"),
    keyHash: Dialect.text(row, "key_hash"),
    ephemeralHash: Dialect.textOrNull(row, "ephemeral_hash"),
    status: Dialect.oneOf(row, "status", JobStatus.all),
    ...stateOf(row),
    model: Dialect.text(row, "model"),
    // Jobs from earlier releases have no candidates.
    candidates: candidates === null ? [present] : decodeCandidates(candidates),
    provider: present.provider,
    upstreamModel: present.upstream_model,
    credential,
    askedAt: Dialect.intOrNull(row, "asked_at"),
    attempts: Attempt.fromJson(Dialect.textOrNull(row, "attempts")),
    handle: handle === null ? null : decodeHandle(handle),
    generationId: Dialect.textOrNull(row, "generation_id"),
    intentId: Dialect.text(row, "intent_id"),
    // A job that moved to another candidate may use another kind of credential than at first.
    isByok: credential === null ? Dialect.bool(row, "is_byok") : isOwn({ credential }),
    cost: MicroCredits.make(present.cost_micro),
    outputs: outputs === null ? [] : decodeOutputs(outputs),
    error: Dialect.textOrNull(row, "error"),
    callbackUrl: Dialect.textOrNull(row, "callback_url"),
    createdAt: Dialect.int(row, "created_at"),
    updatedAt: Dialect.int(row, "updated_at"),
    deadlineAt: Dialect.int(row, "deadline_at"),
    completedAt: Dialect.intOrNull(row, "completed_at")
  }
}

/** The job in its wire format. Absent values are left out. */
export const toWire = (job: VideoJob): typeof Job.Type => {
  const warnings = warningsOf(job)
  return {
    id: job.id,
    polling_url: `/api/v1/videos/${job.id}`,
    status: job.status,
    model: job.model,
    created_at: Timestamp.fromMillis(job.createdAt),
    ...(job.generationId === null ? {} : { generation_id: job.generationId }),
    ...(job.status === "completed"
      ? {
          progress: 1,
          usage: { cost: MicroCredits.toCredits(job.cost), is_byok: job.isByok },
          unsigned_urls: job.outputs.map((_, index) => `/api/v1/videos/${job.id}/content?index=${index}`)
        }
      : job.progress === null
        ? {}
        : { progress: job.progress }),
    ...(job.error === null ? {} : { error: job.error }),
    ...(warnings.length === 0 ? {} : { warnings })
  }
}
