/** Texts that SQLite stores and Postgres cannot. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { envelopeOf, post } from "../../TestEnvelope.ts"
import { layerAt, TestGateway } from "../../TestGateway.ts"
import * as TestPostgres from "../../TestPostgres.ts"
import { temporaryFolder } from "../../TestStorage.ts"

describe.runIf(TestPostgres.isInstalled)("a text with the character U+0000 on postgres", () => {
  it.live("is rejected with a 400, and the same connections serve the next requests", () =>
    Effect.gen(function* () {
      const url = Redacted.make(yield* TestPostgres.create)
      const service = layerAt(yield* temporaryFolder, {}, undefined, undefined, undefined, undefined, undefined, url)
      yield* Effect.gen(function* () {
        const { ask, managementKey: key } = yield* TestGateway
        for (const answer of [
          yield* post("/api/v1/keys", { name: "a\u0000b" }, { key }),
          yield* post("/api/v1/guardrails", { name: "\u0000" }, { key })
        ]) {
          const { error } = envelopeOf(answer)
          expect(error).toMatchObject({
            code: 400,
            message: "invalid request parameters: a text contains the character U+0000"
          })
        }
        expect([400, 404]).toContain((yield* ask("/api/v1/keys/a%00b", { key })).status)
        expect([400, 404]).toContain((yield* ask("/api/v1/files/a%00b")).status)
        expect((yield* post("/api/v1/keys", { name: "ab" }, { key })).status).toBe(201)
      }).pipe(Effect.provide(service))
    }).pipe(Effect.scoped)
  )
})
