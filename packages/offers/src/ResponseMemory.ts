/**
 * Limits the memory that the answers of all upstreams in flight use together, and what they take of
 * the event loop.
 *
 * An answer is received when there is memory for it. Until then it stays in its sender's socket,
 * and its call's time limit goes on. An upstream uses at most a quarter of the memory, so that none
 * of them shuts out the others. Large answers are parsed one after the other, and other work runs
 * in between.
 *
 * @since 0.1.0
 */
import { Context, Effect } from "effect"
import { totalmem } from "node:os"
import { constrainedMemory } from "node:process"
import { getHeapStatistics } from "node:v8"
import * as FairShare from "./FairShare.ts"

/**
 * What one call can acquire. All of it is released when the call ends.
 *
 * @category models
 * @since 0.1.0
 */
export interface Lease {
  /** Waits for memory for an answer of this many bytes. Call it once. */
  readonly acquire: (bytes: number) => Effect.Effect<void>
  /** Waits until no other large answer is being parsed. */
  readonly turn: Effect.Effect<void>
}

/**
 * The memory for answers of upstreams.
 *
 * @category models
 * @since 0.1.0
 */
export interface ResponseMemory {
  /** Runs a call of an upstream. */
  readonly withLease: <A, E, R>(
    upstream: string,
    use: (lease: Lease) => Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E, R>
}

/**
 * Bytes of memory per byte of JSON: the bytes received, the text, the parsed and decoded values.
 */
const costPerByte = 4

/**
 * The memory that this process may use: the limit of its heap, or its part of the container or the
 * machine, which `processes` of its kind share.
 *
 * @category measuring
 * @since 0.1.0
 */
export const processLimit = (processes = 1): number => {
  const container = constrainedMemory()
  const machine = Math.min(container > 0 ? container : totalmem(), totalmem())
  return Math.floor(Math.min(getHeapStatistics().heap_size_limit, machine / processes))
}

/**
 * Makes a memory budget of this many bytes.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (bytes: number): ResponseMemory => {
  const memory = FairShare.make({ capacity: bytes, perOwner: Math.floor(bytes / 4) })
  const turns = FairShare.make({ capacity: 1, perOwner: 1 })
  return {
    withLease: (upstream, use) =>
      Effect.suspend(() => {
        const tickets: Array<FairShare.Ticket> = []
        const enter = (share: FairShare.FairShare, amount: number): Effect.Effect<void> =>
          Effect.suspend(() => {
            const ticket = share.enter(upstream, amount)
            tickets.push(ticket)
            return ticket.granted
          })
        const lease: Lease = {
          acquire: (bytes) => enter(memory, bytes * costPerByte),
          // A waiter resumes at once when the turn is free, so let other work run first.
          turn: Effect.andThen(enter(turns, 1), Effect.yieldNow)
        }
        const leave = (): undefined => {
          for (const ticket of tickets) ticket.leave()
        }
        return Effect.onExitPrimitive(use(lease), leave)
      })
  }
}

/**
 * The memory for answers. Default: a quarter of what the process may use, shared by all adapters.
 *
 * @category references
 * @since 0.1.0
 */
export const ResponseMemory = Context.Reference<ResponseMemory>("@model-gateway/offers/ResponseMemory", {
  defaultValue: () => make(Math.floor(processLimit() / 4))
})
