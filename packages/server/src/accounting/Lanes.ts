/**
 * A few queues of requests, each with one batch under way at a time.
 *
 * Requests with the same key are in the same lane, chosen by the key's hash. So the row of a busy
 * workspace is locked once for a batch, no two batches of a process wait for the same workspace,
 * and requests that wait for a locked row delay only those of their lane.
 * `docs/operate/capacity.md` has the figures of such a row.
 */
import { Cause, Deferred, Effect, Exit, Hash } from "effect"
import * as Batches from "../internal/Batches.ts"

/** Options of the lanes. */
export interface Options<Request, Result, E> {
  /** The number of lanes. */
  readonly count: number
  /** The maximum number of requests of a batch. */
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

/** Makes the lanes. Batches run in the scope. */
export const make = Effect.fnUntraced(function* <Request, Result, E>({
  count,
  isOfOneRequest,
  maxBatchSize,
  run
}: Options<Request, Result, E>) {
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

  const lanes = yield* Effect.forEach(Array.from({ length: count }), () =>
    Batches.make<Waiting<Request, Result, E>>((take) => Effect.suspend(() => batch(take(maxBatchSize))))
  )

  /** Sends a request in the lane of the key. */
  return (key: string, request: Request): Effect.Effect<Result, E> =>
    Effect.suspend(() => {
      const lane = lanes[Math.abs(Hash.string(key)) % count]
      if (lane === undefined) return Effect.die(new Error("There is no lane"))
      const result = Deferred.makeUnsafe<Result, E>()
      return Effect.andThen(lane({ request, result }), Deferred.await(result))
    })
})
