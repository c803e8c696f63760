/**
 * Registers this process in the database: an id, and a heartbeat that shows other processes that it
 * is alive.
 *
 * What a process holds during a request (a reservation, an idempotency key) carries its id. When
 * the heartbeat stops, other processes may take it over or release it.
 *
 * Processes never compare their clocks, because system clocks differ and jump. Each process counts
 * its own heartbeats: another process is dead if its heartbeat did not change for as many of them
 * as fill the stale time, or if its row is gone. So a process is never considered dead because this
 * one was suspended, or because no process could write.
 */
import { Clock, Context, Duration, Effect, Layer, Schedule } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { SqlClient } from "effect/sql/SqlClient"
import * as Dialect from "./Dialect.ts"
import { mapSqlError, type StorageError } from "./StorageError.ts"

/** A registered process. */
export class ProcessInstance extends Context.Service<
  ProcessInstance,
  {
    /** Unique among all processes, past and present. */
    readonly id: string
    /** The ids of all processes that are not known to be dead, including this one. */
    readonly alive: Effect.Effect<ReadonlySet<string>, StorageError>
    /** Whether the process with this id is in {@link alive}. */
    readonly isAlive: (id: string) => Effect.Effect<boolean, StorageError>
    /** Deletes the rows of processes that have been dead for ten times the stale time. */
    readonly prune: Effect.Effect<void, StorageError>
  }
>()("@model-gateway/server/storage/sql/ProcessInstance") {}

/** The heartbeat interval, and the silence after which a process is dead. */
export interface Options {
  /** Default: 5 seconds. */
  readonly heartbeatEvery?: Duration.Input | undefined
  /** Default: 30 seconds, so that a stalled disk does not make a live process count as dead. */
  readonly staleAfter?: Duration.Input | undefined
}

/** The last heartbeat seen from another process. */
interface Seen {
  heartbeat: number
  /** Heartbeats of this process since then. */
  silentFor: number
}

/** Registers this process and sends heartbeats until the scope closes, then deletes its row. */
export const make = Effect.fnUntraced(function* (options?: Options) {
  const sql = yield* SqlClient
  const random = yield* SecureRandom
  const id = `proc_${yield* random.uuidV7()}`
  const heartbeatEvery = Duration.fromInputUnsafe(options?.heartbeatEvery ?? "5 seconds")
  const staleAfter = Duration.fromInputUnsafe(options?.staleAfter ?? "30 seconds")
  const stale = Math.max(1, Math.ceil(Duration.toMillis(staleAfter) / Duration.toMillis(heartbeatEvery)))
  const seen = new Map<string, Seen>()
  let last = 0

  const beat = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    // The value changes with every heartbeat, even when the system clock is set back.
    last = Math.max(now, last + 1)
    // An upsert, because another process may have deleted the row while this one was suspended.
    return sql`INSERT INTO processes (id, started_at, heartbeat_at) VALUES (${id}, ${now}, ${last})
      ON CONFLICT (id) DO UPDATE SET heartbeat_at = excluded.heartbeat_at`
  })

  /** Reads the heartbeats of the other processes, `beats` heartbeats after the previous read. */
  const observe = Effect.fnUntraced(function* (beats: number) {
    const rows = yield* sql`SELECT id, heartbeat_at FROM processes WHERE id <> ${id}`
    const present = new Set<string>()
    for (const row of rows) {
      const other = Dialect.text(row, "id")
      const heartbeat = Dialect.int(row, "heartbeat_at")
      const known = seen.get(other)
      present.add(other)
      if (known?.heartbeat === heartbeat) known.silentFor += beats
      else seen.set(other, { heartbeat, silentFor: 0 })
    }
    for (const other of seen.keys()) if (!present.has(other)) seen.delete(other)
  })

  yield* Effect.acquireRelease(Effect.andThen(beat, observe(0)).pipe(mapSqlError("ProcessInstance.register")), () =>
    Effect.ignore(sql`DELETE FROM processes WHERE id = ${id}`)
  )
  yield* Effect.andThen(beat, observe(1)).pipe(
    mapSqlError("ProcessInstance.beat"),
    Effect.catch((error) => Effect.logWarning("The heartbeat could not be written", error.message)),
    Effect.repeat(Schedule.spaced(heartbeatEvery)),
    Effect.delay(heartbeatEvery),
    Effect.forkScoped
  )

  const silent = (beats: number) => Array.from(seen).filter(([, { silentFor }]) => silentFor >= beats)

  const alive = Effect.map(observe(0), (): ReadonlySet<string> => {
    const dead = new Set(silent(stale).map(([other]) => other))
    return new Set([id, ...Array.from(seen.keys()).filter((other) => !dead.has(other))])
  }).pipe(mapSqlError("ProcessInstance.alive"))

  return ProcessInstance.of({
    id,
    alive,
    isAlive: (other) => (other === id ? Effect.succeed(true) : Effect.map(alive, (ids) => ids.has(other))),
    prune: Effect.suspend(() =>
      Effect.forEach(
        silent(10 * stale),
        ([other, { heartbeat }]) => sql`DELETE FROM processes WHERE id = ${other} AND heartbeat_at = ${heartbeat}`,
        { discard: true }
      )
    ).pipe(mapSqlError("ProcessInstance.prune"))
  })
})

/** This process, registered while the layer lives. */
export const layerSql = (options?: Options): Layer.Layer<ProcessInstance, StorageError, SqlClient | SecureRandom> =>
  Layer.effect(ProcessInstance, make(options))
