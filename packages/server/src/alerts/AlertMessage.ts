/** The messages of alerts: a signed webhook, or a text for Slack. */
import type { Event } from "@model-gateway/core/Alerts"
import * as Timestamp from "../internal/Timestamp.ts"
import type { NewDelivery } from "../webhooks/DeliveryStore.ts"
import type { Alert, Firing } from "./Alert.ts"

/** What an alert watches, in wire format. */
export const watchedOf = (alert: Alert): Event["data"]["alert"] => ({
  id: alert.id,
  name: alert.name,
  kind: alert.kind,
  threshold: alert.threshold,
  window_seconds: alert.windowSeconds,
  min_requests: alert.minRequests,
  workspace_id: alert.workspaceId,
  key_hash: alert.keyHash,
  guardrail_id: alert.guardrailId,
  model: alert.model,
  provider: alert.provider
})

const titles: Record<Event["type"], string> = {
  "alert.fired": "Alert",
  "alert.resolved": "Resolved",
  "alert.test": "Test of the alert"
}

/** In Slack's texts, these begin a link or a mention. */
const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

/** What happened to an alert. Times are epoch milliseconds. */
export interface Happened {
  /** The `webhook-id`. */
  readonly id: string
  readonly type: Event["type"]
  readonly at: number
  /** Undefined in a test. */
  readonly firing: Pick<Firing, "id" | "createdAt" | "resolvedAt" | "resolvedReason"> | undefined
  readonly value: number | null
  readonly message: string
}

const eventOf = (alert: Alert, { at, firing, message, type, value }: Happened): Event => ({
  type,
  timestamp: Timestamp.fromMillis(at),
  data: {
    alert: watchedOf(alert),
    firing_id: firing?.id ?? null,
    value,
    message,
    fired_at: Timestamp.fromMillisOrNull(firing?.createdAt ?? null),
    resolved_at: Timestamp.fromMillisOrNull(firing?.resolvedAt ?? null),
    reason: firing?.resolvedReason ?? null
  }
})

/** The delivery that reports it to the alert's target. */
export const toDelivery = (alert: Alert, happened: Happened): NewDelivery => ({
  id: happened.id,
  workspaceId: alert.senderWorkspaceId,
  jobId: happened.firing?.id ?? alert.id,
  type: happened.type,
  url: alert.url,
  body: JSON.stringify(
    alert.targetType === "slack"
      ? { text: escaped(`${titles[happened.type]} "${alert.name}": ${happened.message}`) }
      : eventOf(alert, happened)
  )
})
