import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { WebhookSecrets } from "../../src/webhooks/WebhookSecrets.ts"
import { databases } from "../TestDatabases.ts"
import { workspace } from "./TestDelivery.ts"

const day = Duration.hours(24)

const make = Effect.gen(function* () {
  const secrets = yield* WebhookSecrets
  const { id } = yield* workspace
  return {
    rotate: (keepFor: Duration.Duration) =>
      Effect.map(secrets.rotate(id, keepFor), ({ secret }) => Redacted.value(secret)),
    signers: Effect.map(secrets.signers(id), (all) => all.map(Redacted.value))
  }
})

describe.each(databases)("the secrets of a workspace on $name", ({ layer }) => {
  it.effect("are one from the first use on, the same for concurrent first uses", () =>
    Effect.gen(function* () {
      const { signers } = yield* make
      const all = yield* Effect.all([signers, signers, signers], { concurrency: "unbounded" })
      expect(new Set(all.flat()).size).toBe(1)
      expect(yield* signers).toEqual(all[0])
    }).pipe(Effect.provide(layer))
  )

  it.effect("are two while one replaces the other", () =>
    Effect.gen(function* () {
      const { rotate, signers } = yield* make
      const first = yield* rotate(day)
      const second = yield* rotate(day)
      expect(yield* signers).toEqual([second, first])
      yield* TestClock.adjust(Duration.millis(86_399_999))
      expect(yield* signers).toEqual([second, first])
      yield* TestClock.adjust("1 milli")
      expect(yield* signers).toEqual([second])
    }).pipe(Effect.provide(layer))
  )

  it.effect("include the one that receivers have, if a rotation was repeated because its response was lost", () =>
    Effect.gen(function* () {
      const { rotate, signers } = yield* make
      const known = yield* rotate(day)
      yield* rotate(day)
      const last = yield* rotate(day)
      expect(yield* signers).toHaveLength(3)
      expect(yield* signers).toEqual(expect.arrayContaining([known, last]))
      for (let n = 0; n < 10; n++) yield* rotate(day)
      expect(yield* signers).toHaveLength(5)
    }).pipe(Effect.provide(layer))
  )

  it.effect("are the newest alone after a rotation that keeps none", () =>
    Effect.gen(function* () {
      const { rotate, signers } = yield* make
      yield* rotate(day)
      yield* rotate(day)
      const last = yield* rotate(Duration.zero)
      expect(yield* signers).toEqual([last])
    }).pipe(Effect.provide(layer))
  )
})
