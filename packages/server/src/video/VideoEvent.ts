/** The event that reports the end of a video job. */
import type { Request, Status } from "@model-gateway/core/Video"
import { idOf } from "../events/Event.ts"
import type { NewEvent } from "../events/Outbox.ts"
import * as VideoAttempts from "./VideoAttempts.ts"
import { toWire, type VideoJob } from "./VideoJob.ts"

const types = {
  completed: "video.completed",
  failed: "video.failed",
  cancelled: "video.cancelled",
  expired: "video.expired"
} as const

/** The type of the event that ends a job in this state. Undefined: the state is not final. */
export const typeOf = (status: Status): NewEvent["type"] | undefined =>
  status === "pending" || status === "in_progress" ? undefined : types[status]

/**
 * The event of a job that has ended. `request` is what the caller asked for, if it is still known.
 * Only a completed job is charged.
 */
export const make = (
  type: NewEvent["type"],
  job: VideoJob,
  request: Request | undefined,
  usage: Readonly<Record<string, number>>
): NewEvent => ({
  id: idOf(job.intentId),
  type,
  workspace_id: job.workspaceId,
  key_hash: job.keyHash,
  model: job.model,
  generation_id: job.generationId,
  provider: job.provider,
  upstream_model: job.upstreamModel,
  error_status: null,
  cost_micro: job.status === "completed" ? job.cost : 0,
  is_byok: job.isByok,
  input: {},
  usage,
  user: request?.user ?? null,
  trace: request?.trace ?? null,
  started_at: job.createdAt,
  attempts: VideoAttempts.atEnd(job),
  job: toWire(job),
  callback_url: job.callbackUrl
})
