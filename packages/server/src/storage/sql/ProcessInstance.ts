/**
 * Registers this process in the database: an id, a lock and a heartbeat that show other processes
 * that it is alive.
 *
 * What a process owns during a request (a reservation, an idempotency key) carries its id. When the
 * process is dead, other processes may take that over or release it. A process is dead
 *
 * - when its row is gone, because it has deregistered;
 * - when its lock is released ({@link ProcessLocks}) and its heartbeat has been silent for the
 *   locks' grace: at once on SQLite, after 3 seconds on Postgres;
 * - when its heartbeat has been silent for the stale time: it hangs, or its machine has vanished.
 *
 * A process that counts as dead may only be slow, suspended or cut off. What it writes later must
 * therefore check that it still owns what it writes.
 *
 * Processes never compare their clocks, because system clocks differ and jump. Each process counts
 * its own heartbeats: another process is silent for as many of them as its heartbeat did not
 * change. So a process is never considered dead because this one was suspended, or because no
 * process could write.
 */
import { Clock, Context, Duration, Effect, Layer, Schedule, Schema } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { SqlClient } from "effect/sql/SqlClient"
import type { Row } from "effect/sql/SqlConnection"
import * as Dialect from "./Dialect.ts"
import * as Page from "./Page.ts"
import { ProcessLocks } from "./ProcessLocks.ts"
import { mapSqlError, type StorageError } from "./StorageError.ts"
import * as LogEvent from "../../log/LogEvent.ts"

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
    /** Sets what the heartbeats of this process say of it, for {@link list}. */
    readonly describe: (description: Description) => Effect.Effect<void>
    /** The processes in {@link alive} that have described themselves, the oldest one first. */
    readonly list: Effect.Effect<ReadonlyArray<Described>, StorageError>
    /** Deletes the rows of processes that have been dead for ten times the stale time. */
    readonly prune: Effect.Effect<void, StorageError>
  }
>()("@model-gateway/server/storage/sql/ProcessInstance") {}

/** The state of a process and of its parts. */
export const State = Schema.Struct({
  status: Schema.Literals(["ready", "degraded", "unavailable"]),
  parts: Schema.Record(
    Schema.String,
    Schema.Struct({
      status: Schema.Literals(["ready", "degraded", "unavailable"]),
      message: Schema.optionalKey(Schema.String)
    })
  )
})

/** What a process says of itself. */
export const Description = Schema.Struct({
  /** The version of its program. Null: unknown. */
  version: Schema.NullOr(Schema.String),
  /** Its number among the workers of a service. Null: there is one process. */
  worker: Schema.NullOr(Schema.Int),
  /** When the state was found, in epoch milliseconds. */
  checkedAt: Schema.Int,
  state: State
})

/** What a process says of itself. */
export type Description = typeof Description.Type

/** A process that has described itself. Times are epoch milliseconds of its own clock. */
export interface Described extends Description {
  readonly id: string
  readonly startedAt: number
  readonly heartbeatAt: number
}

const DescriptionJson = Schema.fromJsonString(Description)
const encodeDescription = Schema.encodeEffect(DescriptionJson)
const decodeDescription = Schema.decodeUnknownSync(DescriptionJson)

const described = (row: Row): Described => ({
  ...decodeDescription(Dialect.text(row, "description")),
  id: Dialect.text(row, "id"),
  startedAt: Dialect.int(row, "started_at"),
  heartbeatAt: Dialect.int(row, "heartbeat_at")
})

/** The heartbeat interval, and the silence after which a process is dead. */
export interface Options {
  /** Default: 1 second. */
  readonly heartbeatEvery?: Duration.Input | undefined
  /**
   * Default: 7 seconds. Together with the heartbeat interval it is how long a retry of a request
   * waits whose process has vanished, which is at most 10 seconds.
   */
  readonly staleAfter?: Duration.Input | undefined
}

/** The last heartbeat seen from another process. */
interface Seen {
  heartbeat: number
  /** Heartbeats of this process since then. */
  silentFor: number
  /** Whether its lock was released. */
  isReleased: boolean
}

/** Whether an expression has the id of a process that has not ended, or has died just now. */
export const isRegistered = (id: string): string => `EXISTS (SELECT 1 FROM processes p WHERE p.id = ${id})`

/** Registers this process and sends heartbeats until the scope closes, then deletes its row. */
export const make = Effect.fnUntraced(function* (options?: Options) {
  const sql = yield* SqlClient
  const random = yield* SecureRandom
  const id = `proc_${yield* random.uuidV7()}`
  const locks = yield* ProcessLocks
  const heartbeatEvery = Duration.fromInputUnsafe(options?.heartbeatEvery ?? "1 second")
  const staleAfter = Duration.fromInputUnsafe(options?.staleAfter ?? "7 seconds")
  const beatsIn = (millis: number) => Math.ceil(millis / Duration.toMillis(heartbeatEvery))
  const stale = Math.max(1, beatsIn(Duration.toMillis(staleAfter)))
  const grace = beatsIn(locks.grace)
  const seen = new Map<string, Seen>()
  const startedAt = yield* Clock.currentTimeMillis
  let last = 0
  let description: Description | undefined
  let encoded: string | null = null

  const beat = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    // The value changes with every heartbeat, even when the system clock is set back.
    last = Math.max(now, last + 1)
    // An upsert, because another process may have deleted the row while this one was suspended.
    return sql`INSERT INTO processes (id, started_at, heartbeat_at, description)
      VALUES (${id}, ${startedAt}, ${last}, ${encoded})
      ON CONFLICT (id) DO UPDATE SET heartbeat_at = excluded.heartbeat_at, description = excluded.description`
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
      else seen.set(other, { heartbeat, silentFor: 0, isReleased: false })
    }
    for (const other of seen.keys()) if (!present.has(other)) seen.delete(other)
    if (seen.size === 0) return
    const released = yield* locks.released(Array.from(seen.keys()))
    for (const [other, state] of seen) state.isReleased = released.has(other)
  })

  // Before the row is there, so that nobody finds this process without its lock.
  yield* locks.acquire(id)
  yield* Effect.acquireRelease(Effect.andThen(beat, observe(0)).pipe(mapSqlError("ProcessInstance.register")), () =>
    Effect.ignore(sql`DELETE FROM processes WHERE id = ${id}`)
  )
  yield* Effect.andThen(beat, observe(1)).pipe(
    mapSqlError("ProcessInstance.beat"),
    Effect.catch((error) => LogEvent.log("heartbeat_failed", `The heartbeat could not be written: ${error.message}`)),
    Effect.repeat(Schedule.spaced(heartbeatEvery)),
    Effect.delay(heartbeatEvery),
    Effect.forkScoped
  )

  const isDead = ({ isReleased, silentFor }: Seen) => silentFor >= stale || (isReleased && silentFor >= grace)

  const alive = Effect.map(
    observe(0),
    (): ReadonlySet<string> =>
      new Set([id, ...Array.from(seen).flatMap(([other, state]) => (isDead(state) ? [] : [other]))])
  ).pipe(mapSqlError("ProcessInstance.alive"))

  const list = Effect.gen(function* () {
    const ids = yield* alive
    const rows = yield* sql`SELECT * FROM processes WHERE description IS NOT NULL AND id <> ${id}`
    const others = (yield* Page.itemsOf(rows, described)).filter((process) => ids.has(process.id))
    const all = description === undefined ? others : [...others, { ...description, id, startedAt, heartbeatAt: last }]
    return all.toSorted((one, other) => one.startedAt - other.startedAt)
  }).pipe(mapSqlError("ProcessInstance.list"))

  return ProcessInstance.of({
    id,
    alive,
    describe: (given) =>
      Effect.map(Effect.orDie(encodeDescription(given)), (text) => {
        description = given
        encoded = text
      }),
    list,
    isAlive: (other) => (other === id ? Effect.succeed(true) : Effect.map(alive, (ids) => ids.has(other))),
    prune: Effect.suspend(() =>
      Effect.forEach(
        Array.from(seen).filter(([, { silentFor }]) => silentFor >= 10 * stale),
        ([other, { heartbeat }]) => sql`DELETE FROM processes WHERE id = ${other} AND heartbeat_at = ${heartbeat}`,
        { discard: true }
      )
    ).pipe(
      Effect.andThen(Effect.suspend(() => locks.removeExcept(new Set([id, ...seen.keys()])))),
      mapSqlError("ProcessInstance.prune")
    )
  })
})

/** This process, registered while the layer lives. */
export const layerSql = (options?: Options): Layer.Layer<ProcessInstance, StorageError, SqlClient | SecureRandom> =>
  Layer.effect(ProcessInstance, make(options))
