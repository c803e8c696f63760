/**
 * Generates idempotency keys.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** The bytes of the time: the highest first. */
const timeBytes = 6

/** Random bytes that begin with the time. */
const timeOrdered = (size: number, now: number): Uint8Array => {
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(size))
  for (let index = timeBytes - 1, rest = now; index >= 0; index--, rest = Math.floor(rest / 256)) {
    bytes[index] = rest % 256
  }
  return bytes
}

/**
 * Returns `size` bytes, which no other call returns. `now` is the time of the `Clock` in epoch
 * milliseconds. Default: `now` as 6 bytes, as in a UUID of version 7, then random bytes. Keys that
 * are made one after the other are then neighbors in the index of a database, so that the service
 * writes fewer pages.
 *
 * The random bytes come from the platform's cryptographic source, which `Random` of Effect does not
 * change. With a seeded source, a second process would send the keys of the first one again and
 * receive its stored responses. Replace it only in a test that compares keys.
 *
 * @category references
 * @since 0.1.0
 */
export const IdempotencyKeySource = Context.Reference<(size: number, now: number) => Uint8Array>(
  "@model-gateway/core/IdempotencyKeySource",
  { defaultValue: () => timeOrdered }
)

/**
 * A new idempotency key: 16 bytes of {@link IdempotencyKeySource} in hexadecimal. The client makes
 * one for each call that has none, with a counter at its end. Make one yourself to send the same
 * call twice, for example after an interruption.
 *
 * @example
 * ```ts
 * import { Gateway, IdempotencyKeySource, Video } from "@model-gateway/core"
 * import { Effect } from "effect"
 *
 * declare const request: Video.Request
 *
 * const submit = Effect.gen(function* () {
 *   const gateway = yield* Gateway.Gateway
 *   const idempotencyKey = yield* IdempotencyKeySource.makeKey
 *   const call = gateway.submitVideo(request, { idempotencyKey })
 *   // The second call returns the job of the first one.
 *   return yield* Effect.catchTag(call, "TimeoutError", () => call)
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeKey: Effect.Effect<string> = Effect.flatMap(IdempotencyKeySource, (bytesOf) =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    let key = ""
    for (const byte of bytesOf(16, now)) key += byte.toString(16).padStart(2, "0")
    return key
  })
)
