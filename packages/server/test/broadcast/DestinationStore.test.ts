import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { Vault } from "../../src/access/Vault.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import * as DestinationStore from "../../src/broadcast/DestinationStore.ts"
import { Outbox } from "../../src/events/Outbox.ts"
import { databases } from "../TestDatabases.ts"
import { layerAt } from "../TestStorage.ts"
import { event, options } from "./TestEvent.ts"

const openVault = Layer.succeed(
  Vault,
  Vault.of({
    seal: (secret) => Effect.succeed({ masterKeyId: "none", dataKey: "none", secret: Redacted.value(secret) }),
    open: ({ secret }) => Effect.succeed(Redacted.make(secret)),
    rewrap: () => Effect.succeed(undefined)
  })
)

// SQLite has one writer: an event is visible before a destination can be created after it.
describe.each(databases.filter(({ name }) => name === "postgres"))("a new destination on $name", ({ create }) => {
  it.live("starts before an event that is committed later than a newer one", () =>
    Effect.gen(function* () {
      const location = yield* create
      const other = yield* Layer.build(layerAt(location))
      const stores = DestinationStore.layerSql.pipe(Layer.provide(openVault), Layer.provideMerge(layerAt(location)))
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient
        const outbox = yield* Outbox
        const { id: workspaceId, organizationId } = yield* (yield* WorkspaceStore).ensureDefault()
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
        yield* (yield* DestinationStore.DestinationStore).create({
          organizationId,
          workspaceId,
          name: "d",
          type: "webhook",
          enabled: true,
          options: options({ url: "https://example.com/" }),
          secrets: Redacted.make({ headers: {}, signing_secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLawM" })
        })
        yield* Deferred.succeed(commit, undefined)
        yield* Fiber.join(writer)
        const [row] = yield* sql`SELECT delivered FROM destinations`
        const { events } = yield* outbox.readOf(workspaceId, Number(row?.["delivered"]), 10)
        expect(events.map(({ id }) => id)).toContain("evt_late")
      }).pipe(Effect.provide(stores))
    })
  )
})
