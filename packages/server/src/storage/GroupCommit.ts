/**
 * Many small transactions in one: those that come while another is running share the next commit.
 *
 * On SQLite the commit is most of what a small transaction costs, and there is one writer anyway.
 * Each transaction still succeeds or fails by itself: when one of a group fails, the whole group is
 * undone and run again with a savepoint for each, and only that one fails. Failures are rare, and
 * savepoints are expensive. Nobody is answered before the commit that holds its writes.
 */
import { Cause, Context, Data, Deferred, Effect, Exit, Layer, Option } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import { ParentSpan } from "effect/Tracer"
import * as Dialect from "./Dialect.ts"

/** Runs transactions. */
export class GroupCommit extends Context.Service<
  GroupCommit,
  {
    /**
     * Runs `body` in a transaction and answers once it is committed; a failure undoes what it
     * wrote. Inside a `sql.withTransaction` of the caller it is part of that one.
     *
     * `body` must wait for nothing but the database, because others wait with it. It must do
     * nothing but use the database (and `sql.afterCommit`), because it may be undone and run again.
     * It cannot be interrupted.
     */
    readonly run: <A, E>(body: Effect.Effect<A, E>) => Effect.Effect<A, E | SqlError>
  }
>()("@model-gateway/server/storage/GroupCommit") {}

interface Item {
  /** Runs the body; keeps and answers how it ended. */
  readonly attempt: Effect.Effect<Exit.Exit<unknown, unknown>>
  /** Tells the one who waits how the transaction ended. */
  readonly finish: (transaction: Exit.Exit<void, SqlError>) => void
}

/** Undoes a group, to be run again. */
class OneFailed extends Data.TaggedError("OneFailed") {}

const oneFailed = new OneFailed()

/** So that one long group does not make the first of it wait for the last of many. */
const atMost = 100

/** Makes a service that groups. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const scope = yield* Effect.scope
  const savepoint = Dialect.prepare(sql, "SAVEPOINT group_item")
  const rollback = Dialect.prepare(sql, "ROLLBACK TO SAVEPOINT group_item")
  const release = Dialect.prepare(sql, "RELEASE SAVEPOINT group_item")

  let waiting: Array<Item> = []
  let running = false

  /** One after the other, until one fails. */
  const inOneTransaction = (items: ReadonlyArray<Item>) =>
    Effect.forEach(
      items,
      ({ attempt }) => Effect.flatMap(attempt, (exit) => (Exit.isSuccess(exit) ? Effect.void : Effect.fail(oneFailed))),
      { discard: true }
    )

  /**
   * Where the disk is full or breaks, SQLite ends the whole transaction by itself. Then there is
   * nothing to go back to, and all are told why.
   */
  const undo = (exit: Exit.Failure<unknown, unknown>) =>
    Effect.catch(rollback(), (error) => {
      const own = Cause.findErrorOption(exit.cause)
      return Effect.fail(Option.isSome(own) && isSqlError(own.value) ? own.value : error)
    })

  /** One after the other, undoing those that fail. */
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

  const take = (most: number): ReadonlyArray<Item> => {
    const items = waiting.slice(0, most)
    waiting = waiting.slice(most)
    return items
  }

  const group = Effect.suspend(() => {
    // Taken when the transaction has begun: whoever came while it waited for another process's lock
    // is part of it.
    let items: ReadonlyArray<Item> | undefined
    const all = Effect.suspend(() => inOneTransaction((items = take(atMost))))
    return sql.withTransaction(all).pipe(
      Effect.catchTag("OneFailed", () => sql.withTransaction(withSavepoints(items ?? []))),
      Effect.exit,
      Effect.map((exit) => {
        // Where it could not begin, nobody who waits is kept waiting for the same lock once more.
        for (const item of items ?? take(waiting.length)) item.finish(exit)
      })
    )
  })

  const worker = Effect.gen(function* () {
    while (waiting.length > 0) yield* group
  }).pipe(
    Effect.ensuring(
      Effect.sync(() => {
        running = false
      })
    ),
    // A group belongs to many requests, so to the trace of none.
    Effect.updateContext((context: Context.Context<never>) => Context.omit(ParentSpan)(context)),
    Effect.uninterruptible
  )

  const enqueue = <A, E>(body: Effect.Effect<A, E>): Effect.Effect<A, E | SqlError> =>
    Effect.suspend(() => {
      const deferred = Deferred.makeUnsafe<A, E | SqlError>()
      let result: Exit.Exit<A, E | SqlError> = Exit.failCause(Cause.empty)
      waiting.push({
        attempt: Effect.map(Effect.exit(body), (exit) => {
          result = exit
          return exit
        }),
        finish: (transaction) => {
          Deferred.doneUnsafe(deferred, Exit.isFailure(transaction) ? Exit.failCause(transaction.cause) : result)
        }
      })
      const wait = Deferred.await(deferred)
      if (running) return wait
      running = true
      // The worker starts after the fibers that are ready to run now, so that what they write is in
      // its first group.
      return Effect.andThen(Effect.forkIn(worker, scope), wait)
    })

  return GroupCommit.of({
    run: (body) =>
      Effect.uninterruptible(
        Effect.withFiber((fiber) =>
          Context.getOrUndefined(fiber.context, sql.transactionService) === undefined
            ? enqueue(body)
            : sql.withTransaction(body)
        )
      )
  })
})

/** Groups what is written at the same time. */
export const layer: Layer.Layer<GroupCommit, never, SqlClient> = Layer.effect(GroupCommit, make)
