import { InstancesResponse, SettingsResponse } from "@model-gateway/core/System"
import { expect, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Redacted, Schema, Scope } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { EffectiveSettings } from "../../src/EffectiveSettings.ts"
import * as Migrations from "../../src/storage/sql/Migrations.ts"
import { layerSql, ProcessInstance } from "../../src/storage/sql/ProcessInstance.ts"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { inSet } from "../TestEnvelope.ts"
import { layer, TestGateway } from "../TestGateway.ts"
import { kind } from "../TestStorage.ts"

const instances = Schema.decodeUnknownSync(Schema.fromJsonString(InstancesResponse), { onExcessProperty: "error" })

const settings = Schema.decodeUnknownSync(Schema.fromJsonString(SettingsResponse), { onExcessProperty: "error" })

const keyOf = Effect.fnUntraced(function* (role: "viewer" | "operator") {
  const { workspace } = yield* TestGateway
  const { organizationId, id: workspaceId } = workspace
  const { plain } = yield* (yield* KeyStore).create({
    organizationId,
    workspaceId,
    name: "k",
    isManagement: true,
    role
  })
  return Redacted.value(plain)
})

it.layer(layer(), { excludeTestServices: true })("the system", (it) => {
  it.effect("lists the processes that serve, with their versions and the states of their parts, until they end", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const key = yield* keyOf("viewer")
      const read = Effect.map(ask("/api/v1/instances", { key }), (answer) => {
        inSet("listInstances", answer)
        return instances(answer.text)
      })
      const own = (yield* ProcessInstance).id
      const alone = yield* read
      const { newest } = Migrations.empty
      expect(alone.database).toEqual({ kind, schema_version: newest })
      expect(alone.data).toMatchObject([
        {
          id: own,
          is_current: true,
          version: null,
          worker: null,
          status: "ready",
          parts: { database: { status: "ready" } }
        }
      ])

      const scope = yield* Scope.make()
      const others = yield* Layer.buildWithScope(Layer.fresh(layerSql({ heartbeatEvery: "20 millis" })), scope)
      const other = Context.get(others, ProcessInstance)
      // One that has not described itself serves no requests: a command.
      expect((yield* read).data.map(({ id }) => id)).toEqual([own])
      const failing = { status: "degraded", message: "Why." } as const
      yield* other.describe({
        version: "9.9.9",
        worker: 2,
        checkedAt: 1000,
        state: { status: "degraded", parts: { object_store: failing } }
      })
      yield* Effect.sleep("200 millis")
      const both = yield* read
      expect(both.data.map(({ id }) => id)).toEqual([own, other.id])
      expect(both.data[1]).toMatchObject({
        is_current: false,
        version: "9.9.9",
        worker: 2,
        checked_at: "1970-01-01T00:00:01.000Z",
        status: "degraded",
        parts: { object_store: failing }
      })
      yield* Scope.close(scope, Exit.void)
      expect((yield* read).data.map(({ id }) => id)).toEqual([own])
    })
  )

  it.effect("leaves out a row that cannot be read, and is for management keys", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key, ordinaryKey } = yield* TestGateway
      const sql = yield* SqlClient
      const own = (yield* ProcessInstance).id
      yield* sql`INSERT INTO processes (id, started_at, heartbeat_at, description) VALUES ('proc_odd', 0, 0, '{}')`
      const { data } = instances((yield* ask("/api/v1/instances", { key })).text)
      expect(data.map(({ id }) => id)).toEqual([own])
      yield* sql`DELETE FROM processes WHERE id = 'proc_odd'`
      expect((yield* ask("/api/v1/instances", { key: ordinaryKey })).status).toBe(403)
      expect((yield* ask("/api/v1/instances?id=x", { key })).status).toBe(400)
    })
  )

  it.effect("lists no settings by default, and shows them to admins only", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key } = yield* TestGateway
      const own = (yield* ProcessInstance).id
      const answer = yield* ask("/api/v1/settings", { key })
      inSet("listSettings", answer)
      expect(settings(answer.text)).toEqual({ data: [], instance_id: own })
      for (const role of ["viewer", "operator"] as const) {
        expect((yield* ask("/api/v1/settings", { key: yield* keyOf(role) })).status).toBe(403)
      }
      expect(yield* yield* EffectiveSettings).toEqual([])
    })
  )
})
