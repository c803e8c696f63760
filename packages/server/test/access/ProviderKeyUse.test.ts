import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Redacted, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as ProviderKeyUse from "../../src/access/ProviderKeyUse.ts"
import * as ProviderKeys from "../../src/access/ProviderKeys.ts"
import * as Vault from "../../src/access/Vault.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
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
})
