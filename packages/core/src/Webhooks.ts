/**
 * Manages webhooks: their deliveries (`/webhooks/deliveries`) and the secret that signs them
 * (`/workspaces/{id}/webhook-secret/rotate`), for management keys. `Webhook` is for receivers.
 *
 * An addition to the specification, which only says that a webhook is sent when a video job
 * completes.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ClientError } from "./ClientError.ts"
import type { GatewayClient } from "./GatewayClient.ts"
import { Decimal, Page, Timestamp, VideoId, WorkspaceRef, WorkspaceScope } from "./Identifiers.ts"
import { AlertEventType } from "./internal/alertEvent.ts"
import { call, dataOf } from "./internal/call.ts"
import { managementErrors } from "./internal/errorSets.ts"
import * as Operation from "./Operation.ts"
import { EventType } from "./Webhook.ts"
import type { Written } from "./internal/written.ts"

/**
 * How to replace a workspace's secret.
 *
 * @category schemas
 * @since 0.1.0
 */
export const RotateRequest = Schema.Struct({
  /**
   * For how many seconds the present secret signs along with the new one, from 0 to 604800 (7
   * days). Default: 86400 (24 hours). With 0, no earlier secret signs any more.
   */
  keep_previous_for: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 604_800 })))
})

/**
 * @category models
 * @since 0.1.0
 */
export type RotateRequest = { [Field in keyof typeof RotateRequest.Type]: Written<typeof RotateRequest.Type, Field> }

/**
 * A new secret. It is not shown again.
 *
 * @category schemas
 * @since 0.1.0
 */
export const RotatedSecret = Schema.Struct({
  /** The workspace whose webhooks it signs. */
  workspace_id: Schema.String,
  /** `whsec_` and base64. */
  secret: Schema.String,
  /** When it was made, in ISO 8601, UTC. */
  created_at: Timestamp,
  /** Until when the secret before it signs too. Null if there was none, or it no longer signs. */
  previous_expires_at: Schema.NullOr(Timestamp)
})

/**
 * @category models
 * @since 0.1.0
 */
export type RotatedSecret = { [Field in keyof typeof RotatedSecret.Type]: (typeof RotatedSecret.Type)[Field] }

/**
 * The new secret.
 *
 * @category schemas
 * @since 0.1.0
 */
export const RotateResponse = Schema.Struct({ data: RotatedSecret })

/**
 * @category models
 * @since 0.1.0
 */
export type RotateResponse = { [Field in keyof typeof RotateResponse.Type]: (typeof RotateResponse.Type)[Field] }

/**
 * The state of a delivery. `pending`: it is being sent, or waits for its next attempt. `delivered`:
 * the receiver answered with a 2xx. `failed`: it was given up; it can still be redelivered.
 *
 * @category schemas
 * @since 0.1.0
 */
export const DeliveryStatus = Schema.Literals(["pending", "delivered", "failed"])

/**
 * @category models
 * @since 0.1.0
 */
export type DeliveryStatus = typeof DeliveryStatus.Type

/**
 * What a delivery reports: the end of a video job, or an alert.
 *
 * @category schemas
 * @since 0.1.0
 */
export const DeliveryType = Schema.Literals([...EventType.literals, ...AlertEventType.literals])

/**
 * @category models
 * @since 0.1.0
 */
export type DeliveryType = typeof DeliveryType.Type

/**
 * One attempt to deliver a webhook.
 *
 * @category schemas
 * @since 0.1.0
 */
export const DeliveryAttempt = Schema.Struct({
  /** When it began, in ISO 8601, UTC. */
  attempted_at: Timestamp,
  /** The status of the response. Null if there was none. */
  status_code: Schema.NullOr(Schema.Int),
  /** How long it took, in milliseconds. */
  duration_ms: Schema.Finite,
  /** Why it failed, in a sentence. Null if it did not. */
  error: Schema.NullOr(Schema.String),
  /**
   * Of a failed attempt: the start of the response's body, at most 200 characters, without
   * addresses and keys. Null if nothing of it can be shown.
   */
  response_excerpt: Schema.NullOr(Schema.String)
})

/**
 * @category models
 * @since 0.1.0
 */
export type DeliveryAttempt = { [Field in keyof typeof DeliveryAttempt.Type]: (typeof DeliveryAttempt.Type)[Field] }

/**
 * A webhook and the attempts to deliver it.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Delivery = Schema.Struct({
  /** The `webhook-id` header, the same on every attempt. */
  id: Schema.String,
  /** The workspace of the video job, or whose secret signs the message of an alert. */
  workspace_id: Schema.String,
  /** The video job that the event is about. Null: it is about an alert. */
  video_id: Schema.NullOr(Schema.String),
  /** The type of the event. */
  type: DeliveryType,
  /** Where it is sent, without the query of the URL, and for an alert without the path. */
  url: Schema.String,
  status: DeliveryStatus,
  /** When the job reached its final state, or the alert its new state, in ISO 8601, UTC. */
  created_at: Timestamp,
  /** When the next attempt is due. Null if none is due, or one is in progress. */
  next_attempt_at: Schema.NullOr(Timestamp),
  /** When it was delivered or given up. */
  finished_at: Schema.NullOr(Timestamp),
  /** The latest 50, oldest first. */
  attempts: Schema.Array(DeliveryAttempt)
})

/**
 * @category models
 * @since 0.1.0
 */
export type Delivery = { [Field in keyof typeof Delivery.Type]: (typeof Delivery.Type)[Field] }

/**
 * The delivery.
 *
 * @category schemas
 * @since 0.1.0
 */
export const DeliveryResponse = Schema.Struct({ data: Delivery })

/**
 * @category models
 * @since 0.1.0
 */
export type DeliveryResponse = { [Field in keyof typeof DeliveryResponse.Type]: (typeof DeliveryResponse.Type)[Field] }

/**
 * A page of deliveries.
 *
 * @category schemas
 * @since 0.1.0
 */
export const DeliveryListResponse = Schema.Struct({
  /** The deliveries of this page, newest first. */
  data: Schema.Array(Delivery),
  /** Whether older deliveries follow. */
  has_more: Schema.Boolean
})

/**
 * @category models
 * @since 0.1.0
 */
export type DeliveryListResponse = {
  [Field in keyof typeof DeliveryListResponse.Type]: (typeof DeliveryListResponse.Type)[Field]
}

const exampleWorkspaceId = "6b1f3c1e-3b0a-4c55-9f0e-2d5a7c9e1b11"

const exampleDelivery = (): typeof Delivery.Encoded => ({
  id: "evt_7d1c2b3a",
  workspace_id: exampleWorkspaceId,
  video_id: "vid_5e9f1a2b",
  type: "video.completed",
  url: "https://app.example/hooks/videos",
  status: "delivered",
  created_at: "2026-11-20T22:30:00.000Z",
  next_attempt_at: null,
  finished_at: "2026-11-20T22:30:01.000Z",
  attempts: [
    {
      attempted_at: "2026-11-20T22:30:00.500Z",
      status_code: 204,
      duration_ms: 87,
      error: null,
      response_excerpt: null
    }
  ]
})

/**
 * @category operations
 * @since 0.1.0
 */
export const rotateWebhookSecretOperation = Operation.make(
  "rotateWebhookSecret",
  "POST",
  "/workspaces/:id/webhook-secret/rotate",
  { access: "management key", needsRecentSignIn: true, success: RotateResponse, error: managementErrors }
)

/**
 * @category endpoints
 * @since 0.1.0
 */
export const rotateWebhookSecretEndpoint = Operation.endpoint(rotateWebhookSecretOperation, () => ({
  params: { id: WorkspaceRef },
  payload: RotateRequest,
  reference: {
    summary: "Replace the webhook secret",
    example: {
      params: { id: exampleWorkspaceId },
      request: { keep_previous_for: 3600 },
      response: {
        data: {
          workspace_id: exampleWorkspaceId,
          secret: "whsec_…",
          created_at: "2026-11-20T22:30:00.000Z",
          previous_expires_at: "2026-11-20T23:30:00.000Z"
        }
      }
    }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const listWebhookDeliveriesOperation = Operation.make("listWebhookDeliveries", "GET", "/webhooks/deliveries", {
  access: "management key",
  scope: "workspace",
  success: DeliveryListResponse,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const listWebhookDeliveriesEndpoint = Operation.endpoint(listWebhookDeliveriesOperation, () => ({
  query: {
    after: Page.after,
    /** 1 to 100. Default: 50. */
    limit: Schema.optionalKey(Decimal.check(Schema.isInt(), Schema.isBetween({ minimum: 1, maximum: 100 }))),
    ...WorkspaceScope,
    /** Only deliveries in this state. */
    status: Schema.optionalKey(DeliveryStatus),
    /** Only events of this type. */
    type: Schema.optionalKey(DeliveryType),
    /** The deliveries of one job. */
    video_id: Schema.optionalKey(VideoId)
  },
  reference: {
    summary: "List webhook deliveries",
    example: { query: { status: "delivered" }, response: { data: [exampleDelivery()], has_more: false } }
  }
}))

const delivery = {
  /** Identifier of the delivery: the `webhook-id` header. */
  id: VideoId
}

/**
 * @category operations
 * @since 0.1.0
 */
export const getWebhookDeliveryOperation = Operation.make("getWebhookDelivery", "GET", "/webhooks/deliveries/:id", {
  access: "management key",
  scope: "workspace",
  success: DeliveryResponse,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const getWebhookDeliveryEndpoint = Operation.endpoint(getWebhookDeliveryOperation, () => ({
  params: delivery,
  reference: {
    summary: "Get a webhook delivery",
    example: { params: { id: "evt_7d1c2b3a" }, response: { data: exampleDelivery() } }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const redeliverWebhookOperation = Operation.make(
  "redeliverWebhook",
  "POST",
  "/webhooks/deliveries/:id/redeliver",
  {
    access: "management key",
    idempotency: "always",
    success: DeliveryResponse,
    error: managementErrors
  }
)

/**
 * @category endpoints
 * @since 0.1.0
 */
export const redeliverWebhookEndpoint = Operation.endpoint(redeliverWebhookOperation, () => ({
  params: delivery,
  reference: {
    summary: "Send a webhook again",
    example: {
      params: { id: "evt_7d1c2b3a" },
      response: { data: { ...exampleDelivery(), status: "pending", finished_at: null } }
    }
  }
}))

/**
 * The errors of the functions of this module.
 *
 * @category errors
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof getWebhookDeliveryOperation> | ClientError

/**
 * Selects the deliveries to list: `limit` (1 to 100, default 50) that follow the delivery `after`.
 *
 * @category options
 * @since 0.1.0
 */
export interface ListOptions {
  readonly after?: string | undefined
  readonly limit?: number | undefined
  readonly workspace_id?: string | undefined
  readonly status?: DeliveryStatus | undefined
  readonly type?: DeliveryType | undefined
  /** The deliveries of one job. */
  readonly video_id?: string | undefined
}

/**
 * Replaces the secret that signs a workspace's webhooks. The present secret keeps signing for a
 * while, so that receivers can be changed one after the other.
 *
 * @category calls
 * @since 0.1.0
 */
export const rotateWebhookSecret = (
  workspaceId: string,
  request: RotateRequest = {}
): Effect.Effect<RotatedSecret, Failure, GatewayClient> =>
  dataOf(call(rotateWebhookSecretOperation, { params: { id: workspaceId }, json: request }))

/**
 * Lists the events of video jobs and how they were delivered, newest first.
 *
 * @example
 * ```ts
 * import { Webhooks } from "@model-gateway/core"
 * import { Effect } from "effect"
 *
 * const redeliverFailed = Effect.gen(function*() {
 *   const { data } = yield* Webhooks.listWebhookDeliveries({ status: "failed" })
 *   yield* Effect.forEach(data, ({ id }) => Webhooks.redeliverWebhook(id))
 * })
 * ```
 *
 * @category calls
 * @since 0.1.0
 */
export const listWebhookDeliveries = (
  options: ListOptions = {}
): Effect.Effect<DeliveryListResponse, Failure, GatewayClient> =>
  call(listWebhookDeliveriesOperation, { query: { ...options } })

/**
 * Returns a delivery with its latest attempts.
 *
 * @category calls
 * @since 0.1.0
 */
export const getWebhookDelivery = (id: string): Effect.Effect<Delivery, Failure, GatewayClient> =>
  dataOf(call(getWebhookDeliveryOperation, { params: { id } }))

/**
 * Sends the webhook again at once under the same id. Its schedule of retries starts over.
 *
 * @category calls
 * @since 0.1.0
 */
export const redeliverWebhook = (id: string): Effect.Effect<Delivery, Failure, GatewayClient> =>
  dataOf(call(redeliverWebhookOperation, { params: { id } }))
