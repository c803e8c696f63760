/**
 * Runs transactions on SQLite in groups: those that arrive while another one runs share the next
 * commit.
 *
 * A transaction is a synchronous function, and so is a group from `BEGIN` to `COMMIT`: no fiber of
 * this process runs in between. A group that meets the lock of another process has not begun, and
 * waits for the lock without blocking this process. Each transaction still succeeds or fails by
 * itself: when one in a group fails, the whole group is rolled back and run again with a savepoint
 * each, so that only that one fails. This is the rarer case, and savepoints are expensive. When the
 * disk or the commit fails, or SQLite rolls back by itself, all fail. No transaction completes
 * before the commit that contains it.
 */
import { Context, Deferred, Effect, Exit, identity, Option } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import type { DatabaseSync, SQLInputValue } from "node:sqlite"
import * as Batches from "../../internal/Batches.ts"
import type { LocalStatement, LocalValues, Transactions } from "../sql/Transactions.ts"
import { prepareStatement, type Statement } from "./prepareStatement.ts"
import { isInput, statementFailed } from "./sqliteConnection.ts"
import { isOfDisk } from "./sqliteErrors.ts"

/** The connection that writes, which one fiber uses at a time. */
export interface Writer {
  readonly database: DatabaseSync
  /**
   * Runs `use` when no one else uses the connection, and again while it meets the lock of another
   * process. If it throws and leaves a transaction open, that is rolled back. It cannot be
   * interrupted.
   */
  readonly exclusively: <A>(use: () => A) => Effect.Effect<A, SqlError>
  /** Runs a synchronous statement. A test can make it fail. */
  readonly around: <A>(text: string, statement: () => A) => A
}

/** A transaction that waits. */
interface Item {
  /** Runs the body and stores its result. Returns whether it succeeded. */
  readonly attempt: () => boolean
  /** Completes the waiting caller with the result of the transaction. */
  readonly finish: (transaction: Exit.Exit<unknown, SqlError>) => void
}

/** What the bodies of a transaction have collected for one function that writes it. */
interface Collection {
  readonly size: () => number
  /** Forgets all but the first ones. */
  readonly keep: (size: number) => void
  readonly write: () => void
}

/** Limits a group, so that its first transaction does not wait for too many others. */
const maxGroup = 100

/** A statement whose parameters are written `:name`, with numbered ones. */
const numbered = (text: string) => {
  const names = Array.from(new Set(Array.from(text.matchAll(/:([a-z_]+)/g), ([, name = ""]) => name)))
  return { names, text: text.replaceAll(/:([a-z_]+)/g, (_, name: string) => `?${names.indexOf(name) + 1}`) }
}

/** The result of a transaction. An error that is not the database's is a defect. */
const resultOf = <A, E>(body: () => Exit.Exit<A, E>): Exit.Exit<A, E | SqlError> => {
  try {
    return body()
  } catch (error) {
    return isSqlError(error) ? Exit.fail(error) : Exit.die(error)
  }
}

const sqlErrorOf = (exit: Exit.Exit<unknown, unknown>): SqlError | undefined => {
  const error = Option.getOrUndefined(Exit.findErrorOption(exit))
  return isSqlError(error) ? error : undefined
}

const notRun = Exit.die("The transaction did not run")

/** Makes the service over the client and its connection that writes. */
export const make = Effect.fnUntraced(function* (sql: SqlClient, { around, database, exclusively }: Writer) {
  /** Prepares the statement when it first runs, and keeps it. */
  const prepare = (text: string) => {
    let statement: Statement | undefined
    return <A>(use: (statement: Statement) => A): A => {
      try {
        return around(text, () => use((statement ??= prepareStatement(database, text))))
      } catch (cause) {
        throw isSqlError(cause) ? cause : statementFailed(cause)
      }
    }
  }

  const prepareNamed = (named: string): LocalStatement => {
    const { names, text } = numbered(named)
    const run = prepare(text)
    const valuesOf = (values: LocalValues) => {
      // Not `map`: V8 converts its array when a number comes before a text.
      const inputs: Array<SQLInputValue> = []
      for (const name of names) {
        const value = values[name]
        if (!isInput(value)) throw new TypeError(`:${name} has no value of a type that SQLite supports`)
        inputs.push(value)
      }
      return inputs
    }
    return {
      rows: (values) => run((statement) => statement.all(...valuesOf(values))),
      change: (values) => run((statement) => Number(statement.run(...valuesOf(values)).changes))
    }
  }

  const begin = prepareNamed("BEGIN IMMEDIATE")
  const commit = prepareNamed("COMMIT")
  const rollback = prepareNamed("ROLLBACK")
  const savepoint = prepareNamed("SAVEPOINT group_item")
  const rollbackToSavepoint = prepareNamed("ROLLBACK TO SAVEPOINT group_item")
  const release = prepareNamed("RELEASE SAVEPOINT group_item")

  const collections: Array<Collection> = []
  const forgetCollected = () => collections.forEach(({ keep }) => keep(0))
  const writeCollected = () => collections.forEach(({ write }) => write())

  const collect = <Entry>(write: (entries: ReadonlyArray<Entry>) => void) => {
    const entries: Array<Entry> = []
    collections.push({
      size: () => entries.length,
      keep: (size) => {
        entries.length = size
      },
      write: () => {
        if (entries.length > 0) write(entries)
      }
    })
    return (entry: Entry): void => {
      entries.push(entry)
    }
  }

  /** Runs the items until one fails. Returns whether all succeeded. */
  const runAll = (items: ReadonlyArray<Item>): boolean => items.every(({ attempt }) => attempt())

  /** Runs the items, and rolls back those that fail. */
  const runEach = (items: ReadonlyArray<Item>): boolean => {
    for (const { attempt } of items) {
      const sizes = collections.map(({ size }) => size())
      savepoint.change({})
      if (!attempt()) {
        rollbackToSavepoint.change({})
        collections.forEach(({ keep }, index) => keep(sizes[index] ?? 0))
      }
      release.change({})
    }
    return true
  }

  /**
   * Runs `body` in a transaction, which is committed if it returns true. Returns what it returned.
   */
  const transaction = (body: () => boolean): boolean => {
    begin.change({})
    forgetCollected()
    const isDone = body()
    if (isDone) writeCollected()
    const end = isDone ? commit : rollback
    end.change({})
    return isDone
  }

  const enqueue = yield* Batches.make<Item>((take) =>
    Effect.suspend(() => {
      // Taken after the transaction has started, so that it includes items that arrived while it
      // waited for another process's lock.
      let items: ReadonlyArray<Item> | undefined
      const group = exclusively(() => {
        const taken = () => (items ??= take(maxGroup))
        return transaction(() => runAll(taken())) || taken().length === 1 || transaction(() => runEach(taken()))
      })
      return Effect.map(Effect.exit(group), (exit) => {
        // If the transaction could not start, all waiting items fail, so that none waits for the
        // same lock again.
        for (const item of items ?? take(Number.POSITIVE_INFINITY)) item.finish(exit)
      })
    })
  )

  /** Runs a body in the transaction under way. Throws if that transaction cannot continue. */
  const attempt = <A, E>(body: () => Exit.Exit<A, E>): Exit.Exit<A, E | SqlError> => {
    const result = resultOf(body)
    const error = sqlErrorOf(result)
    if (error !== undefined && (isOfDisk(error.reason.cause) || !database.isTransaction)) throw error
    return result
  }

  /** Runs a body in a transaction of its own, in the caller's fiber. */
  const alone = <A, E>(body: () => Exit.Exit<A, E>): Effect.Effect<A, E | SqlError> =>
    Effect.flatten(
      exclusively(() => {
        let result: Exit.Exit<A, E | SqlError> = notRun
        transaction(() => Exit.isSuccess((result = attempt(body))))
        return result
      })
    )

  const inGroup = <A, E>(body: () => Exit.Exit<A, E>): Effect.Effect<A, E | SqlError> =>
    Effect.suspend(() => {
      const deferred = Deferred.makeUnsafe<A, E | SqlError>()
      let result: Exit.Exit<A, E | SqlError> = notRun
      const item: Item = {
        attempt: () => Exit.isSuccess((result = attempt(body))),
        finish: (transaction) => {
          Deferred.doneUnsafe(deferred, Exit.isSuccess(transaction) ? result : Exit.failCause(transaction.cause))
        }
      }
      return Effect.andThen(enqueue(item), Deferred.await(deferred))
    })

  /** Runs a body in the caller's transaction. */
  const inCallersTransaction = <A, E>(body: () => Exit.Exit<A, E>): Exit.Exit<A, E | SqlError> =>
    resultOf(() => {
      forgetCollected()
      const result = body()
      if (Exit.isSuccess(result)) writeCollected()
      return result
    })

  const run = <A, E>(
    body: () => Exit.Exit<A, E>,
    isAlone: boolean,
    inCallers: (inner: Effect.Effect<A, E | SqlError>) => Effect.Effect<A, E | SqlError>
  ): Effect.Effect<A, E | SqlError> =>
    Effect.withFiber((fiber) => {
      const hasTransaction = Context.getOrUndefined(fiber.context, sql.transactionService) !== undefined
      if (isAlone && !hasTransaction) return alone(body)
      return Effect.uninterruptible(
        hasTransaction ? inCallers(Effect.suspend(() => inCallersTransaction(body))) : inGroup(body)
      )
    })

  const service: Transactions["Service"] = {
    run: (body) => Effect.uninterruptible(sql.withTransaction(body)),
    prepare: (text) => {
      const statement = prepare(text)
      // A statement that fails in the caller's transaction leaves nothing to roll back.
      return (...params) => run(() => Exit.succeed(statement((prepared) => prepared.all(...params))), false, identity)
    },
    local: {
      run: (body, isAlone = false) => run(body, isAlone, sql.withTransaction),
      prepare: prepareNamed,
      collect
    }
  }
  return service
})
