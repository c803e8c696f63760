/**
 * Queues for offers that take a limited number of calls at a time, such as a program on the
 * gateway's own machine.
 *
 * Each process has a queue for each such offer. The waiting keys are served in turn, one call each,
 * so that a key with many calls delays another key by one call. A key that has too many calls
 * waiting is refused, and nobody else.
 */
import type { Offer } from "@model-gateway/offers/Offer"
import { type Duration, Effect } from "effect"
import * as FairShare from "@model-gateway/offers/FairShare"

/**
 * The maximum number of calls of all keys that wait for one offer. It bounds the memory and the
 * files of waiting requests if there are very many keys.
 */
const maxWaiting = 1000

/** A call that is waiting in a queue, or has left it. */
export interface Turn {
  /**
   * Waits until the offer takes the call. False: the key has too many calls waiting, or the longest
   * wait is over.
   */
  readonly comes: Effect.Effect<boolean>
  /** Lets the next call take its place. Must be called. */
  readonly end: Effect.Effect<void>
}

/** The queues of one process. */
export interface OfferQueues {
  /** Enters the queue of an offer for a key. Undefined: the offer takes any number of calls. */
  readonly enter: (offer: Offer, owner: string, maxWait: Duration.Duration) => Turn | undefined
}

interface Queue {
  readonly places: FairShare.FairShare
  /** The number of waiting calls of each key. */
  readonly waiting: Map<string, number>
  total: number
}

const refused: Turn = { comes: Effect.succeed(false), end: Effect.void }

/** Makes the queues. `perKey` is the most calls of one key that wait for one offer. */
export const make = (perKey: number): OfferQueues => {
  const queues = new WeakMap<Offer, Queue>()

  const queueOf = (offer: Offer, concurrency: number): Queue => {
    const known = queues.get(offer)
    if (known !== undefined) return known
    const made: Queue = {
      places: FairShare.make({ capacity: concurrency, perOwner: concurrency }),
      waiting: new Map(),
      total: 0
    }
    queues.set(offer, made)
    return made
  }

  /** Counts the call while it waits. */
  const counted = <A>(queue: Queue, owner: string, wait: Effect.Effect<A>): Effect.Effect<A> =>
    Effect.ensuring(
      Effect.suspend(() => {
        queue.total++
        queue.waiting.set(owner, (queue.waiting.get(owner) ?? 0) + 1)
        return wait
      }),
      Effect.sync(() => {
        queue.total--
        const left = (queue.waiting.get(owner) ?? 0) - 1
        if (left > 0) queue.waiting.set(owner, left)
        else queue.waiting.delete(owner)
      })
    )

  return {
    enter: (offer, owner, maxWait) => {
      if (offer.concurrency === undefined) return undefined
      const queue = queueOf(offer, offer.concurrency)
      const ticket = queue.places.enter(owner, 1)
      const end = Effect.sync(ticket.leave)
      if (ticket.isGranted()) return { comes: Effect.succeed(true), end }
      if (queue.total >= maxWaiting || (queue.waiting.get(owner) ?? 0) >= perKey) {
        ticket.leave()
        return refused
      }
      const granted = Effect.timeoutOrElse(Effect.as(ticket.granted, true), {
        duration: maxWait,
        orElse: () => Effect.succeed(false)
      })
      return { comes: counted(queue, owner, granted), end }
    }
  }
}
