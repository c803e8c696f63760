/**
 * Slows down callers that keep failing to authenticate: the more recent failures an address has,
 * the later it gets its next 401, up to 2 seconds.
 *
 * A valid key never waits, whatever else comes from its address: the key is looked up first, and
 * only failures are counted. Addresses are counted as in {@link ClientAddress.countedBy}. A delayed
 * response occupies a connection, so only a few may wait at a time; further ones are not delayed.
 * The body is not read meanwhile.
 */
import { Duration, Effect } from "effect"
import { RateLimiter } from "effect/persistence/RateLimiter"
import type { Rate } from "../GatewayServerConfig.ts"
import * as ClientAddress from "../http/ClientAddress.ts"

/** The longest delay after a failed authentication, in milliseconds. */
export const maxDelay = 2000

/** How many responses may be delayed at the same time. */
export interface Options {
  /** Per address. Default: 16. */
  readonly perAddress?: number | undefined
  /** In total. Default: 1024. */
  readonly total?: number | undefined
}

/**
 * Makes an effect that counts a failure of the address and waits for the resulting delay: none for
 * the first failure, more for each recent one, and {@link maxDelay} above the rate.
 */
export const make = Effect.fnUntraced(function* (rate: Rate, options?: Options) {
  const limiter = yield* RateLimiter
  const limit = Math.max(1, Math.floor(rate.requests))
  const window = Duration.toMillis(rate.window)
  const perAddress = options?.perAddress ?? 16
  const total = options?.total ?? 1024
  const waiting = new Map<string, number>()
  let all = 0

  /** Counts a failure and returns its delay in milliseconds. */
  const delayAfter = (address: string): Effect.Effect<number> =>
    limiter.consume({ algorithm: "token-bucket", key: `authentication:${address}`, limit, window: rate.window }).pipe(
      // The failure just counted adds nothing: the first response is not delayed.
      Effect.map(({ resetAfter }) => maxDelay * (Duration.toMillis(resetAfter) / window - 1 / limit)),
      // The delay only slows down guessing. Without the store, the response is still a 401.
      Effect.catch(({ reason }) => Effect.succeed(reason._tag === "RateLimitExceeded" ? maxDelay : 0))
    )

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

  return (caller: string): Effect.Effect<void> => {
    const address = ClientAddress.countedBy(caller)
    return Effect.flatMap(delayAfter(address), (delay) => wait(address, delay))
  }
})
