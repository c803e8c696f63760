/** Two processes that change the same rows of Postgres at the same time. SQLite has one writer. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { GuardrailStore } from "../../src/access/GuardrailStore.ts"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { layerSql as layerProviderKeys, maxKeys, ProviderKeys } from "../../src/access/ProviderKeys.ts"
import { layerSql as layerVault, Vault } from "../../src/access/Vault.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import * as GatewayServerConfig from "../../src/GatewayServerConfig.ts"
import { overlap } from "../Overlap.ts"
import { databases } from "../TestDatabases.ts"
import { layerAt } from "../TestStorage.ts"

const setUp = Effect.gen(function* () {
  const { id: workspaceId, organizationId } = yield* (yield* WorkspaceStore).ensureDefault()
  const { key } = yield* (yield* KeyStore).create({ organizationId, workspaceId, name: "k" })
  return { organizationId, workspaceId, hash: key.hash }
})

const providerKey = (workspaceId: string, organizationId: string) => ({
  workspaceId,
  organizationId,
  provider: "cohere",
  secret: Redacted.make("co-0123456789abcdef")
})

/** The vault of a service without a master key in its settings. */
const layerVaultSql = Layer.provide(layerVault, GatewayServerConfig.layer({}))

/** It only notes the master key. */
const openVault = Layer.succeed(
  Vault,
  Vault.of({
    seal: (secret) => Effect.succeed({ masterKeyId: "old", dataKey: "none", secret: Redacted.value(secret) }),
    open: ({ secret }) => Effect.succeed(Redacted.make(secret)),
    rewrap: (sealed) => Effect.succeed(sealed.masterKeyId === "new" ? undefined : { ...sealed, masterKeyId: "new" })
  })
)

/** Many keys of the workspace, in the order of their hashes. */
const manyKeys = Effect.fnUntraced(function* (hash: string, many: number) {
  const sql = yield* SqlClient
  yield* sql`INSERT INTO keys (hash, organization_id, workspace_id, name, label, is_management, is_free_tier,
      disabled, free_daily_limit, created_at, updated_at)
    SELECT 'many' || lpad(n::text, 6, '0'), organization_id, workspace_id, name, label, is_management, is_free_tier,
      disabled, free_daily_limit, created_at, updated_at
    FROM keys, generate_series(1, ${many}::int) AS n WHERE hash = ${hash}`
  return Array.from({ length: many }, (_, n) => `many${String(n + 1).padStart(6, "0")}`)
})

describe.each(databases.filter(({ name }) => name === "postgres"))(
  "changes at the same time on $name",
  ({ create, layer }) => {
    it.live("of different fields of a key are all kept", () =>
      Effect.gen(function* () {
        const keys = yield* KeyStore
        const { hash, organizationId } = yield* setUp
        yield* overlap(
          keys.update(organizationId, hash, { name: "new", limit: MicroCredits.make(7) }),
          keys.update(organizationId, hash, { disabled: true, limitReset: "weekly" })
        )
        expect(yield* keys.get(organizationId, hash)).toMatchObject({
          name: "new",
          limit: 7,
          disabled: true,
          limitReset: "weekly"
        })
      }).pipe(Effect.provide(layer))
    )

    it.live("of different fields of a workspace are all kept", () =>
      Effect.gen(function* () {
        const workspaces = yield* WorkspaceStore
        const { organizationId, workspaceId } = yield* setUp
        yield* overlap(
          workspaces.update(organizationId, workspaceId, { name: "new" }),
          workspaces.update(organizationId, workspaceId, { defaultCallbackUrl: "https://hooks.example/" })
        )
        expect(yield* workspaces.find(workspaceId)).toMatchObject({
          name: "new",
          defaultCallbackUrl: "https://hooks.example/"
        })
      }).pipe(Effect.provide(layer))
    )

    it.live("of different fields of a guardrail are all kept", () =>
      Effect.gen(function* () {
        const guardrails = yield* GuardrailStore
        const { organizationId } = yield* setUp
        const { id } = yield* guardrails.create({ organizationId, name: "g" })
        yield* overlap(
          guardrails.update(organizationId, id, { limit: MicroCredits.make(7) }),
          guardrails.update(organizationId, id, { allowedModels: ["a/b"], limitReset: "daily" })
        )
        expect(yield* guardrails.get(organizationId, id)).toMatchObject({
          limit: 7,
          allowedModels: ["a/b"],
          limitReset: "daily"
        })
      }).pipe(Effect.provide(layer))
    )

    it.live("of different fields of a provider key are all kept, and never combine what is not allowed", () =>
      Effect.gen(function* () {
        const providerKeys = yield* ProviderKeys
        const { organizationId, workspaceId } = yield* setUp
        const { id } = yield* providerKeys.create(providerKey(workspaceId, organizationId))
        yield* overlap(
          providerKeys.update(organizationId, id, { isFallback: true, secret: Redacted.make("co-fedcba9876543210") }),
          providerKeys.update(organizationId, id, { name: "new" })
        )
        expect(yield* providerKeys.get(organizationId, id)).toMatchObject({ name: "new", isFallback: true })
        const [, refused] = yield* overlap(
          providerKeys.update(organizationId, id, { disabled: true }),
          Effect.flip(providerKeys.update(organizationId, id, { isByokOnly: true }))
        )
        expect(refused).toMatchObject({ value: { path: "is_byok_only" } })
      }).pipe(Effect.provide(layer))
    )

    it.live("add no key to a workspace that is deleted meanwhile", () =>
      Effect.gen(function* () {
        const workspaces = yield* WorkspaceStore
        const { organizationId } = yield* setUp
        const { id: workspaceId } = yield* workspaces.create(organizationId, { name: "w", slug: "w" })
        const [, refused] = yield* overlap(
          workspaces.remove(organizationId, workspaceId),
          Effect.flip((yield* KeyStore).create({ organizationId, workspaceId, name: "k" }))
        )
        expect(refused).toMatchObject({ value: { _tag: "WorkspaceNotFound" } })
      }).pipe(Effect.provide(layer))
    )

    it.live("delete no workspace that a key is added to meanwhile", () =>
      Effect.gen(function* () {
        const workspaces = yield* WorkspaceStore
        const { organizationId } = yield* setUp
        const { id: workspaceId } = yield* workspaces.create(organizationId, { name: "w", slug: "w" })
        const [, refused] = yield* overlap(
          (yield* KeyStore).create({ organizationId, workspaceId, name: "k" }),
          Effect.flip(workspaces.remove(organizationId, workspaceId))
        )
        expect(refused).toMatchObject({ value: { _tag: "WorkspaceInUse" } })
      }).pipe(Effect.provide(layer))
    )

    it.live("of a provider key's secret are kept when the old one is encrypted again", () =>
      Effect.gen(function* () {
        const providerKeys = yield* ProviderKeys
        const { organizationId, workspaceId } = yield* setUp
        const { id } = yield* providerKeys.create(providerKey(workspaceId, organizationId))
        yield* overlap(
          providerKeys.update(organizationId, id, { secret: Redacted.make("the new one") }),
          providerKeys.rewrap
        )
        const credential = yield* providerKeys.credential(workspaceId, `byok_${id}`)
        expect(credential?.secret === undefined ? undefined : Redacted.value(credential.secret)).toBe("the new one")
      }).pipe(Effect.provide(Layer.provideMerge(Layer.provide(layerProviderKeys, openVault), layer)))
    )

    it.live("never give a workspace more provider keys than it may have", () =>
      Effect.gen(function* () {
        const location = yield* create
        const other = yield* Layer.build(layerAt(location))
        yield* Effect.gen(function* () {
          const providerKeys = yield* ProviderKeys
          const { organizationId, workspaceId } = yield* setUp
          const input = providerKey(workspaceId, organizationId)
          yield* Effect.replicateEffect(providerKeys.create(input), maxKeys - 3, { discard: true })
          const theirs = Effect.provide(
            Effect.flatMap(ProviderKeys, (keys) => keys.create(input)),
            other
          )
          const exits = yield* Effect.forEach(
            Array.from({ length: 12 }, (_, n) => (n % 2 === 0 ? theirs : providerKeys.create(input))),
            Effect.exit,
            { concurrency: "unbounded" }
          )
          expect(exits.filter(Exit.isSuccess)).toHaveLength(3)
          const stored = yield* providerKeys.list(workspaceId)
          expect(new Set(stored.map(({ sortOrder }) => sortOrder)).size).toBe(maxKeys)
        }).pipe(Effect.provide(layerAt(location)))
      })
    )

    it.live("store the first secrets of a database, whose master key is created then", () =>
      Effect.gen(function* () {
        const providerKeys = yield* ProviderKeys
        const { organizationId, workspaceId } = yield* setUp
        // More than there are connections.
        yield* Effect.replicateEffect(providerKeys.create(providerKey(workspaceId, organizationId)), 15, {
          concurrency: "unbounded"
        })
        expect(yield* providerKeys.list(workspaceId)).toHaveLength(15)
      }).pipe(Effect.provide(Layer.provideMerge(Layer.provide(layerProviderKeys, layerVaultSql), layer)))
    )

    it.live(
      "replace a secret more often than there are connections, in a process that has not read the master key",
      () =>
        Effect.gen(function* () {
          const location = yield* create
          const process = Layer.provide(layerProviderKeys, layerVaultSql).pipe(Layer.provideMerge(layerAt(location)))
          const { id, organizationId } = yield* Effect.gen(function* () {
            const { organizationId, workspaceId } = yield* setUp
            return yield* (yield* ProviderKeys).create(providerKey(workspaceId, organizationId))
          }).pipe(Effect.provide(process))
          yield* Effect.gen(function* () {
            const providerKeys = yield* ProviderKeys
            yield* Effect.replicateEffect(
              providerKeys.update(organizationId, id, { secret: Redacted.make("the new one") }),
              15,
              { concurrency: "unbounded" }
            )
          }).pipe(Effect.provide(process))
        })
    )

    it.live("assign no guardrail that is deleted meanwhile", () =>
      Effect.gen(function* () {
        const guardrails = yield* GuardrailStore
        const { hash, organizationId } = yield* setUp
        const { id } = yield* guardrails.create({ organizationId, name: "g" })
        const [, refused] = yield* overlap(
          guardrails.remove(organizationId, id),
          Effect.flip(guardrails.assign(organizationId, id, [hash]))
        )
        expect(refused).toMatchObject({ value: { _tag: "GuardrailNotFound" } })
      }).pipe(Effect.provide(layer))
    )

    it.live("delete a guardrail that is assigned meanwhile, and release its keys", () =>
      Effect.gen(function* () {
        const guardrails = yield* GuardrailStore
        const { hash, organizationId } = yield* setUp
        const { id } = yield* guardrails.create({ organizationId, name: "g" })
        const exits = yield* overlap(
          guardrails.assign(organizationId, id, [hash]),
          guardrails.remove(organizationId, id)
        )
        expect(exits.map(({ _tag }) => _tag)).toEqual(["Success", "Success"])
        expect((yield* (yield* KeyStore).get(organizationId, hash)).guardrailId).toBeNull()
      }).pipe(Effect.provide(layer))
    )

    it.live("assign no guardrail to a key that is deleted meanwhile, and count what was assigned", () =>
      Effect.gen(function* () {
        const guardrails = yield* GuardrailStore
        const { hash, organizationId } = yield* setUp
        const { id } = yield* guardrails.create({ organizationId, name: "g" })
        const [, assigned] = yield* overlap(
          (yield* KeyStore).remove(organizationId, hash),
          guardrails.assign(organizationId, id, [hash])
        )
        expect(assigned).toMatchObject({ value: { assignedCount: 0, notFound: [hash] } })
      }).pipe(Effect.provide(layer))
    )

    it.live("report the guardrail that another assignment gave the key", () =>
      Effect.gen(function* () {
        const guardrails = yield* GuardrailStore
        const { hash, organizationId } = yield* setUp
        const { id: first } = yield* guardrails.create({ organizationId, name: "first" })
        const { id: second } = yield* guardrails.create({ organizationId, name: "second" })
        const [, assigned] = yield* overlap(
          guardrails.assign(organizationId, first, [hash]),
          guardrails.assign(organizationId, second, [hash])
        )
        expect(assigned).toMatchObject({ value: { replaced: [{ keyHash: hash, previousGuardrailId: first }] } })
      }).pipe(Effect.provide(layer))
    )

    it.live("assign many keys in any order, and delete the guardrail that they had", () =>
      Effect.gen(function* () {
        const guardrails = yield* GuardrailStore
        const { hash, organizationId } = yield* setUp
        const hashes = yield* manyKeys(hash, 1500)
        const ids = yield* Effect.forEach(["former", "up", "down"], (name) =>
          Effect.map(guardrails.create({ organizationId, name }), ({ id }) => id)
        )
        const [former = "", up = "", down = ""] = ids
        for (let round = 0; round < 3; round++) {
          yield* guardrails.assign(organizationId, former, hashes)
          yield* Effect.all(
            [
              guardrails.assign(organizationId, up, hashes),
              guardrails.assign(organizationId, down, hashes.toReversed()),
              guardrails.unassign(organizationId, former, hashes.toReversed())
            ],
            { concurrency: "unbounded" }
          )
        }
        yield* guardrails.assign(organizationId, former, hashes)
        yield* Effect.all(
          [guardrails.assign(organizationId, down, hashes.toReversed()), guardrails.remove(organizationId, former)],
          { concurrency: "unbounded" }
        )
      }).pipe(Effect.provide(layer))
    )
  }
)
