/**
 * Secure random bytes, generated many at a time. A call of the generator costs about a microsecond,
 * however few bytes it returns, and a paid request needs several ids.
 */
import { Layer } from "effect"
import * as SecureRandom from "effect/crypto/SecureRandom"
import { randomFillSync } from "node:crypto"

const poolSize = 4096

/** Longer requests are filled alone. */
const maxTaken = 256

const pool = new Uint8Array(poolSize)
let at = poolSize

const take = (size: number): Uint8Array<ArrayBuffer> => {
  if (size > maxTaken) return randomFillSync(new Uint8Array(size))
  if (at + size > poolSize) {
    randomFillSync(pool)
    at = 0
  }
  const bytes = pool.slice(at, at + size)
  // What was handed out is erased from the pool.
  pool.fill(0, at, at + size)
  at += size
  return bytes
}

/** Secure random numbers, ids and bytes from the pool. */
export const layer: Layer.Layer<SecureRandom.SecureRandom> = Layer.sync(SecureRandom.SecureRandom, () =>
  SecureRandom.make(take)
)
