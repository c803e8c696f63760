/** How the end of a video job is reported: the event of the outbox, and the webhook. */
import type { Request, Status } from "@model-gateway/core/Video"
import type { EventType } from "@model-gateway/core/Webhook"
import { idOf } from "../events/Event.ts"
import type { NewEvent } from "../events/Outbox.ts"
import * as Timestamp from "../internal/Timestamp.ts"
import type { NewDelivery } from "../webhooks/DeliveryStore.ts"
import * as VideoAttempts from "./VideoAttempts.ts"
import { toWire, type VideoJob } from "./VideoJob.ts"

const types = {
  completed: "video.completed",
  failed: "video.failed",
  cancelled: "video.cancelled",
  expired: "video.expired"
} as const

/** The type of the event that ends a job in this state. Undefined: the state is not final. */
export const typeOf = (status: Status): EventType | undefined =>
  status === "pending" || status === "in_progress" ? undefined : types[status]

/**
 * The event of a job that has ended. `request` is what the caller asked for, if it is still known.
 * Only a completed job is charged.
 */
export const make = (
  type: EventType,
  job: VideoJob,
  request: typeof Request.Type | undefined,
  usage: Readonly<Record<string, number>>,
  basePath?: string
): NewEvent => ({
  id: idOf(job.reservationId),
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
  job: toWire(job, basePath),
  callback_url: job.callbackUrl
})

/** The webhook of a job that has ended. Undefined if it has no callback URL. */
export const toDelivery = (type: EventType, job: VideoJob, basePath?: string): NewDelivery | undefined =>
  job.callbackUrl === null
    ? undefined
    : {
        id: idOf(job.reservationId),
        workspaceId: job.workspaceId,
        jobId: job.id,
        type,
        url: job.callbackUrl,
        body: JSON.stringify({
          type,
          timestamp: Timestamp.fromMillis(job.completedAt ?? job.updatedAt),
          data: toWire(job, basePath)
        })
      }
