import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { Vault } from "../../src/access/Vault.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import * as DestinationStore from "../../src/broadcast/DestinationStore.ts"
import { Outbox } from "../../src/events/Outbox.ts"
import * as TestOutbox from "../events/TestOutbox.ts"
import { overlap } from "../Overlap.ts"
import { databases } from "../TestDatabases.ts"
import { layerAt } from "../TestStorage.ts"
import { event, options } from "./TestEvent.ts"

const openVault = Layer.succeed(
  Vault,
  Vault.of({
    seal: (secret) => Effect.succeed({ masterKeyId: "none", dataKey: "none", secret: Redacted.value(secret) }),
    open: ({ secret }) => Effect.succeed(Redacted.make(secret)),
    rewrap: (sealed) => Effect.succeed(sealed.masterKeyId === "new" ? undefined : { ...sealed, masterKeyId: "new" })
  })
)

const secrets = (signing_secret: string) => Redacted.make({ headers: {}, signing_secret })

/** Settings of a destination. */
const settings = {
  name: "d",
  type: "webhook",
  enabled: true,
  options: options({ url: "https://example.com/" }),
  secrets: secrets("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLawM")
} as const

const storesAt = (location: string) =>
  DestinationStore.layerSql.pipe(Layer.provide(openVault), Layer.provideMerge(layerAt(location)))

describe.each(databases)("a destination on $name", ({ create }) => {
  it.live("is stored with an encrypted URL", () =>
    Effect.gen(function* () {
      const url = "https://example.com/in/token-in-the-path"
      const { id: workspaceId, organizationId } = yield* (yield* WorkspaceStore).ensureDefault()
      const store = yield* DestinationStore.DestinationStore
      const { id } = yield* store.create({ organizationId, workspaceId, ...settings, options: options({ url }) })
      const [row] = yield* (yield* SqlClient)`SELECT options FROM destinations`
      expect(row?.["options"]).not.toContain("token-in-the-path")
      const read = yield* store.get(organizationId, id)
      expect(read.options).toEqual(options({ url }))
      expect(Redacted.value(read.secrets)).toEqual(Redacted.value(settings.secrets))
    }).pipe(Effect.provide(Layer.unwrap(Effect.map(create, storesAt))))
  )
})

// SQLite has one writer: an event is visible before a destination can be created after it.
describe.each(databases.filter(({ name }) => name === "postgres"))("a new destination on $name", ({ create }) => {
  it.live("starts before an event that is committed later than a newer one", () =>
    Effect.gen(function* () {
      const location = yield* create
      const other = yield* Layer.build(layerAt(location))
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient
        const outbox = yield* Outbox
        const { id: workspaceId, organizationId } = yield* (yield* WorkspaceStore).ensureDefault()
        yield* TestOutbox.setDestination(workspaceId)
        const write = (id: string) => outbox.write(event({ id, workspace_id: workspaceId }))
        const written = yield* Deferred.make<void>()
        const commit = yield* Deferred.make<void>()
        const late = Effect.gen(function* () {
          const outbox = yield* Outbox
          yield* outbox.write(event({ id: "evt_late", workspace_id: workspaceId }))
          yield* Deferred.succeed(written, undefined)
          yield* Deferred.await(commit)
        })
        const open = Effect.flatMap(SqlClient, (sql) => sql.withTransaction(late))
        const writer = yield* Effect.forkChild(Effect.provide(open, other))
        yield* Deferred.await(written)
        yield* sql.withTransaction(write("evt_early"))
        const store = yield* DestinationStore.DestinationStore
        const { id: created } = yield* store.create({ organizationId, workspaceId, ...settings })
        yield* Deferred.succeed(commit, undefined)
        yield* Fiber.join(writer)
        const [row] = yield* sql`SELECT delivered FROM destinations WHERE id = ${created}`
        const { events } = yield* TestOutbox.read(workspaceId, Number(row?.["delivered"]))
        expect(events.map(({ id }) => id)).toContain("evt_late")
      }).pipe(Effect.provide(storesAt(location)))
    })
  )
})

// SQLite has one writer.
describe.each(databases.filter(({ name }) => name === "postgres"))(
  "destinations that are changed at the same time on $name",
  ({ create }) => {
    const stores = Layer.unwrap(Effect.map(create, storesAt))

    const setUp = Effect.gen(function* () {
      const store = yield* DestinationStore.DestinationStore
      const { id: workspaceId, organizationId } = yield* (yield* WorkspaceStore).ensureDefault()
      const owner = { workspaceId, organizationId }
      const { id } = yield* store.create({ ...owner, ...settings })
      return { store, owner, organizationId, id }
    })

    it.live("keep all changes, and are read again after each", () =>
      Effect.gen(function* () {
        const { id, organizationId, store } = yield* setUp
        yield* overlap(
          store.update(organizationId, id, (present) => Effect.succeed({ ...present, name: "new" })),
          store.update(organizationId, id, (present) => Effect.succeed({ ...present, enabled: false }))
        )
        expect(yield* store.get(organizationId, id)).toMatchObject({ name: "new", enabled: false })
        yield* store.update(organizationId, id, (present) => Effect.succeed({ ...present, enabled: true }))
        expect(yield* store.serve).toEqual([{ id, revision: 4 }])
      }).pipe(Effect.provide(stores))
    )

    it.live("stay where they have been served to", () =>
      Effect.gen(function* () {
        const { id, organizationId, store } = yield* setUp
        yield* store.serve
        yield* overlap(
          store.advance(id, 7),
          store.update(organizationId, id, (present) => Effect.succeed({ ...present, name: "new" }))
        )
        expect((yield* store.open(id))?.delivered).toBe(7)
      }).pipe(Effect.provide(stores))
    )

    it.live("keep a new secret when the old one is encrypted again", () =>
      Effect.gen(function* () {
        const { id, organizationId, store } = yield* setUp
        yield* overlap(
          store.update(organizationId, id, (present) => Effect.succeed({ ...present, secrets: secrets("whsec_bmV3") })),
          store.rewrap
        )
        const { secrets: stored } = yield* store.get(organizationId, id)
        expect(Redacted.value(stored).signing_secret).toBe("whsec_bmV3")
      }).pipe(Effect.provide(stores))
    )

    it.live("are never more than a workspace may have", () =>
      Effect.gen(function* () {
        const { owner, store } = yield* setUp
        const exits = yield* Effect.replicateEffect(Effect.exit(store.create({ ...owner, ...settings })), 30, {
          concurrency: "unbounded"
        })
        expect(exits.filter(Exit.isSuccess)).toHaveLength(DestinationStore.maxPerWorkspace - 1)
      }).pipe(Effect.provide(stores))
    )
  }
)
