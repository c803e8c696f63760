/**
 * Generates idempotency keys.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/**
 * Returns that many random bytes. Default: the platform's cryptographic source, which `Random` of
 * Effect does not change. With a seeded source, a second process would send the keys of the first
 * one again and receive its stored responses. Replace it only in a test that compares keys.
 *
 * @category references
 * @since 0.1.0
 */
export const IdempotencyKeySource = Context.Reference<(size: number) => Uint8Array>(
  "@model-gateway/core/IdempotencyKeySource",
  { defaultValue: () => (size) => globalThis.crypto.getRandomValues(new Uint8Array(size)) }
)

/**
 * A new idempotency key: 128 random bits in hexadecimal. The client makes one for each call that
 * has none, with a counter at its end. Make one yourself to send the same call twice, for example
 * after an interruption.
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
export const makeKey: Effect.Effect<string> = Effect.map(IdempotencyKeySource, (randomBytes) => {
  let key = ""
  for (const byte of randomBytes(16)) key += byte.toString(16).padStart(2, "0")
  return key
})
