/**
 * A video job as it is stored, as a row, and on the wire.
 */
import type { Job, Status } from "@model-gateway/core/Video"
import { Schema } from "effect"
import type { Row } from "effect/sql/SqlConnection"
import { hash } from "node:crypto"
import * as MicroCredits from "../accounting/MicroCredits.ts"
import * as Dialect from "../storage/Dialect.ts"
import * as JobStatus from "./JobStatus.ts"
import { type Candidate, CandidatesJson } from "./VideoCandidate.ts"

/** One finished video. */
export const Output = Schema.Struct({
  object_key: Schema.String,
  bytes: Schema.Int,
  sha256: Schema.String
})

/** One finished video. */
export type Output = typeof Output.Type

/** A job as it is stored. Times are epoch milliseconds. */
export interface VideoJob {
  readonly id: string
  readonly workspaceId: string
  readonly keyHash: string
  /** Of the ephemeral key that submitted it; null where that was no ephemeral key. */
  readonly ephemeralHash: string | null
  readonly status: Status
  /** Grows with each move. */
  readonly step: number
  readonly model: string
  /** Who may make it, by preference, as chosen when the job came; at least the present one. */
  readonly candidates: ReadonlyArray<Candidate>
  /** Who makes it: the present candidate, and no other once an upstream has accepted it. `credential` names a caller's own provider key; null: the gateway's. */
  readonly provider: string
  readonly upstreamModel: string
  readonly credential: string | null
  /** Since when the present candidate may have taken the job; null while it surely has not, or while there is no other. */
  readonly askedAt: number | null
  /** The upstream's name for the job, once it accepted it. */
  readonly upstreamId: string | null
  readonly generationId: string | null
  /** From 0 to 1, where the upstream says so. */
  readonly progress: number | null
  /** The reservation that pays for it. */
  readonly intentId: string
  readonly isByok: boolean
  /** What it costs when it completes. What the dearest candidate costs is held from the start. */
  readonly cost: MicroCredits.MicroCredits
  readonly outputs: ReadonlyArray<Output>
  readonly error: string | null
  /** The request's own, or the workspace's default at that time. */
  readonly callbackUrl: string | null
  readonly createdAt: number
  readonly updatedAt: number
  readonly deadlineAt: number
  readonly completedAt: number | null
}

/**
 * The token under which the job is submitted to its provider: the same however often, after whichever crash. With another provider or model it is another token, because two of
 * them may be doors to one upstream, which would answer with the job that the first has refused to go on with. The job's id, which is no secret, leads it: whoever looks at the upstream's
 * books can tell whose job it is.
 */
export const tokenOf = ({ id, provider, upstreamModel }: VideoJob): string =>
  `${id}-${hash("sha256", JSON.stringify([provider, upstreamModel]), "hex").slice(0, 16)}`

/** The column `outputs`. */
export const OutputsJson = Schema.fromJsonString(Schema.Array(Output))
const decodeOutputs = Schema.decodeSync(OutputsJson)
const decodeCandidates = Schema.decodeSync(CandidatesJson)
const isStatus = Schema.is(Schema.Literals(JobStatus.all))

const statusOf = (row: Row): Status => {
  const status = Dialect.text(row, "status")
  if (!isStatus(status)) throw new TypeError("Column status holds no state of a video job")
  return status
}

const realOrNull = (row: Row, column: string): number | null => {
  const value = row[column]
  return typeof value === "number" ? value : null
}

/** Reads a row; a column that holds what it cannot is a defect. */
export const fromRow = (row: Row): VideoJob => {
  const outputs = Dialect.textOrNull(row, "outputs")
  const candidates = Dialect.textOrNull(row, "candidates")
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
    status: statusOf(row),
    step: Dialect.int(row, "step"),
    model: Dialect.text(row, "model"),
    // A job from before there was a choice has none.
    candidates: candidates === null ? [present] : decodeCandidates(candidates),
    provider: present.provider,
    upstreamModel: present.upstream_model,
    credential: Dialect.textOrNull(row, "credential"),
    askedAt: Dialect.intOrNull(row, "asked_at"),
    upstreamId: Dialect.textOrNull(row, "upstream_job_id"),
    generationId: Dialect.textOrNull(row, "generation_id"),
    progress: realOrNull(row, "progress"),
    intentId: Dialect.text(row, "intent_id"),
    isByok: Dialect.bool(row, "is_byok"),
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

/** The job as it stands on the wire: what is not there yet is left out. */
export const toWire = (job: VideoJob): Job => ({
  id: job.id,
  polling_url: `/api/v1/videos/${job.id}`,
  status: job.status,
  model: job.model,
  created_at: new Date(job.createdAt).toISOString(),
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
  ...(job.error === null ? {} : { error: job.error })
})
