/**
 * The format of API keys, and what can be checked without the database.
 *
 * A key is `mg_sk_` (ordinary), `mg_mk_` (management) or `mg_ek_` (ephemeral), then 32 random
 * base62 characters, then the CRC-32 of all that as 6 base62 characters. The checksum is not a
 * secret: it detects typos, truncated keys and false positives of leak scanners.
 */
import { Effect, Redacted, Result } from "effect"
import type { SecureRandom } from "effect/crypto/SecureRandom"
import { hash } from "node:crypto"
import { crc32 } from "node:zlib"

/**
 * An `ordinary` key spends. A `management` key manages and cannot spend. An `ephemeral` key acts as
 * an ordinary one for some minutes.
 */
export type KeyKind = "ordinary" | "management" | "ephemeral"

/** Why a text is not a key: wrong format or wrong checksum. */
export type Malformed = "malformed" | "checksum"

/** A parsed key. `hash` is the SHA-256 in lowercase hex that identifies the key. */
export interface ParsedKey {
  readonly kind: KeyKind
  readonly hash: string
}

/** A key with its text. `key` is shown once; `hash` and `label` are stored. */
export interface GeneratedKey extends ParsedKey {
  readonly key: Redacted.Redacted<string>
  readonly label: string
}

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const randomLength = 32
const checksumLength = 6
const prefixes: Record<KeyKind, string> = { ordinary: "mg_sk_", management: "mg_mk_", ephemeral: "mg_ek_" }
const kinds: Record<string, KeyKind> = { mg_sk_: "ordinary", mg_mk_: "management", mg_ek_: "ephemeral" }
const prefixLength = 6
const form = /^mg_[sme]k_[0-9A-Za-z]{38}$/

const checksumOf = (body: string): string => {
  let rest = crc32(body)
  let out = ""
  for (let i = 0; i < checksumLength; i++) {
    out = alphabet.charAt(rest % 62) + out
    rest = Math.floor(rest / 62)
  }
  return out
}

/** The SHA-256 of a key in lowercase hex. */
export const hashKey = (key: string): string => hash("sha256", key, "hex")

/**
 * The label that is shown for a key: its prefix and its last three characters, as in `mg_sk_…abc`.
 */
const labelOf = (key: string): string => `${key.slice(0, prefixLength)}…${key.slice(-3)}`

/**
 * Parses a key: its kind and hash, or why the text is not a key. Reads no database. The comparison
 * of the checksum need not take constant time, because the checksum is not a secret.
 *
 * @example
 * ```ts
 * import { Result } from "effect"
 * import * as KeyFormat from "@model-gateway/server/KeyFormat"
 *
 * KeyFormat.parse("mg_sk_nonsense") // Result.fail("malformed")
 * ```
 */
export const parse = (key: string): Result.Result<ParsedKey, Malformed> => {
  const kind = kinds[key.slice(0, prefixLength)]
  if (kind === undefined || !form.test(key)) return Result.fail("malformed")
  const body = key.slice(0, prefixLength + randomLength)
  if (checksumOf(body) !== key.slice(prefixLength + randomLength)) return Result.fail("checksum")
  return Result.succeed({ kind, hash: hashKey(key) })
}

/** A key that {@link generate} made elsewhere, or why the text is not a key. */
export const fromText = (key: Redacted.Redacted<string>): Result.Result<GeneratedKey, Malformed> => {
  const text = Redacted.value(key)
  return Result.map(parse(text), (parsed) => ({ ...parsed, key, label: labelOf(text) }))
}

/** Makes a key from secure random numbers, at most 64 bytes at a time. */
export const generate = Effect.fnUntraced(function* (
  random: Pick<SecureRandom["Service"], "randomBytes">,
  kind: KeyKind
) {
  let body = prefixes[kind]
  while (body.length < prefixLength + randomLength) {
    for (const byte of yield* random.randomBytes(64)) {
      // 248 = 4 × 62. Larger bytes would make the first characters more likely than the others.
      if (byte < 248 && body.length < prefixLength + randomLength) body += alphabet.charAt(byte % 62)
    }
  }
  const key = body + checksumOf(body)
  const generated: GeneratedKey = { kind, hash: hashKey(key), key: Redacted.make(key), label: labelOf(key) }
  return generated
})
