/**
 * Groups requests, so that those that arrive while a batch is under way go together in the next
 * one.
 *
 * There are a few lanes. Each has one batch under way at a time, and requests with the same key are
 * in the same lane. So the row of a busy workspace is locked once for a batch, and requests that
 * wait for a locked row delay only those of their lane.
 */
import { Cause, Context, Deferred, Effect, Exit, type Scope } from "effect"
import { ParentSpan } from "effect/Tracer"

/** Options of the lanes. */
export interface Options<Request, Result, E> {
  /** The number of lanes. */
  readonly count: number
  /** The most requests of a batch. */
  readonly maxBatchSize: number
  /** Runs a batch. Returns one result for each request, in order. */
  readonly run: (requests: ReadonlyArray<Request>) => Effect.Effect<ReadonlyArray<Result>, E>
  /**
   * Whether one request may be the reason why a batch failed. Its requests are then run again, one
   * at a time.
   */
  readonly isOfOneRequest: (error: E) => boolean
}

interface Waiting<Request, Result, E> {
  readonly request: Request
  readonly result: Deferred.Deferred<Result, E>
}

const laneOf = (key: string, count: number): number => {
  let hash = 0
  for (let at = 0; at < key.length; at++) hash = (Math.imul(hash, 31) + key.charCodeAt(at)) | 0
  return Math.abs(hash) % count
}

/** Makes the lanes. Batches run in the scope. */
export const make = Effect.fnUntraced(function* <Request, Result, E>({
  count,
  isOfOneRequest,
  maxBatchSize,
  run
}: Options<Request, Result, E>) {
  const scope: Scope.Scope = yield* Effect.scope

  const complete = (items: ReadonlyArray<Waiting<Request, Result, E>>, exit: Exit.Exit<ReadonlyArray<Result>, E>) => {
    const resultOf = (at: number): Exit.Exit<Result, E> => {
      if (Exit.isFailure(exit)) return Exit.failCause(exit.cause)
      const one = exit.value[at]
      return one === undefined ? Exit.die(new Error("A result is missing")) : Exit.succeed(one)
    }
    items.forEach(({ result }, at) => Deferred.doneUnsafe(result, resultOf(at)))
  }

  const batch = (items: ReadonlyArray<Waiting<Request, Result, E>>): Effect.Effect<void> =>
    Effect.flatMap(Effect.exit(run(items.map(({ request }) => request))), (exit) => {
      const error = Exit.isFailure(exit) ? Cause.findErrorOption(exit.cause) : undefined
      if (items.length > 1 && error?._tag === "Some" && isOfOneRequest(error.value)) {
        return Effect.forEach(items, (item) => batch([item]), { discard: true })
      }
      return Effect.sync(() => complete(items, exit))
    })

  const lanes = Array.from({ length: count }, () => {
    let waiting: Array<Waiting<Request, Result, E>> = []
    let isRunning = false

    const worker = Effect.gen(function* () {
      while (waiting.length > 0) {
        const items = waiting.slice(0, maxBatchSize)
        waiting = waiting.slice(maxBatchSize)
        yield* batch(items)
      }
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

    return (request: Request): Effect.Effect<Result, E> =>
      Effect.suspend(() => {
        const result = Deferred.makeUnsafe<Result, E>()
        waiting.push({ request, result })
        const wait = Deferred.await(result)
        if (isRunning) return wait
        isRunning = true
        // The worker starts after all fibers that are ready to run, so that their requests are in
        // its first batch.
        return Effect.andThen(Effect.forkIn(worker, scope), wait)
      })
  })

  /** Sends a request in the lane of the key. */
  return (key: string, request: Request): Effect.Effect<Result, E> => {
    const lane = lanes[laneOf(key, count)]
    return lane === undefined ? Effect.die(new Error("There is no lane")) : lane(request)
  }
})
