/**
 * Groups small transactions: those that arrive while another one runs share the next commit.
 *
 * On SQLite the commit is most of the cost of a small transaction, and there is only one writer.
 * Each transaction still succeeds or fails by itself: when one in a group fails, the whole group is
 * rolled back and run again with a savepoint each, so that only that one fails. This is the rarer
 * case, and savepoints are expensive. No transaction completes before the commit that contains it.
 */
import { Cause, Context, Data, Deferred, Effect, Exit, Layer, Option } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import * as Batches from "../../internal/Batches.ts"
import * as Dialect from "./Dialect.ts"

/** Runs transactions. */
export class GroupCommit extends Context.Service<
  GroupCommit,
  {
    /**
     * Runs `body` in a transaction and returns when it is committed. A failure rolls it back.
     * Inside the caller's `sql.withTransaction` it is part of that transaction.
     *
     * `body` must wait for nothing but the database, because other transactions wait with it. It
     * must only use the database (and `sql.afterCommit`), because it may be rolled back and run
     * again. It cannot be interrupted.
     */
    readonly run: <A, E>(body: Effect.Effect<A, E>) => Effect.Effect<A, E | SqlError>
    /**
     * A fixed statement that is a transaction of its own. Inside the caller's
     * `sql.withTransaction` it is part of that transaction. Parameters are written `?1`, `?2`, …
     */
    readonly prepare: (text: string) => Dialect.Prepared
  }
>()("@model-gateway/server/storage/sql/GroupCommit") {}

interface Item {
  /** Runs the body; stores and returns its result. */
  readonly attempt: Effect.Effect<Exit.Exit<unknown, unknown>>
  /** Completes the waiting caller with the result of the transaction. */
  readonly finish: (transaction: Exit.Exit<void, SqlError>) => void
}

/** Rolls back a group so that it runs again. */
class OneFailed extends Data.TaggedError("OneFailed") {}

const oneFailed = new OneFailed()

/** Limits a group, so that its first transaction does not wait for too many others. */
const atMost = 100

/** Makes a service that groups transactions. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const savepoint = Dialect.prepare(sql, "SAVEPOINT group_item")
  const rollback = Dialect.prepare(sql, "ROLLBACK TO SAVEPOINT group_item")
  const release = Dialect.prepare(sql, "RELEASE SAVEPOINT group_item")

  /** Runs the items in sequence until one fails. */
  const inOneTransaction = (items: ReadonlyArray<Item>) =>
    Effect.forEach(
      items,
      ({ attempt }) => Effect.flatMap(attempt, (exit) => (Exit.isSuccess(exit) ? Effect.void : Effect.fail(oneFailed))),
      { discard: true }
    )

  /**
   * When the disk is full or fails, SQLite rolls back the whole transaction by itself. No savepoint
   * is left then, and every item fails with the reason.
   */
  const undo = (exit: Exit.Failure<unknown, unknown>) =>
    Effect.catch(rollback(), (error) => {
      const own = Cause.findErrorOption(exit.cause)
      return Effect.fail(Option.isSome(own) && isSqlError(own.value) ? own.value : error)
    })

  /** Runs the items in sequence and rolls back those that fail. */
  const withSavepoints = (items: ReadonlyArray<Item>) =>
    Effect.forEach(
      items,
      Effect.fnUntraced(function* ({ attempt }) {
        yield* savepoint()
        const exit = yield* attempt
        if (Exit.isFailure(exit)) yield* undo(exit)
        yield* release()
      }),
      { discard: true }
    )

  const enqueue = yield* Batches.make<Item>((take) =>
    Effect.suspend(() => {
      // Taken after the transaction has started, so that it includes items that arrived while it
      // waited for another process's lock.
      let items: ReadonlyArray<Item> | undefined
      const all = Effect.suspend(() => inOneTransaction((items = take(atMost))))
      return sql.withTransaction(all).pipe(
        Effect.catchTag("OneFailed", () => sql.withTransaction(withSavepoints(items ?? []))),
        Effect.exit,
        Effect.map((exit) => {
          // If the transaction could not start, all waiting items fail, so that none waits for the
          // same lock again.
          for (const item of items ?? take(Number.POSITIVE_INFINITY)) item.finish(exit)
        })
      )
    })
  )

  const inGroup = <A, E>(body: Effect.Effect<A, E>): Effect.Effect<A, E | SqlError> =>
    Effect.suspend(() => {
      const deferred = Deferred.makeUnsafe<A, E | SqlError>()
      let result: Exit.Exit<A, E | SqlError> = Exit.failCause(Cause.empty)
      const item: Item = {
        attempt: Effect.map(Effect.exit(body), (exit) => {
          result = exit
          return exit
        }),
        finish: (transaction) => {
          Deferred.doneUnsafe(deferred, Exit.isFailure(transaction) ? Exit.failCause(transaction.cause) : result)
        }
      }
      return Effect.andThen(enqueue(item), Deferred.await(deferred))
    })

  const run = <A, E>(body: Effect.Effect<A, E>): Effect.Effect<A, E | SqlError> =>
    Effect.uninterruptible(
      Effect.withFiber((fiber) =>
        Context.getOrUndefined(fiber.context, sql.transactionService) === undefined
          ? inGroup(body)
          : sql.withTransaction(body)
      )
    )

  return GroupCommit.of({
    run,
    prepare: (text) => {
      const prepared = Dialect.prepare(sql, text)
      return (...params) => run(prepared(...params))
    }
  })
})

/** The service over the database. Groups concurrent transactions. */
export const layer: Layer.Layer<GroupCommit, never, SqlClient> = Layer.effect(GroupCommit, make)
