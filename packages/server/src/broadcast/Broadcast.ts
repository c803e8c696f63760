/**
 * Sends the events of the outbox to the broadcast destinations of their workspaces.
 *
 * Each destination has a fiber of its own, which reads the outbox from where the destination is:
 * a slow destination delays no other one, and no answer. It reads and sends one part of the outbox
 * at a time. A part is sent until all of it was accepted or given up, and only then does the
 * destination move on, so that an event is sent at least once, also after a crash. While it waits
 * for its next try, a part is not in memory. All destinations share the memory for the parts that
 * they read and send, and those of one workspace get at most an eighth of it.
 *
 * An event is given up, and counted as dropped in the metrics,
 *
 * - at once if the destination rejects it (400, 413, 415 or 422);
 * - after 10 tries if the destination fails on it (500);
 * - when it is older than the retry window (default: 1 day).
 *
 * An event that cannot be read, or that has no form that can be sent, is set aside: it is counted,
 * named in the log by its sequence or id, and stays in the outbox until it is old.
 */
import { Cause, Clock, Duration, Effect, FiberMap, Layer, Random, Schedule } from "effect"
import { OtlpSerialization } from "effect/observability/OtlpSerialization"
import * as Serialization from "effect/observability/OtlpSerialization"
import * as Outbox from "../events/Outbox.ts"
import { describe, errorOf, kindOf } from "../http/Failures.ts"
import * as HostNames from "../outbound/HostNames.ts"
import { OutboundHttp } from "../outbound/OutboundHttp.ts"
import * as FairShare from "@model-gateway/offers/FairShare"
import * as FailureLog from "../observability/FailureLog.ts"
import * as Metrics from "../observability/Metrics.ts"
import { Scrape } from "../observability/Scrape.ts"
import * as MonotonicTime from "../internal/MonotonicTime.ts"
import type { Destination } from "./Destination.ts"
import { DestinationStore, type Sent } from "./DestinationStore.ts"
import * as EventFilter from "./EventFilter.ts"
import * as Sender from "./Sender.ts"
import * as LogEvent from "../log/LogEvent.ts"

/** How events are sent. */
export interface Options {
  /** How long after it was written an event is tried. Default: 1 day. The outbox keeps 3 days. */
  readonly window?: Duration.Input | undefined
  /** How often a destination that is up to date looks for events. Default: 1 second. */
  readonly every?: Duration.Input | undefined
}

/** The sequences of other workspaces' events after which the database learns the position. */
const storeEvery = 10_000

/**
 * The bytes of events that all destinations of this process read and send at a time. Decoded and
 * encoded, they take about five times as much memory.
 */
const maxBytesInProgress = 32 * Outbox.maxPartBytes

const maxBytesPerWorkspace = maxBytesInProgress / 8

const maxTries = 10

/** The age of an event from which on its destination shows that it waits. */
const waitingAfterMillis = 10_000

/** The wait after the first failure. Each further one in a row doubles it. */
const firstDelayMillis = 1000

/** The longest wait. A destination may ask for up to {@link maxRequestedMillis}. */
const maxDelayMillis = 5 * 60_000

const maxRequestedMillis = 60 * 60_000

/** Where a destination is. */
interface Position {
  sequence: number
  /** When it began to send the next part. Undefined: it has none. */
  partSince: number | undefined
}

/** The events of a part that are still to be sent: how often each was tried, by its id. */
type Pending = ReadonlyMap<string, number>

const make = Effect.fnUntraced(function* (options?: Options) {
  const store = yield* DestinationStore
  const outbox = yield* Outbox.Outbox
  const client = yield* OutboundHttp
  const serialization = yield* OtlpSerialization
  const window = Duration.toMillis(options?.window ?? "1 day")
  const every = Duration.fromInputUnsafe(options?.every ?? "1 second")
  const memory = FairShare.make({ capacity: maxBytesInProgress, perOwner: maxBytesPerWorkspace })

  /** Counts and names events that cannot be sent. */
  const setAside = Effect.fnUntraced(function* (
    { id, type }: Destination,
    events: ReadonlyArray<{ readonly name: string; readonly reason: string }>
  ) {
    yield* Metrics.broadcast(type, "set_aside", events.length)
    for (const reason of new Set(events.map(({ reason }) => reason))) {
      const names = events.flatMap((event) => (event.reason === reason ? [event.name] : []))
      yield* FailureLog.report({
        kind: `broadcast set aside\n${reason}`,
        event: "broadcast_event_skipped",
        message: `Broadcast cannot send ${names.join(", ")} and continues with the next event: ${reason}.`,
        annotations: { destination: id }
      })
    }
  })

  /** Where the destinations that this process serves are, for the metrics. */
  const positions = new Map<string, Position>()

  /** What a destination shows is not worth sending events twice. */
  const record = (id: string, sent: Sent) =>
    Effect.catch(store.record(id, sent), ({ message }) =>
      LogEvent.log("broadcast_failed", `The state of a broadcast destination could not be written: ${message}`)
    )

  /** Sends parts of the outbox to a destination. */
  const deliver = (destination: Destination, send: Sender.Sender) => {
    const { id, options, type, workspaceId } = destination
    /** Those in a row, across parts. */
    let failures = 0

    const isGivenUp = ({ event, failure }: Sender.Undelivered, tries: number, now: number): boolean =>
      failure.kind === "rejected" ||
      (failure.kind === "broken" && tries >= maxTries) ||
      event.created_at + window <= now

    /** Reads the events that are still to be sent: the first time, all that are for this one. */
    const read = Effect.fnUntraced(function* (part: Outbox.Part, pending: Pending | undefined) {
      const { events, unreadable } = yield* outbox.readOf(workspaceId, part)
      if (pending !== undefined) return { events: events.filter((event) => pending.has(event.id)), unreadable: 0 }
      yield* setAside(
        destination,
        unreadable.map(({ reason, sequence }) => ({ name: `event ${sequence} of the outbox`, reason }))
      )
      const accepted = events.filter((event) => EventFilter.accepts(options, event))
      return { events: accepted, unreadable: unreadable.length }
    })

    /** Sends the events once. Returns those to send again, and how long to wait. */
    const round = Effect.fnUntraced(function* (part: Outbox.Part, pending: Pending | undefined) {
      const { events, unreadable } = yield* read(part, pending)
      const [oldest] = events
      if (pending === undefined && oldest !== undefined) {
        const isLate = oldest.created_at + waitingAfterMillis <= (yield* Clock.currentTimeMillis)
        if (isLate) yield* record(id, { dropped: 0, waitingSince: oldest.created_at })
      }
      const undelivered = events.length === 0 ? [] : yield* send(events)
      const now = yield* Clock.currentTimeMillis
      const next = new Map<string, number>()
      const dropped: Array<Sender.Undelivered> = []
      const unsendable: Array<Sender.Undelivered> = []
      for (const one of undelivered) {
        const tries = (pending?.get(one.event.id) ?? 0) + 1
        if (one.failure.kind === "unsendable") unsendable.push(one)
        else if (isGivenUp(one, tries, now)) dropped.push(one)
        else next.set(one.event.id, tries)
      }
      const accepted = events.length - undelivered.length
      yield* Metrics.broadcast(type, "delivered", accepted)
      yield* Metrics.broadcast(type, "dropped", dropped.length)
      yield* Metrics.broadcast(type, "retried", next.size)
      yield* setAside(
        destination,
        unsendable.map(({ event, failure }) => ({ name: `event ${event.id}`, reason: failure.reason }))
      )
      if (dropped.length > 0) {
        const reasons = [...new Set(undelivered.map(({ failure }) => failure.reason))].join(", ")
        yield* FailureLog.report({
          kind: `broadcast dropped\n${reasons}`,
          event: "broadcast_events_dropped",
          message: `Broadcast gave up ${dropped.length} events of a destination: ${reasons}.`,
          annotations: { destination: id }
        })
      }
      const acceptedAt = accepted > 0 ? now : undefined
      const [failed] = undelivered
      if (failed !== undefined || unreadable > 0) {
        const waiting = undelivered.flatMap(({ event }) => (next.has(event.id) ? [event.created_at] : []))
        yield* record(id, {
          acceptedAt,
          dropped: dropped.length + unsendable.length + unreadable,
          error: failed === undefined ? undefined : { message: failed.failure.reason, at: now },
          waitingSince: waiting.length === 0 ? null : Math.min(...waiting)
        })
      }
      if (accepted > 0) failures = 0
      else if (next.size > 0) failures += 1
      const requested = Math.max(0, ...undelivered.map(({ failure }) => Duration.toMillis(failure.retryAfter ?? 0)))
      return { acceptedAt, count: events.length + unreadable, next, requested }
    })

    /**
     * Sends a part until it is done with. Returns the number of events that were for this one, and
     * when it accepted one last.
     */
    return Effect.fnUntraced(function* (part: Outbox.Part) {
      const inTurn = memory.withAmount(workspaceId, part.bytes)
      let pending: Pending | undefined
      let total = 0
      while (true) {
        const { acceptedAt, count, next, requested } = yield* inTurn(round(part, pending))
        if (pending === undefined) total = count
        if (next.size === 0) return { sent: total, acceptedAt }
        pending = next
        const growing = Math.min(maxDelayMillis, firstDelayMillis * 2 ** Math.min(Math.max(failures - 1, 0), 20))
        // Jitter, so that the destinations on one host do not return to it together.
        const jittered = growing * (0.5 + (yield* Random.next) / 2)
        yield* Effect.sleep(Math.max(jittered, Math.min(maxRequestedMillis, requested)))
      }
    })
  }

  /** Serves the destination until another process does. */
  const serve = Effect.fnUntraced(function* (id: string) {
    const opened = yield* store.open(id)
    if (opened === undefined) return
    const { destination } = opened
    const sender = yield* Effect.provideService(Sender.make(client, destination), OtlpSerialization, serialization)
    const send = deliver(destination, sender)
    let sequence = opened.delivered
    /** What the database knows. Events of other workspaces are not worth a write. */
    let stored = sequence
    const position: Position = { sequence, partSince: undefined }
    positions.set(id, position)
    yield* Effect.addFinalizer(() => Effect.sync(() => positions.delete(id)))
    while (true) {
      const part = yield* outbox.next(sequence)
      if (part !== undefined) {
        position.partSince = yield* MonotonicTime.millis
        const { acceptedAt, sent } = yield* send(part).pipe(
          Effect.provideService(HostNames.Owner, destination.workspaceId)
        )
        sequence = part.through
        position.sequence = sequence
        position.partSince = undefined
        if (sent > 0 || sequence - stored >= storeEvery) {
          if (!(yield* store.advance(id, sequence, acceptedAt))) return
          stored = sequence
        }
      }
      // Requests can run between the parts of a long backlog.
      yield* part?.hasMore === true ? Effect.yieldNow : Effect.sleep(every)
    }
  }, Effect.scoped)

  yield* (yield* Scrape).register({
    name: "broadcast",
    update: Effect.gen(function* () {
      const served = [...positions.values()]
      const newest = served.length === 0 ? 0 : yield* outbox.newest
      const now = yield* MonotonicTime.millis
      yield* Metrics.broadcastBehind(
        Math.max(0, ...served.map(({ sequence }) => newest - sequence)),
        Math.max(0, ...served.map(({ partSince = now }) => now - partSince)) / 1000
      )
    })
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
              event: "broadcast_failed",
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
    Effect.catch((error) =>
      LogEvent.log("broadcast_failed", `The broadcast destinations could not be read: ${error.message}`)
    ),
    Effect.repeat(Schedule.spaced(every)),
    Effect.forkScoped
  )
})

/** Sends events in the background for as long as the layer lives. */
export const layerBackground = (
  options?: Options
): Layer.Layer<never, never, DestinationStore | Outbox.Outbox | OutboundHttp | Scrape> =>
  Layer.effectDiscard(make(options)).pipe(Layer.provide(Serialization.layerProtobuf))
