/**
 * This process as the database knows it: an id, and a heartbeat that tells the other processes that it lives.
 *
 * What a process holds for the length of a request (money, an idempotency key) carries its id; when the heartbeat stops, others may take or
 * free it.
 */
import { Clock, Context, Duration, Effect, Layer, Schedule } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { SqlClient } from "effect/sql/SqlClient"
import * as Dialect from "./Dialect.ts"
import { refine, type StorageError } from "./StorageError.ts"

/** A registered process. */
export class ProcessInstance extends Context.Service<
  ProcessInstance,
  {
    /** Unlike that of any other process, past or present. */
    readonly id: string
    /** The ids of the processes whose heartbeat is fresh; this one is always among them. */
    readonly alive: Effect.Effect<ReadonlySet<string>, StorageError>
    /** Whether the process of that id lives: it is this one, or its heartbeat is fresh. */
    readonly isAlive: (id: string) => Effect.Effect<boolean, StorageError>
    /** Forgets processes whose heartbeat stopped an hour ago and more. */
    readonly prune: Effect.Effect<void, StorageError>
  }
>()("@model-gateway/server/storage/ProcessInstance") {}

/** How often a process says that it lives, and after how long a silence it is held dead. */
export interface Options {
  /** Default 5 seconds. */
  readonly heartbeatEvery?: Duration.Input | undefined
  /** Default 30 seconds; long enough that a stalled disk or a clock apart by seconds does not kill the living. */
  readonly staleAfter?: Duration.Input | undefined
}

const hour = 3_600_000

/** Registers this process, beats until the scope closes, then signs off. */
export const make = Effect.fnUntraced(function* (options?: Options) {
  const sql = yield* SqlClient
  const random = yield* SecureRandom
  const id = `proc_${yield* random.uuidV7()}`
  const heartbeatEvery = Duration.fromInputUnsafe(options?.heartbeatEvery ?? "5 seconds")
  const staleAfter = Duration.toMillis(Duration.fromInputUnsafe(options?.staleAfter ?? "30 seconds"))

  const beat = Effect.flatMap(
    Clock.currentTimeMillis,
    // An upsert, because another process may have pruned us while this one was suspended.
    (now) => sql`INSERT INTO processes (id, started_at, heartbeat_at) VALUES (${id}, ${now}, ${now})
      ON CONFLICT (id) DO UPDATE SET heartbeat_at = excluded.heartbeat_at`
  )

  yield* Effect.acquireRelease(beat.pipe(refine("ProcessInstance.register")), () =>
    Effect.ignore(sql`DELETE FROM processes WHERE id = ${id}`)
  )
  yield* beat.pipe(
    Effect.catch((error) => Effect.logWarning("The heartbeat could not be written", error.reason._tag)),
    Effect.repeat(Schedule.spaced(heartbeatEvery)),
    Effect.delay(heartbeatEvery),
    Effect.forkScoped
  )

  const alive = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const rows = yield* sql`SELECT id FROM processes WHERE heartbeat_at >= ${now - staleAfter}`
    return new Set([id, ...rows.map((row) => Dialect.text(row, "id"))])
  }).pipe(refine("ProcessInstance.alive"))

  return ProcessInstance.of({
    id,
    alive,
    isAlive: (other) => (other === id ? Effect.succeed(true) : Effect.map(alive, (ids) => ids.has(other))),
    prune: Effect.flatMap(
      Clock.currentTimeMillis,
      (now) => sql`DELETE FROM processes WHERE heartbeat_at < ${now - hour}`
    ).pipe(Effect.asVoid, refine("ProcessInstance.prune"))
  })
})

/** This process, registered for as long as the layer lives. */
export const layerSql = (options?: Options): Layer.Layer<ProcessInstance, StorageError, SqlClient | SecureRandom> =>
  Layer.effect(ProcessInstance, make(options))
