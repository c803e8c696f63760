/**
 * The random bytes of the idempotency keys that the client generates.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"

/**
 * Returns that many random bytes. Default: the platform's cryptographic source, which `Random` of
 * Effect does not change. With a seeded source, a second process would send the keys of the first
 * one again and receive its stored responses. Replace it only in a test that compares keys.
 *
 * @since 0.1.0
 */
export const IdempotencyKeySource = Context.Reference<(size: number) => Uint8Array>(
  "@model-gateway/core/IdempotencyKeySource",
  { defaultValue: () => (size) => globalThis.crypto.getRandomValues(new Uint8Array(size)) }
)
