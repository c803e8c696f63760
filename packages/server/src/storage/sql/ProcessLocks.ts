/**
 * The locks by which processes prove that they have not ended.
 *
 * Each process holds a lock that the operating system or the database server releases when the
 * process ends in any way, also by SIGKILL. So its death shows at once, and heartbeats are needed
 * only for a process that hangs, or whose machine has vanished.
 */
import { Context, Effect, type Scope } from "effect"
import type { SqlError } from "effect/sql/SqlError"

/** The locks. */
export interface ProcessLocks {
  /**
   * The silence in milliseconds after which a process with a released lock is dead. 0 where only
   * the end of the process releases it. More where a lost connection also does.
   */
  readonly grace: number
  /**
   * Acquires this process's lock until the scope closes. If that is impossible, it warns, and
   * heartbeats alone decide about this process.
   */
  readonly acquire: (id: string) => Effect.Effect<void, never, Scope.Scope>
  /** Those of the processes whose lock is certainly not held. */
  readonly released: (ids: ReadonlyArray<string>) => Effect.Effect<ReadonlySet<string>, SqlError>
  /** Removes what the locks of other processes than these have left behind. */
  readonly removeExcept: (ids: ReadonlySet<string>) => Effect.Effect<void>
}

/** The locks of the database in the context. Default: none, so that heartbeats alone decide. */
export const ProcessLocks = Context.Reference<ProcessLocks>("@model-gateway/server/storage/sql/ProcessLocks", {
  defaultValue: () => ({
    grace: 0,
    acquire: () => Effect.void,
    released: () => Effect.succeed(new Set<string>()),
    removeExcept: () => Effect.void
  })
})
