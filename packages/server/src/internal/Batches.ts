/**
 * Runs items in batches, one batch at a time: those that arrive while a batch is under way go
 * together in the next one.
 */
import { Context, Effect, Latch } from "effect"
import { ParentSpan } from "effect/Tracer"

/** Removes the next items from the queue, at most this many. */
export type Take<Item> = (max: number) => ReadonlyArray<Item>

/**
 * Makes the queue. `runBatch` takes at least one item, and completes for those who wait what it
 * took. It runs in the scope, uninterruptibly.
 */
export const make = Effect.fnUntraced(function* <Item>(runBatch: (take: Take<Item>) => Effect.Effect<void>) {
  const wanted = Latch.makeUnsafe()
  let waiting: Array<Item> = []

  const take: Take<Item> = (max) => {
    const items = waiting.slice(0, max)
    waiting = waiting.slice(max)
    return items
  }

  const runAll = Effect.gen(function* () {
    yield* wanted.close
    while (waiting.length > 0) yield* runBatch(take)
  })

  yield* wanted.await.pipe(
    // A defect in one batch must not end the worker.
    Effect.andThen(Effect.uninterruptible(Effect.exit(runAll))),
    Effect.forever({ disableYield: true }),
    // A batch belongs to many requests, so it is part of no request's trace.
    Effect.updateContext((context: Context.Context<never>) => Context.omit(ParentSpan)(context)),
    Effect.forkScoped
  )

  /** Adds an item to the next batch. Does not wait for it. */
  return (item: Item): Effect.Effect<void> =>
    Effect.suspend(() => {
      waiting.push(item)
      // A batch starts after all fibers that are ready to run, so that their items are in it.
      return wanted.open
    })
})
