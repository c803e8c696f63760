/** Secrets that sign in: of a session, in its cookie, and of a link. Only their hashes are stored. */
import { Effect, Redacted } from "effect"
import type { SecureRandom } from "effect/crypto/SecureRandom"
import { hash } from "node:crypto"

/** A new token. `plain` is shown once and cannot be read again. */
export interface Token {
  readonly plain: Redacted.Redacted<string>
  readonly hash: string
}

const form = /^[\w-]{43}$/

/** The SHA-256 of a token in lowercase hex. Undefined: the text is none. */
export const hashOf = (plain: Redacted.Redacted<string>): string | undefined => {
  const text = Redacted.value(plain)
  return form.test(text) ? hash("sha256", text, "hex") : undefined
}

/** Makes a token of 32 random bytes. */
export const make = (random: SecureRandom["Service"]): Effect.Effect<Token> =>
  Effect.map(random.randomBytes(32), (bytes) => {
    const text = Buffer.from(bytes).toString("base64url")
    return { plain: Redacted.make(text), hash: hash("sha256", text, "hex") }
  })
