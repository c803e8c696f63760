/**
 * Alerts: `/alerts`, for management keys. A rule watches a budget, credits, failed requests, a
 * circuit, the expiry of keys or abandoned reservations, and sends a signed webhook or a message
 * for Slack when its condition begins and when it ends.
 *
 * An addition to the specification, which does not describe these operations.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ClientError } from "./ClientError.ts"
import type { GatewayClient, OffsetPageOptions } from "./GatewayClient.ts"
import { GuardrailId, KeyHash, ModelId, Name, OffsetPage, Page, Timestamp, WorkspaceId } from "./Identifiers.ts"
import { AlertEvent, AlertEventType, AlertKind, AlertResolvedReason, watched } from "./internal/alertEvent.ts"
import { isMaxBytes } from "./internal/bounds.ts"
import { call, dataOf } from "./internal/call.ts"
import { managementErrors } from "./internal/errorSets.ts"
import { isUuid } from "./internal/uuid.ts"
import * as Operation from "./Operation.ts"
import { Delivery, DeliveryStatus } from "./Webhooks.ts"
import type { Written } from "./internal/written.ts"

/**
 * What an alert watches. `budget_used`: the share of the limit of a key or a guardrail that is used
 * or reserved. `credits_left`: the credits of a workspace. `failed_share`: the share of the
 * requests of a window that failed, of a model, a workspace or all. `circuit_open`: for how many
 * seconds a circuit of a model has been found open. `key_expires`: in how many days a key expires.
 * `reservations_abandoned`: the number of abandoned reservations. `credits_left` and `key_expires`
 * fire below the threshold, the others at the threshold and above. A share is from 0 to 1.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Kind = AlertKind

/**
 * @category models
 * @since 0.1.0
 */
export type Kind = typeof Kind.Type

/**
 * Why an alert sends a message.
 *
 * @category schemas
 * @since 0.1.0
 */
export const EventType = AlertEventType

/**
 * @category models
 * @since 0.1.0
 */
export type EventType = typeof EventType.Type

/**
 * Why a firing ended: its condition `ended`, or the alert was `changed`, `disabled` or `deleted`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ResolvedReason = AlertResolvedReason

/**
 * @category models
 * @since 0.1.0
 */
export type ResolvedReason = typeof ResolvedReason.Type

/**
 * The body of a message of an alert to a webhook. `Webhook.verifyAlert` verifies its signature.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Event = AlertEvent

/**
 * @category models
 * @since 0.1.0
 */
export type Event = { [Field in keyof typeof Event.Type]: (typeof Event.Type)[Field] }

/**
 * Where an alert sends. `webhook`: a POST with the JSON of {@link Event}, signed with the secret of
 * a workspace's webhooks. `slack`: a POST of `{"text": "…"}`, as Slack's incoming webhooks take it.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Target = Schema.Struct({
  /** The form of the message. */
  type: Schema.Literals(["webhook", "slack"]),
  /** An `https://` URL with a public host, of at most 2 KiB. */
  url: Schema.String.check(isMaxBytes(2048))
})

/**
 * @category models
 * @since 0.1.0
 */
export type Target = { [Field in keyof typeof Target.Type]: (typeof Target.Type)[Field] }

const threshold = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000 }))
const windowSeconds = Schema.Int.check(Schema.isBetween({ minimum: 60, maximum: 86_400 }))
const minRequests = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 2000 }))

/**
 * An alert to create.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CreateRequest = Schema.Struct({
  /** Its name: 1 to 256 characters. */
  name: Name,
  /** What it watches. */
  kind: Kind,
  /**
   * The bound at which it fires: for `budget_used` and `failed_share` a share from 0.01 to 1, for
   * `credits_left` credits from 0 to 1,000,000,000, for `circuit_open` seconds from 0 to 86400, for
   * `key_expires` days from 1 to 365, for `reservations_abandoned` a number from 1 to 1000.
   */
  threshold,
  /** Of `failed_share`: the seconds before now whose requests count: 60 to 86400. Default: 300. */
  window_seconds: Schema.optionalKey(windowSeconds),
  /**
   * Of `failed_share`: the fewest requests with which it fires, 1 to 2000. Default: 20. Only the
   * newest 2,000 requests of the window count, of all workspaces and models together.
   */
  min_requests: Schema.optionalKey(minRequests),
  /**
   * The workspace that it watches: a UUID. `credits_left` requires it; `circuit_open` takes none.
   * Default: null, all workspaces of the organization.
   */
  workspace_id: Schema.optionalKey(Schema.NullOr(WorkspaceId)),
  /**
   * The key that it watches. `budget_used` requires it or `guardrail_id`; `key_expires` may have
   * it.
   */
  key_hash: Schema.optionalKey(Schema.NullOr(KeyHash)),
  /** Of `budget_used`: the guardrail that it watches. */
  guardrail_id: Schema.optionalKey(Schema.NullOr(GuardrailId)),
  /** The model that it watches. `circuit_open` requires it; `failed_share` may have it. */
  model: Schema.optionalKey(Schema.NullOr(ModelId)),
  /** Of `circuit_open`: the provider. Default: null, any provider of the model. */
  provider: Schema.optionalKey(Schema.NullOr(Name)),
  target: Target,
  /** Whether it is evaluated. Default: true. */
  enabled: Schema.optionalKey(Schema.Boolean)
})

/**
 * @category models
 * @since 0.1.0
 */
export type CreateRequest = { [Field in keyof typeof CreateRequest.Type]: Written<typeof CreateRequest.Type, Field> }

/**
 * The fields to change. Omitted fields keep their values. If the alert is firing, a change of what
 * it watches, of its target or of `enabled` resolves it first.
 *
 * @category schemas
 * @since 0.1.0
 */
export const UpdateRequest = Schema.Struct({
  /** Its name: 1 to 256 characters. */
  name: Schema.optionalKey(Name),
  /** The bound at which it fires, in the unit of its kind. */
  threshold: Schema.optionalKey(threshold),
  /** Of `failed_share`: the seconds before now whose requests count: 60 to 86400. */
  window_seconds: Schema.optionalKey(windowSeconds),
  /** Of `failed_share`: the fewest counted requests with which it fires: 1 to 2000. */
  min_requests: Schema.optionalKey(minRequests),
  /** The workspace that it watches: a UUID. Null: all of the organization. */
  workspace_id: Schema.optionalKey(Schema.NullOr(WorkspaceId)),
  /** The key that it watches. Null: none in particular. */
  key_hash: Schema.optionalKey(Schema.NullOr(KeyHash)),
  /** The guardrail that it watches. Null: none. */
  guardrail_id: Schema.optionalKey(Schema.NullOr(GuardrailId)),
  /** The model that it watches. Null: none in particular. */
  model: Schema.optionalKey(Schema.NullOr(ModelId)),
  /** The provider that it watches. Null: any. */
  provider: Schema.optionalKey(Schema.NullOr(Name)),
  target: Schema.optionalKey(Target),
  /** Whether it is evaluated. */
  enabled: Schema.optionalKey(Schema.Boolean)
})

/**
 * @category models
 * @since 0.1.0
 */
export type UpdateRequest = { [Field in keyof typeof UpdateRequest.Type]: Written<typeof UpdateRequest.Type, Field> }

/**
 * An alert.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Alert = Schema.Struct({
  ...watched,
  /** Where it sends. Of the URL only the origin is shown: its path or query may be secret. */
  target: Schema.Struct({
    /** The form of the message: `webhook` or `slack`. */
    type: Schema.String,
    /** The origin of the URL, such as `https://hooks.example`. */
    url: Schema.String
  }),
  /** Whether it is evaluated. */
  enabled: Schema.Boolean,
  /** Whether its condition has begun and not ended: `ok` or `firing`. */
  state: Schema.Literals(["ok", "firing"]),
  /** When `state` last changed. Null: it never has. */
  state_since: Schema.NullOr(Timestamp),
  /** What was measured last, in the unit of `threshold`. Null: there was nothing to measure. */
  last_value: Schema.NullOr(Schema.Finite),
  /** When it was last evaluated. Null: it has not been. */
  last_evaluated_at: Schema.NullOr(Timestamp),
  /** When it was created. */
  created_at: Timestamp,
  /** When it was last changed by a request. */
  updated_at: Timestamp
})

/**
 * @category models
 * @since 0.1.0
 */
export type Alert = { [Field in keyof typeof Alert.Type]: (typeof Alert.Type)[Field] }

/**
 * The alert.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Response = Schema.Struct({ data: Alert })

/**
 * @category models
 * @since 0.1.0
 */
export type Response = { [Field in keyof typeof Response.Type]: (typeof Response.Type)[Field] }

/**
 * A page of alerts.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ListResponse = Schema.Struct({
  /** The alerts of this page, newest first. */
  data: Schema.Array(Alert),
  /** The number of alerts on all pages, at most 100. */
  total_count: Schema.Int
})

/**
 * @category models
 * @since 0.1.0
 */
export type ListResponse = { [Field in keyof typeof ListResponse.Type]: (typeof ListResponse.Type)[Field] }

/**
 * The confirmation that the alert was deleted.
 *
 * @category schemas
 * @since 0.1.0
 */
export const DeleteResponse = Schema.Struct({
  /** Always true. */
  deleted: Schema.Literal(true)
})

/**
 * @category models
 * @since 0.1.0
 */
export type DeleteResponse = { [Field in keyof typeof DeleteResponse.Type]: (typeof DeleteResponse.Type)[Field] }

/**
 * The test that was sent.
 *
 * @category schemas
 * @since 0.1.0
 */
export const TestResponse = Schema.Struct({ data: Delivery })

/**
 * @category models
 * @since 0.1.0
 */
export type TestResponse = { [Field in keyof typeof TestResponse.Type]: (typeof TestResponse.Type)[Field] }

/**
 * What became of a message of a firing. GET `/webhooks/deliveries/{id}` has its attempts.
 *
 * @category schemas
 * @since 0.1.0
 */
export const FiringDelivery = Schema.Struct({
  /** Identifier of the delivery: the `webhook-id` header. */
  id: Schema.String,
  status: DeliveryStatus,
  /** Why the last attempt failed. Null: none failed. */
  error: Schema.NullOr(Schema.String)
})

/**
 * @category models
 * @since 0.1.0
 */
export type FiringDelivery = { [Field in keyof typeof FiringDelivery.Type]: (typeof FiringDelivery.Type)[Field] }

/**
 * One time that an alert fired.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Firing = Schema.Struct({
  /** Identifies the firing. */
  id: Schema.String,
  /** The alert. It may have been deleted. */
  alert_id: Schema.String,
  /** The alert's name then. */
  alert_name: Schema.String,
  /** What the alert watches. */
  kind: Kind,
  /** The workspace that the alert watches. Null: all of the organization. */
  workspace_id: Schema.NullOr(Schema.String),
  /** What was measured then, in the unit of the alert's `threshold`. */
  value: Schema.Finite,
  /** What happened, in a sentence. */
  message: Schema.String,
  /** When it fired. */
  fired_at: Timestamp,
  /** When it resolved. Null: it has not. */
  resolved_at: Schema.NullOr(Timestamp),
  /**
   * Why it resolved: its condition `ended`, or the alert was `changed`, `disabled` or `deleted`.
   * Null: it has not.
   */
  resolved_reason: Schema.NullOr(ResolvedReason),
  /** The message that it fired. Null: deliveries are not kept as long as firings. */
  fired_delivery: Schema.NullOr(FiringDelivery),
  /** The message that it resolved. Null: it has not, or the delivery is not kept any more. */
  resolved_delivery: Schema.NullOr(FiringDelivery)
})

/**
 * @category models
 * @since 0.1.0
 */
export type Firing = { [Field in keyof typeof Firing.Type]: (typeof Firing.Type)[Field] }

/**
 * A page of firings.
 *
 * @category schemas
 * @since 0.1.0
 */
export const FiringListResponse = Schema.Struct({
  /** The firings of this page, newest first. */
  data: Schema.Array(Firing),
  /** Whether more firings follow the page. */
  has_more: Schema.Boolean
})

/**
 * @category models
 * @since 0.1.0
 */
export type FiringListResponse = {
  [Field in keyof typeof FiringListResponse.Type]: (typeof FiringListResponse.Type)[Field]
}

const alert = {
  /** Identifier of the alert: a UUID. */
  id: Schema.String.check(isUuid)
}

const exampleId = "019aab3e-5c7f-7d3e-9a41-c2f0b6d84e21"

const exampleWorkspaceId = "7d9d1f9e-3a55-4f0c-9a35-0e4d1b9f6a10"

const exampleAlert = (): typeof Alert.Encoded => ({
  id: exampleId,
  name: "Credits of the search team",
  kind: "credits_left",
  threshold: 20,
  window_seconds: null,
  min_requests: null,
  workspace_id: exampleWorkspaceId,
  key_hash: null,
  guardrail_id: null,
  model: null,
  provider: null,
  target: { type: "webhook", url: "https://hooks.example" },
  enabled: true,
  state: "ok",
  state_since: null,
  last_value: 31.5,
  last_evaluated_at: "2026-11-20T22:30:00.000Z",
  created_at: "2026-11-20T22:00:00.000Z",
  updated_at: "2026-11-20T22:00:00.000Z"
})

/**
 * @category operations
 * @since 0.1.0
 */
export const createAlertOperation = Operation.make("createAlert", "POST", "/alerts", {
  access: "management key",
  success: Response.annotate({ httpApiStatus: 201 }),
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const createAlertEndpoint = Operation.endpoint(createAlertOperation, () => ({
  payload: CreateRequest,
  reference: {
    summary: "Create an alert",
    example: {
      request: {
        name: "Credits of the search team",
        kind: "credits_left",
        threshold: 20,
        workspace_id: exampleWorkspaceId,
        target: { type: "webhook", url: "https://hooks.example/alerts" }
      },
      response: { data: { ...exampleAlert(), last_value: null, last_evaluated_at: null } }
    }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const listAlertsOperation = Operation.make("listAlerts", "GET", "/alerts", {
  access: "management key",
  scope: "workspace",
  success: ListResponse,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const listAlertsEndpoint = Operation.endpoint(listAlertsOperation, () => ({
  query: {
    /** List only the alerts of this workspace: a UUID. Default: all that the key sees. */
    workspace_id: Schema.optionalKey(WorkspaceId),
    ...OffsetPage
  },
  reference: {
    summary: "List alerts",
    example: { response: { data: [exampleAlert()], total_count: 1 } }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const getAlertOperation = Operation.make("getAlert", "GET", "/alerts/:id", {
  access: "management key",
  scope: "workspace",
  success: Response,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const getAlertEndpoint = Operation.endpoint(getAlertOperation, () => ({
  params: alert,
  reference: {
    summary: "Get an alert",
    example: { params: { id: exampleId }, response: { data: exampleAlert() } }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const updateAlertOperation = Operation.make("updateAlert", "PATCH", "/alerts/:id", {
  access: "management key",
  success: Response,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const updateAlertEndpoint = Operation.endpoint(updateAlertOperation, () => ({
  params: alert,
  payload: UpdateRequest,
  reference: {
    summary: "Change an alert",
    example: {
      params: { id: exampleId },
      request: { threshold: 50 },
      response: { data: { ...exampleAlert(), threshold: 50 } }
    }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const deleteAlertOperation = Operation.make("deleteAlert", "DELETE", "/alerts/:id", {
  access: "management key",
  success: DeleteResponse,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const deleteAlertEndpoint = Operation.endpoint(deleteAlertOperation, () => ({
  params: alert,
  reference: {
    summary: "Delete an alert",
    example: { params: { id: exampleId }, response: { deleted: true } }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const testAlertOperation = Operation.make("testAlert", "POST", "/alerts/:id/test", {
  access: "management key",
  success: TestResponse,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const testAlertEndpoint = Operation.endpoint(testAlertOperation, () => ({
  params: alert,
  reference: {
    summary: "Send a test of an alert",
    example: {
      params: { id: exampleId },
      response: {
        data: {
          id: "evt_alert_019aab3e5c7f7d3e9a41c2f0b6d84e22",
          workspace_id: exampleWorkspaceId,
          video_id: null,
          type: "alert.test",
          url: "https://hooks.example/alerts",
          status: "pending",
          created_at: "2026-11-20T22:30:00.000Z",
          next_attempt_at: "2026-11-20T22:30:00.000Z",
          finished_at: null,
          attempts: []
        }
      }
    }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const listAlertFiringsOperation = Operation.make("listAlertFirings", "GET", "/alerts/firings", {
  access: "management key",
  scope: "workspace",
  success: FiringListResponse,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const listAlertFiringsEndpoint = Operation.endpoint(listAlertFiringsOperation, () => ({
  query: {
    ...Page,
    /** The last firing of the page before. Default: the page starts with the newest. */
    after: Page.after,
    /** Only firings of this alert: a UUID. */
    alert_id: Schema.optionalKey(Schema.String.check(isUuid))
  },
  reference: {
    summary: "List firings of alerts",
    example: {
      response: {
        data: [
          {
            id: "019aab3e-5c7f-7d3e-9a41-c2f0b6d84e23",
            alert_id: exampleId,
            alert_name: "Credits of the search team",
            kind: "credits_left",
            workspace_id: exampleWorkspaceId,
            value: 19.2,
            message: "The workspace Search team has 19.2 credits left, less than 20.",
            fired_at: "2026-11-20T22:31:00.000Z",
            resolved_at: null,
            resolved_reason: null,
            fired_delivery: {
              id: "evt_alert_019aab3e5c7f7d3e9a41c2f0b6d84e23_fired",
              status: "delivered",
              error: null
            },
            resolved_delivery: null
          }
        ],
        has_more: false
      }
    }
  }
}))

/**
 * The errors of the functions of this module.
 *
 * @category errors
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof getAlertOperation> | ClientError

/**
 * Creates an alert. It is evaluated once a minute, the first time within the minute.
 *
 * @example
 * ```ts
 * import { Alerts } from "@model-gateway/core"
 *
 * const created = Alerts.createAlert({
 *   name: "Failures",
 *   kind: "failed_share",
 *   threshold: 0.2,
 *   window_seconds: 600,
 *   target: { type: "slack", url: "https://hooks.slack.example/services/T0/B0/x" }
 * })
 * ```
 *
 * @category calls
 * @since 0.1.0
 */
export const createAlert = (request: CreateRequest): Effect.Effect<Alert, Failure, GatewayClient> =>
  dataOf(call(createAlertOperation, { json: request }))

/**
 * Selects the alerts to list.
 *
 * @category options
 * @since 0.1.0
 */
export interface ListOptions extends OffsetPageOptions {
  /** Only those of this workspace. Default: all that the key sees. */
  readonly workspace_id?: string | undefined
}

/**
 * Lists alerts, newest first.
 *
 * @category calls
 * @since 0.1.0
 */
export const listAlerts = (options: ListOptions = {}): Effect.Effect<ListResponse, Failure, GatewayClient> =>
  call(listAlertsOperation, { query: { ...options } })

/**
 * Returns an alert, with its state.
 *
 * @category calls
 * @since 0.1.0
 */
export const getAlert = (id: string): Effect.Effect<Alert, Failure, GatewayClient> =>
  dataOf(call(getAlertOperation, { params: { id } }))

/**
 * Changes an alert. Omitted fields keep their values.
 *
 * @category calls
 * @since 0.1.0
 */
export const updateAlert = (id: string, request: UpdateRequest): Effect.Effect<Alert, Failure, GatewayClient> =>
  dataOf(call(updateAlertOperation, { params: { id }, json: request }))

/**
 * Deletes an alert. If it is firing, it resolves first. Its firings stay in the list.
 *
 * @category calls
 * @since 0.1.0
 */
export const deleteAlert = (id: string): Effect.Effect<void, Failure, GatewayClient> =>
  Effect.asVoid(call(deleteAlertOperation, { params: { id } }))

/**
 * Sends a message of the type `alert.test` to the alert's target. The response has the delivery,
 * whose attempts `getWebhookDelivery` shows.
 *
 * @category calls
 * @since 0.1.0
 */
export const testAlert = (id: string): Effect.Effect<Delivery, Failure, GatewayClient> =>
  dataOf(call(testAlertOperation, { params: { id } }))

/**
 * Selects the firings to list.
 *
 * @category options
 * @since 0.1.0
 */
export interface FiringOptions {
  /** The last firing of the page before. Default: the page starts with the newest. */
  readonly after?: string | undefined
  /** 1 to 1000. Default: 100. */
  readonly limit?: number | undefined
  /** Only those of this alert. */
  readonly alert_id?: string | undefined
}

/**
 * Lists when alerts fired and resolved, newest first, and whether the messages were delivered.
 * Firings are kept for 90 days, at most 10,000.
 *
 * @category calls
 * @since 0.1.0
 */
export const listAlertFirings = (
  options: FiringOptions = {}
): Effect.Effect<FiringListResponse, Failure, GatewayClient> =>
  call(listAlertFiringsOperation, { query: { ...options } })
