/**
 * Divides a fixed amount, such as memory, among owners so that none of them takes all of it.
 *
 * One owner holds at most its share, however much is free. Waiting owners are served in turn, one
 * request each, so that an owner with a thousand requests delays another owner by one request.
 *
 * Effect's `PartitionedSemaphore` takes turns, too, but one owner can hold all of its permits, and
 * who waits cannot ask whether it has them, to take something else instead. The attacks
 * `hoarded-memory` and `command-queue` are of one owner that takes all.
 *
 * @since 0.1.0
 */
import { Effect } from "effect"

/**
 * A place in the queue, and later a hold on the amount. The holder must call `leave`.
 *
 * @since 0.1.0
 */
export interface Ticket {
  /** Whether the amount is held now. */
  readonly isGranted: () => boolean
  /** Completes when the amount is held. */
  readonly granted: Effect.Effect<void>
  /** Releases the amount, or leaves the queue. */
  readonly leave: () => void
}

/**
 * The amount that is shared.
 *
 * @since 0.1.0
 */
export interface FairShare {
  /** Requests an amount. A request above the owner's share asks for the whole share. */
  readonly enter: (owner: string, amount: number) => Ticket
  /** Waits until the amount is free, then runs the effect while the owner holds it. */
  readonly hold: (owner: string, amount: number) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** The number of requests that wait: of one owner, or of all. */
  readonly waiting: (owner?: string) => number
}

/**
 * The amount and how it is divided.
 *
 * @since 0.1.0
 */
export interface Options {
  readonly capacity: number
  /** The most that one owner holds at a time. */
  readonly perOwner: number
}

interface Waiter {
  readonly amount: number
  readonly grant: () => void
}

/**
 * Makes a share with nothing held.
 *
 * @since 0.1.0
 */
export const make = ({ capacity, perOwner }: Options): FairShare => {
  const most = Math.min(capacity, perOwner)
  let free = capacity
  const held = new Map<string, number>()
  // In the order in which the owners are served.
  const waiting = new Map<string, Array<Waiter>>()

  const fits = (owner: string, amount: number): boolean => amount <= free && (held.get(owner) ?? 0) + amount <= most

  const take = (owner: string, amount: number): void => {
    free -= amount
    held.set(owner, (held.get(owner) ?? 0) + amount)
  }

  const giveBack = (owner: string, amount: number): void => {
    free += amount
    const left = (held.get(owner) ?? 0) - amount
    if (left > 0) held.set(owner, left)
    else held.delete(owner)
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
        take(owner, first.amount)
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
    let holds = 0
    let resume = (): void => {}
    const waiter: Waiter = {
      amount: Math.min(wanted, most),
      grant: () => {
        holds = waiter.amount
        resume()
      }
    }
    if (waiter.amount === 0) return { isGranted: () => true, granted: Effect.void, leave: () => {} }
    if (waiting.has(owner) || !fits(owner, waiter.amount)) {
      const queue = waiting.get(owner) ?? []
      waiting.set(owner, queue)
      queue.push(waiter)
    } else {
      take(owner, waiter.amount)
      waiter.grant()
    }
    return {
      isGranted: () => holds > 0,
      granted: Effect.suspend(() =>
        holds > 0
          ? Effect.void
          : Effect.callback<void>((done) => {
              resume = () => done(Effect.void)
            })
      ),
      leave: () => {
        if (holds === 0) return leaveQueue(owner, waiter)
        const all = holds
        holds = 0
        giveBack(owner, all)
      }
    }
  }

  return {
    enter,
    waiting: (owner) =>
      owner === undefined
        ? Array.from(waiting.values()).reduce((sum, { length }) => sum + length, 0)
        : (waiting.get(owner)?.length ?? 0),
    hold: (owner, amount) => (effect) =>
      Effect.suspend(() => {
        const ticket = enter(owner, amount)
        return Effect.ensuring(Effect.andThen(ticket.granted, effect), Effect.sync(ticket.leave))
      })
  }
}
