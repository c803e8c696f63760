/**
 * Makes an API key from the token of the caller who creates it and a random salt.
 *
 * The stored answer of a request with an `Idempotency-Key` has the salt in place of the new key's
 * secret text. Only a request with the same token turns it into that text again, so the database
 * contains no key that works.
 */
import { Effect, Redacted } from "effect"
import type { SecureRandom } from "effect/crypto/SecureRandom"
import * as Hex from "effect/encoding/Hex"
import { createHmac } from "node:crypto"
import * as KeyFormat from "./KeyFormat.ts"

/** Says what the bytes are for, so that no other use of the same token makes the same ones. */
const purpose = "model-gateway derived key 1"

/** A new salt. It is as hard to guess as a key. */
export const salt = (random: SecureRandom["Service"]): Effect.Effect<string> =>
  Effect.map(random.randomBytes(32), Hex.encode)

/** The key of a token and a salt: always the same one. */
export const make = (token: Redacted.Redacted<string>, salt: string, kind: KeyFormat.KeyKind) => {
  let block = 0
  const randomBytes = (size: number) =>
    Effect.sync(() =>
      createHmac("sha512", Redacted.value(token)).update(`${purpose} ${salt} ${block++}`).digest().subarray(0, size)
    )
  return KeyFormat.generate({ randomBytes }, kind)
}
