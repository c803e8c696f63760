/**
 * Slows down callers that keep failing to authenticate: the more recent failures an address has,
 * the later it gets its next 401, up to 2 seconds.
 *
 * A valid key never waits, whatever else comes from its address: the key is looked up first, and
 * only failures are counted. Addresses are counted as in {@link ClientAddress.countedBy}. A delayed
 * response holds a connection, so only a few may wait at a time; further ones are not delayed. The
 * body is not read meanwhile.
 */
import { Effect } from "effect"
import type { RateLimits } from "../admission/RateLimits.ts"
import * as ClientAddress from "../http/ClientAddress.ts"

/** How many responses may be delayed at the same time. */
export interface Options {
  /** Per address. Default: 16. */
  readonly perAddress?: number | undefined
  /** In total. Default: 1024. */
  readonly total?: number | undefined
}

/** Counts a failure of the address and waits for the resulting delay. */
export const make = (limits: RateLimits["Service"], options?: Options): ((address: string) => Effect.Effect<void>) => {
  const perAddress = options?.perAddress ?? 16
  const total = options?.total ?? 1024
  const waiting = new Map<string, number>()
  let all = 0

  const leave = (address: string) =>
    Effect.sync(() => {
      all--
      const left = (waiting.get(address) ?? 1) - 1
      if (left === 0) waiting.delete(address)
      else waiting.set(address, left)
    })

  const wait = (address: string, delay: number) =>
    Effect.suspend(() => {
      const already = waiting.get(address) ?? 0
      if (delay <= 0 || already >= perAddress || all >= total) return Effect.void
      all++
      waiting.set(address, already + 1)
      return Effect.ensuring(Effect.sleep(delay), leave(address))
    })

  return (caller) => {
    const address = ClientAddress.countedBy(caller)
    return limits.authenticationFailed(address).pipe(
      // The delay only slows down guessing. Without the store, the response is still a 401.
      Effect.catch(() => Effect.succeed(0)),
      Effect.flatMap((delay) => wait(address, delay))
    )
  }
}
