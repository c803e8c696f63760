/** What the migrations do only on SQLite: nothing, because its write transaction is the lock. */
import { Effect } from "effect"

export const lock = Effect.void

export const stopWriters = (_tables: ReadonlyArray<string>) => Effect.void

export const finish = (_tables: ReadonlyArray<string>) => Effect.void
