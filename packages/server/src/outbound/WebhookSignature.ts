/**
 * Signatures of webhooks, by Standard Webhooks 1.0.0
 * (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md).
 */
import { Clock, Effect, Redacted } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { createHmac } from "node:crypto"

/** A secret: `whsec_` and its bytes in base64. */
export type Secret = Redacted.Redacted<string>

const prefix = "whsec_"

/** A new secret of 32 bytes. */
export const generate = Effect.gen(function* () {
  const bytes = yield* (yield* SecureRandom).randomBytes(32)
  return Redacted.make(prefix + Buffer.from(bytes).toString("base64"))
})

const keyOf = (secret: Secret): Buffer => {
  const text = Redacted.value(secret)
  return Buffer.from(text.startsWith(prefix) ? text.slice(prefix.length) : text, "base64")
}

/**
 * The headers that sign a body at the current time. `id` identifies the message and is the same
 * for each delivery of it. While a secret is being replaced, list the old one too: a receiver
 * accepts the message if it knows one of them.
 */
export const headers = Effect.fnUntraced(function* (id: string, body: string, secrets: ReadonlyArray<Secret>) {
  const timestamp = String(Math.floor((yield* Clock.currentTimeMillis) / 1000))
  const signatures = secrets.map(
    (secret) => `v1,${createHmac("sha256", keyOf(secret)).update(`${id}.${timestamp}.${body}`).digest("base64")}`
  )
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures.join(" ") }
})
