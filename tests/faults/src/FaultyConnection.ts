/**
 * A connection whose statements can fail: on SQLite as they do when the disk fails or is full, on
 * Postgres as they do when the connection is lost.
 */
import { Effect, Stream } from "effect"
import type { Connection } from "effect/sql/SqlConnection"
import type { SqlError } from "effect/sql/SqlError"
import * as SqliteConnection from "../../../packages/server/src/storage/sqlite/sqliteConnection.ts"
import type { Store } from "./Plan.ts"
import type { Process, World } from "./World.ts"

/** SQLite's codes for a disk that fails and for a full one. */
const codes = [10, 13] as const

const diskFailure = (code: number): SqlError =>
  SqliteConnection.sqlError(
    Object.assign(new Error(code === 13 ? "database or disk is full" : "disk I/O error"), { errcode: code }),
    "Failed to execute statement",
    "execute"
  )

/** The database's own clock does not follow the simulation's. */
const withTime = (text: string, millis: number): string => {
  if (/^\s*(CREATE|ALTER)/i.test(text)) return text
  const time = new Date(millis).toISOString()
  return text
    .replaceAll("CURRENT_TIMESTAMP", `'${time.slice(0, 19).replace("T", " ")}'`)
    .replaceAll(/\bNOW\(\)|\bclock_timestamp\(\)/g, `'${time}'::timestamptz`)
}

const shortened = (text: string): string => text.replaceAll(/\s+/g, " ").trim().slice(0, 60)

/** A rollback does not fail: it needs no disk. */
const isRollback = (text: string): boolean => /^\s*ROLLBACK/i.test(text)

const pointOf = (text: string) => (/^\s*COMMIT/i.test(text) ? "commit" : "statement")

/**
 * Wraps the connections of a process, and its statements that run at once. `changed` is called
 * after each commit, with the statements that it contains.
 */
export const make = (
  world: World,
  process: Process,
  store: Store,
  changed: (statements: ReadonlyArray<string>) => void
) => {
  const dice = world.dice(`connection of ${process.name}`)
  /** The transaction of the connection that writes, in which statements run at once. */
  let writer: { readonly happened: (text: string) => void; readonly rollsBack: Effect.Effect<void> } | undefined

  const wrap = (connection: Connection): Connection => {
    let transaction: Array<string> | undefined

    const rollsBack = Effect.suspend(() => {
      // On some failures SQLite rolls back the whole transaction by itself, on others it does not.
      if (transaction === undefined || dice.chance(0.5)) return Effect.void
      return Effect.ignore(connection.executeUnprepared("ROLLBACK", [], undefined))
    })

    const failure: Effect.Effect<never, SqlError> =
      store === "sqlite"
        ? Effect.suspend(() => Effect.andThen(rollsBack, Effect.fail(diskFailure(dice.pick(codes)))))
        : // Fails, because it ends the connection.
          Effect.flatMap(
            connection.executeUnprepared("SELECT pg_terminate_backend(pg_backend_pid())", [], undefined),
            () => Effect.die(new Error("the connection was not lost"))
          )

    const happened = (text: string) => {
      if (/^\s*BEGIN/i.test(text)) transaction = []
      else if (/^\s*ROLLBACK\s*$/i.test(text)) transaction = undefined
      else if (/^\s*COMMIT/i.test(text)) {
        const statements = transaction ?? []
        transaction = undefined
        changed(statements)
      } else if (transaction !== undefined) transaction.push(text)
      else if (!/^\s*SELECT/i.test(text)) changed([text])
    }
    // The connection that writes is wrapped last.
    writer = { happened, rollsBack }

    const around = <A>(text: string, statement: Effect.Effect<A, SqlError>): Effect.Effect<A, SqlError> =>
      Effect.suspend(() => {
        // Without this no other fiber would run between two statements.
        const waits = dice.chance(0.2) ? dice.int(1, 4) : 0
        const run = Effect.tap(statement, () => Effect.sync(() => happened(text)))
        if (isRollback(text)) return world.at(process, "statement", "ROLLBACK", run, run)
        const done = world.at(process, pointOf(text), shortened(text), run, failure)
        return waits === 0 ? done : Effect.andThen(Effect.repeat(Effect.yieldNow, { times: waits }), done)
      })

    /** A text with a time is different each time, so it is not prepared. */
    const execute: Connection["execute"] = (text, params, transform) =>
      Effect.suspend(() => {
        const timed = withTime(text, world.simulation.now())
        return timed === text
          ? connection.execute(text, params, transform)
          : connection.executeUnprepared(timed, params, transform)
      })

    return {
      execute: (text, params, transform) => around(text, execute(text, params, transform)),
      executeRaw: (text, params) => around(text, connection.executeRaw(text, params)),
      executeStream: (text, params, transform) =>
        Stream.unwrap(
          Effect.map(around(text, connection.execute(text, params, transform)), (rows) => Stream.fromIterable(rows))
        ),
      executeValues: (text, params) => around(text, connection.executeValues(text, params)),
      executeValuesUnprepared: (text, params) => around(text, connection.executeValuesUnprepared(text, params)),
      executeUnprepared: (text, params, transform) =>
        around(text, connection.executeUnprepared(text, params, transform))
    }
  }

  const wrapLocal = <A>(text: string, statement: () => A): A => {
    const run = () => {
      const result = statement()
      writer?.happened(text)
      return result
    }
    const failure = () => {
      if (writer !== undefined) Effect.runSync(writer.rollsBack)
      return diskFailure(dice.pick(codes))
    }
    return isRollback(text) ? run() : world.atOnce(process, pointOf(text), shortened(text), run, failure)
  }

  return { wrap, wrapLocal }
}
