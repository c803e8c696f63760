/**
 * Sends the events of the outbox to the broadcast destinations of their workspaces.
 *
 * Each destination has a fiber of its own, which reads the outbox from where the destination is:
 * a slow destination delays no other one, and no answer. It holds one batch in memory. A batch is
 * sent until all of it was accepted or given up, and only then does the destination move on, so
 * that an event is sent at least once, also after a crash.
 *
 * An event is given up, and counted as dropped in the metrics,
 *
 * - at once if the destination rejects it (400, 413, 415 or 422);
 * - after 10 tries if the destination fails on it (500);
 * - when it is older than the retry window (default: 1 day).
 */
import { Cause, Clock, Duration, Effect, FiberMap, Layer, Random, Schedule } from "effect"
import { OtlpSerialization } from "effect/observability/OtlpSerialization"
import * as Serialization from "effect/observability/OtlpSerialization"
import type { Event } from "../events/Event.ts"
import { Outbox } from "../events/Outbox.ts"
import { describe, errorOf, kindOf } from "../http/Failures.ts"
import { OutboundHttp } from "../http/OutboundHttp.ts"
import * as FailureLog from "../observability/FailureLog.ts"
import * as Metrics from "../observability/Metrics.ts"
import type { Destination } from "./Destination.ts"
import { DestinationStore } from "./DestinationStore.ts"
import * as EventFilter from "./EventFilter.ts"
import * as Sender from "./Sender.ts"

/** How events are sent. */
export interface Options {
  /** How long after it was written an event is tried. Default: 1 day. The outbox keeps 3 days. */
  readonly window?: Duration.Input | undefined
  /** How often a destination that is up to date looks for events. Default: 1 second. */
  readonly every?: Duration.Input | undefined
}

/** Events that are read at a time. */
const pageSize = 100

const mostTries = 10

/** The wait after the first failure. Each further one in a row doubles it. */
const firstDelay = 1000

/** The longest wait. A destination may ask for up to {@link longestRequest}. */
const longestDelay = 5 * 60_000

const longestRequest = 60 * 60_000

interface Pending {
  readonly event: Event
  readonly tries: number
}

const make = Effect.fnUntraced(function* (options?: Options) {
  const store = yield* DestinationStore
  const outbox = yield* Outbox
  const client = yield* OutboundHttp
  const serialization = yield* OtlpSerialization
  const window = Duration.toMillis(options?.window ?? "1 day")
  const every = Duration.fromInputUnsafe(options?.every ?? "1 second")

  /** The destination at work. `failures` counts those in a row, across batches. */
  const deliver = ({ id, type }: Destination, send: Sender.Sender) => {
    let failures = 0

    const isGivenUp = ({ event, failure }: Sender.Undelivered, tries: number, now: number): boolean =>
      failure.kind === "rejected" ||
      (failure.kind === "broken" && tries >= mostTries) ||
      event.created_at + window <= now

    /** Sends the events once. Returns those to send again, and how long to wait. */
    const round = Effect.fnUntraced(function* (pending: ReadonlyArray<Pending>) {
      const undelivered = yield* send(pending.map(({ event }) => event))
      const now = yield* Clock.currentTimeMillis
      const triesOf = new Map(pending.map(({ event, tries }) => [event.id, tries + 1]))
      const next: Array<Pending> = []
      for (const one of undelivered) {
        const tries = triesOf.get(one.event.id) ?? 1
        if (!isGivenUp(one, tries, now)) next.push({ event: one.event, tries })
      }
      const dropped = undelivered.length - next.length
      const accepted = pending.length - undelivered.length
      yield* Metrics.broadcast(type, "delivered", accepted)
      yield* Metrics.broadcast(type, "dropped", dropped)
      yield* Metrics.broadcast(type, "retried", next.length)
      if (dropped > 0) {
        const reasons = [...new Set(undelivered.map(({ failure }) => failure.reason))].join(", ")
        yield* FailureLog.report({
          kind: `broadcast dropped\n${reasons}`,
          level: "Warn",
          message: `Broadcast gave up ${dropped} events of a destination: ${reasons}.`,
          annotations: { destination: id }
        })
      }
      failures = accepted > 0 ? 0 : failures + 1
      const requested = Math.max(0, ...undelivered.map(({ failure }) => Duration.toMillis(failure.retryAfter ?? 0)))
      return { next, requested }
    })

    return Effect.fnUntraced(function* (events: ReadonlyArray<Event>) {
      let pending: ReadonlyArray<Pending> = events.map((event) => ({ event, tries: 0 }))
      while (pending.length > 0) {
        const { next, requested } = yield* round(pending)
        pending = next
        if (pending.length === 0) return
        const growing = Math.min(longestDelay, firstDelay * 2 ** Math.min(Math.max(failures - 1, 0), 20))
        // Jitter, so that the destinations on one host do not return to it together.
        const jittered = growing * (0.5 + (yield* Random.next) / 2)
        yield* Effect.sleep(Math.max(jittered, Math.min(longestRequest, requested)))
      }
    })
  }

  /** Serves the destination until another process does. */
  const serve = Effect.fnUntraced(function* (id: string) {
    const opened = yield* store.open(id)
    if (opened === undefined) return
    const { destination } = opened
    const { options, workspaceId } = destination
    const sender = yield* Effect.provideService(Sender.make(client, destination), OtlpSerialization, serialization)
    const send = deliver(destination, sender)
    let sequence = opened.delivered
    /** What the database knows. Events of other workspaces are not worth a write. */
    let stored = sequence
    while (true) {
      const page = yield* outbox.readOf(workspaceId, sequence, pageSize)
      const events = page.events.filter((event) => EventFilter.accepts(options, event))
      yield* send(events)
      sequence = page.through
      if (events.length > 0 || sequence - stored >= 100 * pageSize) {
        if (!(yield* store.advance(id, sequence))) return
        stored = sequence
      }
      // Requests can run between the pages of a long backlog.
      yield* page.hasMore ? Effect.yieldNow : Effect.sleep(every)
    }
  })

  const running = yield* FiberMap.make<string>()
  const revisions = new Map<string, number>()

  /** A destination that cannot be read or moved on is tried again: the database may come back. */
  const served = (id: string) =>
    serve(id).pipe(
      Effect.tapCause((cause) =>
        Cause.hasInterruptsOnly(cause)
          ? Effect.void
          : FailureLog.report({
              kind: `broadcast\n${kindOf(errorOf(cause))}`,
              level: "Error",
              message: `A broadcast destination cannot be served. ${describe(errorOf(cause))}`,
              annotations: { destination: id }
            })
      ),
      Effect.sandbox,
      Effect.retry(Schedule.spaced("5 seconds")),
      Effect.ignore
    )

  /**
   * Starts, restarts and stops the fibers of destinations that were created, changed or deleted.
   */
  const supervise = Effect.gen(function* () {
    const present = yield* store.serve
    const ids = new Set(present.map(({ id }) => id))
    for (const id of revisions.keys()) {
      if (ids.has(id)) continue
      revisions.delete(id)
      yield* FiberMap.remove(running, id)
    }
    for (const { id, revision } of present) {
      if (revisions.get(id) === revision) continue
      revisions.set(id, revision)
      yield* FiberMap.run(running, id, served(id))
    }
  })

  yield* supervise.pipe(
    Effect.catch((error) => Effect.logWarning("The broadcast destinations could not be read", error.message)),
    Effect.repeat(Schedule.spaced(every)),
    Effect.forkScoped
  )
})

/** Sends events in the background for as long as the layer lives. */
export const layerRunning = (options?: Options): Layer.Layer<never, never, DestinationStore | Outbox | OutboundHttp> =>
  Layer.effectDiscard(make(options)).pipe(Layer.provide(Serialization.layerProtobuf))
