/**
 * Runs items in batches, one batch at a time: those that arrive while a batch is under way go
 * together in the next one.
 */
import { Context, Effect } from "effect"
import { ParentSpan } from "effect/Tracer"

/** Removes the next items from the queue, at most this many. */
export type Take<Item> = (max: number) => ReadonlyArray<Item>

/**
 * Makes the queue. `runBatch` takes at least one item, and completes for those who wait what it
 * took. It runs in the scope, uninterruptibly.
 */
export const make = Effect.fnUntraced(function* <Item>(runBatch: (take: Take<Item>) => Effect.Effect<void>) {
  const scope = yield* Effect.scope
  let waiting: Array<Item> = []
  let isRunning = false

  const take: Take<Item> = (max) => {
    const items = waiting.slice(0, max)
    waiting = waiting.slice(max)
    return items
  }

  const worker = Effect.gen(function* () {
    while (waiting.length > 0) yield* runBatch(take)
  }).pipe(
    Effect.ensuring(
      Effect.sync(() => {
        isRunning = false
      })
    ),
    // A batch belongs to many requests, so it is part of no request's trace.
    Effect.updateContext((context: Context.Context<never>) => Context.omit(ParentSpan)(context)),
    Effect.uninterruptible
  )

  /** Adds an item to the next batch. Does not wait for it. */
  return (item: Item): Effect.Effect<void> =>
    Effect.suspend(() => {
      waiting.push(item)
      if (isRunning) return Effect.void
      isRunning = true
      // The worker starts after all fibers that are ready to run, so that their items are in its
      // first batch.
      return Effect.asVoid(Effect.forkIn(worker, scope))
    })
})
