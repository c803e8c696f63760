import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Redacted, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as ProviderKeyUse from "../../src/access/ProviderKeyUse.ts"
import * as ProviderKeys from "../../src/access/ProviderKeys.ts"
import * as Vault from "../../src/access/Vault.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { StorageError } from "../../src/storage/sql/StorageError.ts"
import { databases } from "../TestDatabases.ts"

/** A vault that does not encrypt. */
const openVault = Layer.succeed(
  Vault.Vault,
  Vault.Vault.of({
    seal: (secret) => Effect.succeed({ masterKeyId: "none", dataKey: "none", secret: Redacted.value(secret) }),
    open: ({ secret }) => Effect.succeed(Redacted.make(secret)),
    rewrap: () => Effect.succeed(undefined)
  })
)

describe.each(databases)("the last use of provider keys on $name", ({ layer: stores }) => {
  const layer = ProviderKeys.layerSql.pipe(Layer.provide(openVault), Layer.provideMerge(stores))

  it.effect("is written once a minute and at the end, and never replaces a later one", () =>
    Effect.gen(function* () {
      const keys = yield* ProviderKeys.ProviderKeys
      const { id: workspaceId, organizationId } = yield* (yield* WorkspaceStore).ensureDefault()
      const create = keys.create({ organizationId, workspaceId, provider: "p", secret: Redacted.make("s") })
      const [used, unused] = [yield* create, yield* create]
      const lastOf = (id: string) =>
        Effect.map(keys.get(organizationId, id), ({ outcome, outcomeStatus, usedAt }) => [
          usedAt,
          outcome,
          outcomeStatus
        ])
      const scope = yield* Scope.make()
      const record = Context.get(
        yield* Layer.buildWithScope(ProviderKeyUse.layer(), scope),
        ProviderKeyUse.ProviderKeyUse
      )
      const credential = yield* keys.credentialOf(organizationId, used.id)
      if (credential === undefined) return expect.fail("no credential")
      record(credential, { at: 1000, outcome: "Success", status: undefined })
      record(credential, { at: 2000, outcome: "Unauthorized", status: 401 })
      // That of the gateway, and of a key that is deleted.
      record({ id: "gateway" }, { at: 3000, outcome: "Success", status: undefined })
      record({ id: "byok_none" }, { at: 3000, outcome: "Success", status: undefined })
      expect(yield* lastOf(used.id)).toEqual([null, null, null])
      yield* TestClock.adjust("1 minute")
      for (let turn = 0; turn < 200; turn++) yield* Effect.yieldNow
      yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 200)))
      expect(yield* lastOf(used.id)).toEqual([2000, "Unauthorized", 401])
      expect(yield* lastOf(unused.id)).toEqual([null, null, null])

      yield* keys.used(new Map([[used.id, { at: 1999, outcome: "Timeout", status: undefined }]]))
      expect(yield* lastOf(used.id)).toEqual([2000, "Unauthorized", 401])
      record(credential, { at: 4000, outcome: "Success", status: undefined })
      yield* Scope.close(scope, Exit.void)
      expect(yield* lastOf(used.id)).toEqual([4000, "Success", null])
    }).pipe(Effect.provide(layer))
  )

  it.effect("is kept if it cannot be written, unless there is a later one", () =>
    Effect.gen(function* () {
      const keys = yield* ProviderKeys.ProviderKeys
      const written: Array<ReadonlyMap<string, ProviderKeys.Use>> = []
      const failing = ProviderKeys.ProviderKeys.of({
        ...keys,
        used: (uses) =>
          Effect.suspend(() => {
            written.push(uses)
            if (written.length > 1) return Effect.void
            // A call that ends while the write fails.
            record({ id: "byok_b" }, { at: 3000, outcome: "Success", status: undefined })
            return Effect.fail(new StorageError({ operation: "test", message: "A deadlock.", retryable: true }))
          })
      })
      const scope = yield* Scope.make()
      const record = Context.get(
        yield* Layer.buildWithScope(
          ProviderKeyUse.layer().pipe(Layer.provide(Layer.succeed(ProviderKeys.ProviderKeys, failing))),
          scope
        ),
        ProviderKeyUse.ProviderKeyUse
      )
      record({ id: "byok_a" }, { at: 1000, outcome: "Success", status: undefined })
      record({ id: "byok_b" }, { at: 2000, outcome: "Success", status: undefined })
      yield* TestClock.adjust("1 minute")
      yield* Scope.close(scope, Exit.void)
      expect([...(written[1] ?? [])].map(([id, { at }]) => [id, at])).toEqual([
        ["b", 3000],
        ["a", 1000]
      ])
    }).pipe(Effect.provide(layer))
  )

  it.effect("is written by several processes at once, whatever the order of their calls", () =>
    Effect.gen(function* () {
      const keys = yield* ProviderKeys.ProviderKeys
      const { id: workspaceId, organizationId } = yield* (yield* WorkspaceStore).ensureDefault()
      const create = keys.create({ organizationId, workspaceId, provider: "p", secret: Redacted.make("s") })
      const ids = yield* Effect.forEach(Array.from({ length: 20 }), () => Effect.map(create, ({ id }) => id))
      const used = (order: ReadonlyArray<string>, at: number) =>
        keys.used(new Map(order.map((id) => [id, { at, outcome: "Success" as const, status: undefined }])))
      for (let round = 0; round < 5; round++) {
        yield* Effect.all([used(ids, round * 2 + 1), used(ids.toReversed(), round * 2 + 2)], { concurrency: 2 })
      }
      const [first = ""] = ids
      expect((yield* keys.get(organizationId, first)).usedAt).toBe(10)
    }).pipe(Effect.provide(layer))
  )
})
