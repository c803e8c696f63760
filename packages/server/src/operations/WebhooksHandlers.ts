/** Deliveries of webhooks, and the secrets that sign them. */
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import { NotFound, phrases } from "@model-gateway/core/GatewayError"
import type * as Webhooks from "@model-gateway/core/Webhooks"
import { Duration, Effect, Redacted } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { currentCaller } from "../access/Caller.ts"
import * as Permission from "../access/Permission.ts"
import { WorkspaceStore } from "../access/WorkspaceStore.ts"
import { orUnavailable } from "../http/Failures.ts"
import * as Audited from "../audit/Audited.ts"
import * as RequestServices from "../http/RequestServices.ts"
import * as Paging from "../http/Paging.ts"
import * as Timestamp from "../internal/Timestamp.ts"
import type { StorageError } from "../storage/sql/StorageError.ts"
import { type DeliveryAttempt, type Delivery, type DeliveryNotFound, DeliveryStore } from "../webhooks/DeliveryStore.ts"
import { WebhookSecrets } from "../webhooks/WebhookSecrets.ts"
import * as CallerWorkspace from "../access/CallerWorkspace.ts"

const timeOrNull = (millis: number | null): string | null => (millis === null ? null : Timestamp.fromMillis(millis))

/** Without the query, which often contains tokens. The path of an alert's URL may be one, too. */
const publicUrl = (text: string, withPath: boolean): string => {
  const url = URL.parse(text)
  return url === null ? "" : `${url.origin}${withPath ? url.pathname : ""}`
}

const isOfAlert = ({ type }: Delivery): boolean => type.startsWith("alert.")

const attemptToWire = (attempt: DeliveryAttempt): Webhooks.DeliveryAttempt => ({
  attempted_at: Timestamp.fromMillis(attempt.attemptedAt),
  status_code: attempt.status,
  duration_ms: attempt.durationMillis,
  error: attempt.error,
  response_excerpt: attempt.excerpt
})

/** A delivery in wire format. */
export const toWire = (delivery: Delivery): Webhooks.Delivery => ({
  id: delivery.id,
  workspace_id: delivery.workspaceId,
  video_id: isOfAlert(delivery) ? null : delivery.jobId,
  type: delivery.type,
  url: publicUrl(delivery.url, !isOfAlert(delivery)),
  status: delivery.status,
  created_at: Timestamp.fromMillis(delivery.createdAt),
  next_attempt_at: timeOrNull(delivery.nextAttemptAt),
  finished_at: timeOrNull(delivery.finishedAt),
  attempts: delivery.attempts.map(attemptToWire)
})

const missing = (what: string) => new NotFound({ error: { message: `${phrases[404]}: there is no such ${what}` } })

const organization = Effect.map(currentCaller, ({ key }) => key.organizationId)

const make = Effect.gen(function* () {
  const store = yield* DeliveryStore
  const secrets = yield* WebhookSecrets
  const workspaces = yield* WorkspaceStore
  const workspaceOf = yield* CallerWorkspace.make
  const audited = yield* Audited.make

  const rotate = Effect.fnUntraced(function* (
    ref: string,
    { keep_previous_for = 86_400 }: typeof Webhooks.RotateRequest.Type
  ) {
    const { id } = yield* orUnavailable(workspaces.get(yield* organization, ref)).pipe(
      Effect.catchTag("WorkspaceNotFound", () => Effect.fail(missing("workspace")))
    )
    const rotated = yield* orUnavailable(secrets.rotate(id, Duration.seconds(keep_previous_for)))
    return {
      data: {
        workspace_id: id,
        secret: Redacted.value(rotated.secret),
        created_at: Timestamp.fromMillis(rotated.createdAt),
        previous_expires_at: timeOrNull(rotated.previousExpiresAt)
      }
    }
  })

  const list = Effect.fnUntraced(function* (query: Webhooks.ListOptions) {
    const workspace = yield* workspaceOf(query.workspace_id)
    const page = yield* Paging.rejectUnknownCursor(
      orUnavailable(
        store.list(workspace.id, { ...query, jobId: query.video_id }, { after: query.after, limit: query.limit ?? 50 })
      )
    )
    return { data: page.items.map(toWire), has_more: page.hasMore }
  })

  const found = (effect: Effect.Effect<Delivery, DeliveryNotFound | StorageError>) =>
    orUnavailable(effect).pipe(
      Effect.catchTag("DeliveryNotFound", () => Effect.fail(missing("delivery"))),
      Effect.tap(({ workspaceId }) => Permission.check(workspaceId, () => missing("delivery"))),
      Effect.map((delivery) => ({ data: toWire(delivery) }))
    )

  const get = Effect.fnUntraced(function* (id: string) {
    return yield* found(store.get(yield* organization, id))
  })

  const redeliver = Effect.fnUntraced(function* (id: string) {
    return yield* found(store.redeliver(yield* organization, id))
  })

  return { audited, rotate, list, get, redeliver }
})

/** The `webhooks` group of the contract. */
export const layer = RequestServices.group(make, (webhooks) =>
  HttpApiBuilder.group(GatewayApi, "webhooks", (handlers) =>
    handlers
      // UUIDs are case-insensitive.
      .handle("rotateWebhookSecret", ({ params, payload }) =>
        webhooks.audited(
          {
            kind: "webhook_secret",
            id: params.id.toLowerCase(),
            after: ({ data: { secret: _secret, ...shown } }) => shown
          },
          webhooks.rotate(params.id.toLowerCase(), payload)
        )
      )
      .handle("listWebhookDeliveries", ({ query }) => webhooks.list(query))
      .handle("getWebhookDelivery", ({ params }) => webhooks.get(params.id))
      .handle("redeliverWebhook", ({ params }) =>
        webhooks.audited({ kind: "webhook_delivery", before: webhooks.get(params.id) }, webhooks.redeliver(params.id))
      )
  )
)
