/**
 * The queue that wakes video jobs. A message says which job to advance, and at which step.
 *
 * Messages are stored in the same database as the jobs, so an offer inside a transaction commits or
 * rolls back with it. Delivery is at least once: if a process dies, its message is delivered again
 * after {@link lockExpiration}. A worker compares the message's step with the row's and drops the
 * message if the job has moved on.
 */
import { Context, Duration, Effect, Layer, Schedule, Schema } from "effect"
import * as PersistedQueue from "effect/persistence/PersistedQueue"
import { SqlClient } from "effect/sql/SqlClient"
import { mapSqlError, StorageError } from "../storage/sql/StorageError.ts"

/** A wake-up. */
export const Message = Schema.Struct({
  job_id: Schema.String,
  /** The job's step when the message was offered. */
  step: Schema.Int,
  /** Consecutive failures of the upstream before the message was offered. */
  failures: Schema.Int
})

/** A wake-up. */
export type Message = typeof Message.Type

/** The queue. */
export class VideoQueue extends Context.Service<
  VideoQueue,
  {
    /**
     * Offers a message for delivery after `delay` (default: immediately; rounded up to whole
     * seconds).
     */
    readonly offer: (message: Message, delay?: Duration.Duration) => Effect.Effect<void, StorageError>
    /**
     * Waits for a message and handles it. If `handle` fails, the message is delivered again with a
     * growing delay. `deliveries` counts from 1, including those that ended in a crash.
     */
    readonly take: <E, R>(
      handle: (message: Message, deliveries: number) => Effect.Effect<void, E, R>
    ) => Effect.Effect<void, E | StorageError, R>
  }
>()("@model-gateway/server/video/VideoQueue") {}

/** How long after a process died its messages are delivered again. */
export const lockExpiration = Duration.seconds(10)

const unavailable = (operation: string) => (cause: unknown) =>
  new StorageError({
    operation,
    message: "The video queue failed.",
    retryable: true,
    cause
  })

/** Makes the queue over any store of queues. */
export const make = Effect.gen(function* () {
  const queue = yield* PersistedQueue.make({
    name: "video_jobs",
    schema: Message,
    // The worker counts deliveries itself. Giving up here would leave the job open forever.
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

/** The queue over any store of queues. */
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
  }).pipe(mapSqlError("VideoQueue.open"))
)

/** The queue in the database. Handled messages are deleted after an hour. */
export const layerSql: Layer.Layer<VideoQueue, StorageError, SqlClient> = Layer.merge(
  layer.pipe(Layer.provide(PersistedQueue.layer)),
  PersistedQueue.layerCleanup({ interval: "10 minutes", timeToLive: "1 hour", failedTimeToLive: "7 days" })
).pipe(Layer.provide(layerStore))

/**
 * The queue in memory, for tests. As in the database, an offer inside a transaction takes effect
 * when it commits.
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
