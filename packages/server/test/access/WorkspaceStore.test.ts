import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Layer } from "effect"
import { layerWebCrypto, SecureRandom } from "effect/crypto/SecureRandom"
import { SqlClient } from "effect/sql/SqlClient"
import { Accounting } from "../../src/accounting/Accounting.ts"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import * as GatewayServerConfig from "../../src/GatewayServerConfig.ts"
import * as KeyFormat from "../../src/access/KeyFormat.ts"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { run } from "../Processes.ts"
import { layer, layerAt, create, createEmpty } from "../TestStorage.ts"

describe("WorkspaceStore", () => {
  it.effect("creates a workspace with credits and two keys on the first run, and nothing on the next", () =>
    Effect.gen(function* () {
      const location = yield* create
      const first = yield* Effect.gen(function* () {
        const made = yield* (yield* WorkspaceStore).bootstrap({ credits: MicroCredits.make(5_000_000) })
        expect(made).not.toBe(null)
        return made
      }).pipe(Effect.provide(layerAt(location)))
      if (first === null) return
      yield* Effect.gen(function* () {
        expect(yield* (yield* WorkspaceStore).bootstrap()).toBe(null)
        const keys = yield* KeyStore
        const management = yield* keys.authenticate(first.managementKey)
        const ordinary = yield* keys.authenticate(first.ordinaryKey)
        expect(management.key).toMatchObject({ isManagement: true, workspaceId: first.workspace.id })
        expect(ordinary.key).toMatchObject({ isManagement: false, workspaceId: first.workspace.id })
        const balance = yield* (yield* Accounting).balanceOf(first.workspace.id)
        expect(balance).toMatchObject({ balance: 5_000_000 })
        expect((yield* keys.list(first.workspace)).items.length).toBe(2)
      }).pipe(Effect.provide(layerAt(location)))
    })
  )

  it.effect("gives the first keys the free requests per day of the settings", () =>
    Effect.gen(function* () {
      const made = yield* (yield* WorkspaceStore).bootstrap()
      const { items } = yield* (yield* KeyStore).list(made?.workspace ?? { organizationId: "none" })
      expect(items.map((key) => key.freeDailyLimit)).toEqual([7, 7])
    }).pipe(Effect.provide(Layer.provide(layer, GatewayServerConfig.layer({ freeDailyRequests: 7 }))))
  )

  it.effect("creates the key that the operator provides and no other, and never again once it is revoked", () =>
    Effect.gen(function* () {
      const workspaces = yield* WorkspaceStore
      const keys = yield* KeyStore
      const random = yield* SecureRandom
      const ordinary = yield* KeyFormat.generate(random, "ordinary")
      expect(Exit.hasDies(yield* Effect.exit(workspaces.bootstrapWith(ordinary)))).toBe(true)
      const provided = yield* KeyFormat.generate(random, "management")
      const { state, workspace } = yield* workspaces.bootstrapWith(provided, { credits: MicroCredits.make(5_000_000) })
      expect({ state, balance: workspace.balance }).toEqual({ state: "created", balance: 5_000_000 })
      const { key } = yield* keys.authenticate(provided.key)
      expect(key).toMatchObject({ hash: provided.hash, label: provided.label, isManagement: true, creatorUserId: null })
      expect((yield* keys.list(workspace)).items.length).toBe(1)

      expect((yield* workspaces.bootstrapWith(provided)).state).toBe("accepted")
      expect(yield* workspaces.bootstrap()).toBe(null)
      const another = yield* KeyFormat.generate(random, "management")
      expect(yield* workspaces.bootstrapWith(another)).toMatchObject({
        state: "refused",
        workspace: { id: workspace.id }
      })
      yield* keys.remove(workspace.organizationId, provided.hash)
      expect((yield* workspaces.bootstrapWith(provided)).state).toBe("refused")
      expect((yield* keys.list({ ...workspace, includeDisabled: true })).items).toEqual([])
    }).pipe(Effect.provide([layer, layerWebCrypto]))
  )

  it.effect("creates the first keys also if the command line created the workspace before", () =>
    Effect.gen(function* () {
      const workspaces = yield* WorkspaceStore
      const early = yield* workspaces.ensureDefault()
      const first = yield* workspaces.bootstrap()
      expect(first?.workspace.id).toBe(early.id)
      expect((yield* workspaces.ensureDefault()).id).toBe(early.id)
      expect(yield* (yield* SqlClient)`SELECT id FROM workspaces`).toEqual([{ id: early.id }])
    }).pipe(Effect.provide(layer))
  )

  it.live(
    "creates one workspace when several processes start on an empty database at once",
    () =>
      Effect.gen(function* () {
        const location = yield* createEmpty
        const said = yield* Effect.all(
          Array.from({ length: 4 }, () => run("storage/sql/fixtures/bootstrap.ts", location)),
          { concurrency: "unbounded" }
        )
        expect(said.toSorted()).toEqual(["first", "later", "later", "later"])
      }),
    60_000
  )

  it.effect("updates the given fields and keeps the others", () =>
    Effect.gen(function* () {
      const workspaces = yield* WorkspaceStore
      const { id, organizationId } = yield* workspaces.ensureDefault()
      const url = "https://example.com/hook"
      yield* workspaces.update(organizationId, id, { defaultCallbackUrl: url })
      const changed = yield* workspaces.update(organizationId, id, { fileShape: "compat_b" })
      expect(changed).toMatchObject({
        defaultCallbackUrl: url,
        fileShape: "compat_b",
        name: "Default",
        isDefault: true
      })
      expect(yield* workspaces.update(organizationId, id, { defaultCallbackUrl: null })).toMatchObject({
        defaultCallbackUrl: null,
        fileShape: "compat_b"
      })
      expect((yield* Effect.flip(workspaces.update("elsewhere", id, {})))._tag).toBe("WorkspaceNotFound")
    }).pipe(Effect.provide(layer))
  )

  it.effect(
    "resolves the own workspace of an ordinary key, and every workspace of a management key's organization",
    () =>
      Effect.gen(function* () {
        const workspaces = yield* WorkspaceStore
        const keys = yield* KeyStore
        const main = yield* workspaces.ensureDefault()
        const { organizationId } = main
        const other = yield* workspaces.create(organizationId, { name: "Other", slug: "other" })
        const { key: ordinary } = yield* keys.create({ organizationId, workspaceId: other.id, name: "o" })
        const { key: management } = yield* keys.create({
          organizationId,
          workspaceId: other.id,
          name: "m",
          isManagement: true
        })
        expect((yield* workspaces.resolve(ordinary)).id).toBe(other.id)
        expect((yield* workspaces.resolve(ordinary, other.id)).id).toBe(other.id)
        expect((yield* workspaces.resolve(management)).id).toBe(main.id)
        expect((yield* workspaces.resolve(management, other.id)).id).toBe(other.id)
        const outside = yield* Effect.flip(workspaces.resolve(ordinary, main.id))
        const nowhere = yield* Effect.flip(workspaces.resolve(ordinary, "7b3b7e0e-6c1b-4d2e-9a53-000000000000"))
        expect(outside._tag).toBe("NotAMember")
        expect(nowhere.message).toBe(outside.message)
        expect((yield* Effect.flip(workspaces.resolve(management, "nowhere")))._tag).toBe("NotAMember")
      }).pipe(Effect.provide(layer))
  )
})
