/**
 * What wakes video jobs: messages that say "job so-and-so, at step so-and-so, wants to be moved
 * on".
 *
 * Messages lie in the same database as the jobs, so one that is offered inside a transaction stands
 * or falls with it. Delivery is at least once: a message whose process died comes again after
 * {@link lockExpiration}. Whoever takes one compares its step with the row's and drops it when the
 * job has moved on.
 */
import { Context, Duration, Effect, Layer, Schedule, Schema } from "effect"
import * as PersistedQueue from "effect/persistence/PersistedQueue"
import { SqlClient } from "effect/sql/SqlClient"
import { refine, StorageError } from "../storage/StorageError.ts"

/** A wake-up. */
export const Message = Schema.Struct({
  job_id: Schema.String,
  /** The job's step when this was offered. */
  step: Schema.Int,
  /** How often in a row the upstream failed to answer before this was offered. */
  failures: Schema.Int
})

/** A wake-up. */
export type Message = typeof Message.Type

/** The queue. */
export class VideoQueue extends Context.Service<
  VideoQueue,
  {
    /**
     * Offers a message, to be delivered after `delay` (default: at once; whole seconds, rounded
     * up).
     */
    readonly offer: (message: Message, delay?: Duration.Duration) => Effect.Effect<void, StorageError>
    /**
     * Waits for a message and handles it. When `handle` fails the message comes again, later and
     * later. `attempts` counts deliveries from 1, those that ended in a crash included.
     */
    readonly take: <E, R>(
      handle: (message: Message, attempts: number) => Effect.Effect<void, E, R>
    ) => Effect.Effect<void, E | StorageError, R>
  }
>()("@model-gateway/server/video/VideoQueue") {}

/** How long after a process died its messages are delivered again. */
export const lockExpiration = Duration.seconds(10)

const unavailable = (operation: string) => (cause: unknown) =>
  new StorageError({
    operation,
    message: "The queue of video jobs did not answer as expected.",
    retryable: true,
    cause
  })

/** On whatever store of queues is provided. */
export const make = Effect.gen(function* () {
  const queue = yield* PersistedQueue.make({
    name: "video_jobs",
    schema: Message,
    // Whoever handles a message counts for itself: here, giving up would leave the job open for
    // ever.
    maxAttempts: 1_000_000,
    retrySchedule: Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("30 seconds")])
  })
  return VideoQueue.of({
    offer: (message, delay) =>
      queue
        .offer(message, { id: `${message.job_id}:${message.step}`, delay })
        .pipe(
          Effect.catchTag("SchemaError", Effect.die),
          Effect.mapError(unavailable("VideoQueue.offer")),
          Effect.asVoid
        ),
    take: (handle) =>
      queue
        .take((message, { attempts }) => handle(message, attempts))
        .pipe(
          Effect.catchIf(
            (error) => error instanceof PersistedQueue.PersistedQueueError,
            (error) => Effect.fail(unavailable("VideoQueue.take")(error))
          )
        )
  })
})

/** On whatever store of queues is provided. */
export const layer: Layer.Layer<VideoQueue, never, PersistedQueue.PersistedQueueFactory> = Layer.effect(
  VideoQueue,
  make
)

const layerStore = Layer.effect(
  PersistedQueue.PersistedQueueStore,
  PersistedQueue.makeStoreSql({
    pollInterval: "250 millis",
    lockExpiration,
    lockRefreshInterval: "3 seconds"
  }).pipe(refine("VideoQueue.open"))
)

/** In the database of the service. Handled messages are forgotten after an hour. */
export const layerSql: Layer.Layer<VideoQueue, StorageError, SqlClient> = Layer.merge(
  layer.pipe(Layer.provide(PersistedQueue.layer)),
  PersistedQueue.layerCleanup({ interval: "10 minutes", timeToLive: "1 hour", failedTimeToLive: "7 days" })
).pipe(Layer.provide(layerStore))

/**
 * In memory, for tests of what the queue wakes. As in the database, an offer inside a transaction
 * counts once it commits.
 */
export const layerMemory: Layer.Layer<VideoQueue, never, SqlClient> = Layer.effect(
  VideoQueue,
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const queue = yield* make
    return VideoQueue.of({
      take: queue.take,
      offer: (message, delay) => sql.afterCommit(Effect.orDie(queue.offer(message, delay)))
    })
  })
).pipe(Layer.provide(PersistedQueue.layer), Layer.provide(PersistedQueue.layerStoreMemory))
