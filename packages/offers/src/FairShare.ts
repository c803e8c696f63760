/**
 * Divides a fixed amount, such as memory, among owners so that none of them takes all of it.
 *
 * One owner has at most its share, however much is free. Waiting owners are served in turn, one
 * request each, so that an owner with a thousand requests delays another owner by one request.
 *
 * Effect's `PartitionedSemaphore` takes turns, too, but one owner can take all of its permits, and
 * a waiter cannot ask whether it has them, to acquire something else instead. The attacks
 * `hoarded-memory` and `command-queue` are of one owner that takes all.
 *
 * @since 0.1.0
 */
import { Effect } from "effect"

/**
 * A place in the queue, and later the amount. Call `leave` in the end.
 *
 * @category models
 * @since 0.1.0
 */
export interface Ticket {
  /** Whether the owner has the amount now. */
  readonly isGranted: () => boolean
  /** Completes when the owner has the amount. */
  readonly granted: Effect.Effect<void>
  /** Releases the amount, or leaves the queue. */
  readonly leave: () => void
}

/**
 * The amount that is shared.
 *
 * @category models
 * @since 0.1.0
 */
export interface FairShare {
  /** Requests an amount. A request above the owner's share asks for the whole share. */
  readonly enter: (owner: string, amount: number) => Ticket
  /** Acquires the amount, runs the effect, and releases the amount. */
  readonly withAmount: (
    owner: string,
    amount: number
  ) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** The number of requests that wait: of one owner, or of all. */
  readonly waiting: (owner?: string) => number
}

/**
 * The amount and how it is divided.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options {
  readonly capacity: number
  /** The maximum that one owner has at a time. */
  readonly perOwner: number
}

interface Waiter {
  readonly amount: number
  readonly grant: () => void
}

/**
 * Makes a share of which everything is free.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = ({ capacity, perOwner }: Options): FairShare => {
  const maxPerOwner = Math.min(capacity, perOwner)
  let free = capacity
  const acquired = new Map<string, number>()
  // In the order in which the owners are served.
  const waiting = new Map<string, Array<Waiter>>()

  const fits = (owner: string, amount: number): boolean =>
    amount <= free && (acquired.get(owner) ?? 0) + amount <= maxPerOwner

  const acquire = (owner: string, amount: number): void => {
    free -= amount
    acquired.set(owner, (acquired.get(owner) ?? 0) + amount)
  }

  const release = (owner: string, amount: number): void => {
    free += amount
    const left = (acquired.get(owner) ?? 0) - amount
    if (left > 0) acquired.set(owner, left)
    else acquired.delete(owner)
    if (waiting.size > 0) serveWaiting()
  }

  /** Serves one fitting request of each owner until none fits. */
  const serveWaiting = (): void => {
    for (let served = true; served;) {
      served = false
      for (const [owner, queue] of Array.from(waiting)) {
        const [first] = queue
        if (first === undefined || !fits(owner, first.amount)) continue
        queue.shift()
        waiting.delete(owner)
        if (queue.length > 0) waiting.set(owner, queue)
        acquire(owner, first.amount)
        first.grant()
        served = true
      }
    }
  }

  const leaveQueue = (owner: string, waiter: Waiter): void => {
    const queue = waiting.get(owner)
    if (queue === undefined) return
    const at = queue.indexOf(waiter)
    if (at !== -1) queue.splice(at, 1)
    if (queue.length === 0) waiting.delete(owner)
  }

  const enter = (owner: string, wanted: number): Ticket => {
    let granted = 0
    let resume = (): void => {}
    const waiter: Waiter = {
      amount: Math.min(wanted, maxPerOwner),
      grant: () => {
        granted = waiter.amount
        resume()
      }
    }
    if (waiter.amount === 0) return { isGranted: () => true, granted: Effect.void, leave: () => {} }
    if (waiting.has(owner) || !fits(owner, waiter.amount)) {
      const queue = waiting.get(owner) ?? []
      waiting.set(owner, queue)
      queue.push(waiter)
    } else {
      acquire(owner, waiter.amount)
      waiter.grant()
    }
    return {
      isGranted: () => granted > 0,
      granted: Effect.suspend(() =>
        granted > 0
          ? Effect.void
          : Effect.callback<void>((done) => {
              resume = () => done(Effect.void)
            })
      ),
      leave: () => {
        if (granted === 0) return leaveQueue(owner, waiter)
        const amount = granted
        granted = 0
        release(owner, amount)
      }
    }
  }

  return {
    enter,
    waiting: (owner) =>
      owner === undefined
        ? Array.from(waiting.values()).reduce((sum, { length }) => sum + length, 0)
        : (waiting.get(owner)?.length ?? 0),
    withAmount: (owner, amount) => (effect) =>
      Effect.suspend(() => {
        const ticket = enter(owner, amount)
        return Effect.ensuring(Effect.andThen(ticket.granted, effect), Effect.sync(ticket.leave))
      })
  }
}
