import { expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { layerWebCrypto } from "effect/crypto/SecureRandom"
import { TestClock } from "effect/testing"
import { Webhook } from "standardwebhooks"
import { vi } from "vitest"
import * as WebhookSignature from "../../src/outbound/WebhookSignature.ts"

const body = JSON.stringify({ type: "rerank.completed", data: { text: "grün" } })
const now = new Date("2026-11-22T01:00:00Z")

/** The receiver reads the system's clock. */
const receive = (secret: WebhookSignature.Secret, text: string, headers: Record<string, string>) => {
  vi.useFakeTimers({ now, toFake: ["Date"] })
  try {
    return new Webhook(Redacted.value(secret)).verify(text, headers)
  } finally {
    vi.useRealTimers()
  }
}

it.effect("a receiver with the Standard Webhooks library accepts a signed body, and no other body", () =>
  Effect.gen(function* () {
    yield* TestClock.setTime(now.getTime())
    const secret = yield* WebhookSignature.generate
    const headers = yield* WebhookSignature.headers("evt_1", body, [secret])
    expect(headers["webhook-timestamp"]).toBe("1795309200")
    expect(receive(secret, body, headers)).toEqual(JSON.parse(body))
    expect(() => receive(secret, `${body} `, headers)).toThrow("No matching signature")
    expect(() => receive(secret, body, { ...headers, "webhook-id": "evt_2" })).toThrow("No matching signature")
  }).pipe(Effect.provide(layerWebCrypto))
)

it.effect("while a secret is replaced, receivers with the old one and with the new one accept the body", () =>
  Effect.gen(function* () {
    yield* TestClock.setTime(now.getTime())
    const [before, after, other] = yield* Effect.all([
      WebhookSignature.generate,
      WebhookSignature.generate,
      WebhookSignature.generate
    ])
    const headers = yield* WebhookSignature.headers("evt_1", body, [before, after])
    expect(headers["webhook-signature"].split(" ")).toHaveLength(2)
    expect(receive(before, body, headers)).toEqual(JSON.parse(body))
    expect(receive(after, body, headers)).toEqual(JSON.parse(body))
    expect(() => receive(other, body, headers)).toThrow("No matching signature")
  }).pipe(Effect.provide(layerWebCrypto))
)
