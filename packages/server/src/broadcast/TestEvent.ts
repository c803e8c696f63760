/** Sends one event to a destination at once, so that an operator sees whether it accepts events. */
import { Clock, Effect } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { OtlpSerialization } from "effect/observability/OtlpSerialization"
import type { Event } from "../events/Event.ts"
import * as MonotonicTime from "../internal/MonotonicTime.ts"
import * as HostNames from "../outbound/HostNames.ts"
import { OutboundHttp } from "../outbound/OutboundHttp.ts"
import type { Destination } from "./Destination.ts"
import * as Sender from "./Sender.ts"

/** What became of the event. */
export interface Result {
  readonly eventId: string
  /** Why the destination did not accept it. Null: it did. */
  readonly error: string | null
  readonly durationMillis: number
}

/** The event: a rerank that cost nothing. */
const eventOf = (id: string, workspaceId: string, now: number): Event => ({
  id,
  type: "rerank.completed",
  created_at: now,
  workspace_id: workspaceId,
  key_hash: "",
  model: "model-gateway/test",
  generation_id: null,
  provider: null,
  upstream_model: null,
  error_status: null,
  cost_micro: 0,
  is_byok: false,
  input: {},
  usage: {},
  user: null,
  trace: { trace_name: "Test of a destination" },
  started_at: now,
  duration_ms: 0,
  attempts: [],
  job: null,
  callback_url: null
})

/** Makes the function that sends the event. */
export const make = Effect.gen(function* () {
  const client = yield* OutboundHttp
  const random = yield* SecureRandom
  const serialization = yield* OtlpSerialization

  return Effect.fn("TestEvent.send")(function* (destination: Destination): Effect.fn.Return<Result> {
    const send = yield* Effect.provideService(Sender.make(client, destination), OtlpSerialization, serialization)
    const eventId = `evt_test_${(yield* random.uuidV7()).replaceAll("-", "")}`
    const event = eventOf(eventId, destination.workspaceId, yield* Clock.currentTimeMillis)
    const start = yield* MonotonicTime.millis
    const [undelivered] = yield* send([event]).pipe(Effect.provideService(HostNames.Owner, destination.workspaceId))
    const durationMillis = Math.round((yield* MonotonicTime.millis) - start)
    return { eventId, error: undelivered?.failure.reason ?? null, durationMillis }
  })
})
