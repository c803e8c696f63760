/** Deliveries over a real database, and a worker that sends them to receivers on this machine. */
import type { EventType } from "@model-gateway/core/Webhook"
import { Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as GatewayServerConfig from "../../src/GatewayServerConfig.ts"
import * as OutboundHttp from "../../src/outbound/OutboundHttp.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { type Delivery, DeliveryStore } from "../../src/webhooks/DeliveryStore.ts"
import * as DeliveryWorker from "../../src/webhooks/DeliveryWorker.ts"

/** Both names lead to this machine, and count as two hosts. */
const settings = GatewayServerConfig.layer({ outboundExemptHosts: ["127.0.0.1", "localhost"] })

/** The worker. It looks for work often. */
export const worker = (options?: DeliveryWorker.Options) =>
  DeliveryWorker.layerBackground({ every: "20 millis", ...options }).pipe(
    Layer.provide(OutboundHttp.layer),
    Layer.provide(settings),
    Layer.fresh
  )

/** The default workspace. */
export const workspace = Effect.flatMap(WorkspaceStore, (store) => store.ensureDefault())

/** The webhook of a job named by `name`, which ended like this. */
export const write = (
  url: string,
  name: string,
  options?: { readonly type?: EventType; readonly workspaceId?: string }
) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const store = yield* DeliveryStore
    const type = options?.type ?? "video.completed"
    const data = { id: `video_${name}`, polling_url: `/api/v1/videos/video_${name}`, status: type.slice(6) }
    const delivery = {
      id: `evt_${name}`,
      workspaceId: options?.workspaceId ?? (yield* workspace).id,
      jobId: data.id,
      type,
      url,
      body: JSON.stringify({ type, timestamp: "2026-11-22T04:00:00.000Z", data })
    }
    yield* sql.withTransaction(store.write(delivery))
    return delivery
  })

/** The delivery as it is now. */
export const read = (name: string) =>
  Effect.gen(function* () {
    const { organizationId } = yield* workspace
    return yield* (yield* DeliveryStore).get(organizationId, `evt_${name}`)
  })

/** Waits until the delivery is like this. */
export const until = (name: string, is: (delivery: Delivery) => boolean) =>
  Effect.filterOrFail(read(name), is, () => "not yet").pipe(Effect.retry({ schedule: Schedule.spaced("10 millis") }))

/** Waits until the delivery has had so many attempts and waits for the next one. */
export const attempted = (name: string, attempts: number) =>
  until(name, (delivery) => delivery.attempts.length === attempts && delivery.nextAttemptAt !== null)

/** Makes the next attempt due now. */
export const hurry = (name: string) =>
  Effect.flatMap(
    SqlClient,
    (sql) => sql`UPDATE webhook_deliveries SET due_at = 1 WHERE id = ${`evt_${name}`} AND claim IS NULL AND due_at > 0`
  )
