import { ListResponse } from "@model-gateway/core/ConsoleSessions"
import { expect, it } from "@effect/vitest"
import { Effect, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { failureOf, page, shownOf, signIn } from "../console/TestConsole.ts"
import { inSet } from "../TestEnvelope.ts"
import { layer, TestGateway } from "../TestGateway.ts"

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(ListResponse), { onExcessProperty: "error" })

const path = "/api/v1/console/sessions"

const keyOf = Effect.fnUntraced(function* (role: "operator" | "admin") {
  const { workspace } = yield* TestGateway
  const { organizationId, id: workspaceId } = workspace
  const { key, plain } = yield* (yield* KeyStore).create({
    organizationId,
    workspaceId,
    name: `key of ${role}`,
    isManagement: true,
    role
  })
  return { hash: key.hash, key: Redacted.value(plain) }
})

it.layer(layer({}, undefined, undefined, {}), { excludeTestServices: true })("the sessions of the console", (it) => {
  const list = Effect.gen(function* () {
    const { ask, managementKey: key } = yield* TestGateway
    const answer = yield* ask(path, { key })
    inSet("listConsoleSessions", answer)
    return { ...decode(answer.text), text: answer.text }
  })

  it.effect("are listed with who, way, role, address and times, without what signs in", () =>
    Effect.gen(function* () {
      const { hash, key } = yield* keyOf("operator")
      const cookie = yield* signIn({ key })
      const { data, has_more, text } = yield* list
      expect([data.length, has_more]).toEqual([1, false])
      expect(data[0]).toMatchObject({
        kind: "key",
        actor: hash,
        label: "key of operator",
        role: "operator",
        workspace_ids: null,
        address: "127.0.0.1",
        is_current: false
      })
      const sql = yield* SqlClient
      const [row] = yield* sql`SELECT hash FROM console_sessions`
      for (const secret of [cookie.split("=")[1], row?.["hash"], key]) {
        expect(text).not.toContain(secret)
      }
      expect((yield* page("/console/session", { method: "DELETE", cookie })).status).toBe(204)
      expect((yield* list).data).toEqual([])
    })
  )

  it.effect("end one by one and all together, for admins", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key } = yield* TestGateway
      const own = yield* signIn({ key: (yield* keyOf("admin")).key })
      const other = yield* signIn({ key: (yield* keyOf("operator")).key })
      for (const method of ["GET", "DELETE"]) {
        const forbidden = yield* page("/console/api/console/sessions", { method, cookie: other })
        expect([method, forbidden.status]).toEqual([method, 403])
      }
      const { data } = decode((yield* page("/console/api/console/sessions", { cookie: own })).text)
      const labels = data.map(({ is_current, label }) => `${label}${is_current ? ", current" : ""}`)
      expect(labels.toSorted((a, b) => a.localeCompare(b))).toEqual(["key of admin, current", "key of operator"])
      const id = data.find(({ is_current }) => !is_current)?.id ?? ""
      const ended = yield* page(`/console/api/console/sessions/${id}`, { method: "DELETE", cookie: own })
      inSet("endConsoleSession", ended)
      expect([ended.status, ended.text]).toEqual([200, '{"ended_count":1}'])
      expect(failureOf(yield* page("/console/api/keys", { cookie: other }))).toMatchObject({
        status: 401,
        reason: "session_ended"
      })
      expect((yield* ask(`${path}/${id}`, { key, method: "DELETE" })).status).toBe(404)
      expect((yield* shownOf({ cookie: own })).session).not.toBeNull()
      const all = yield* ask(path, { key, method: "DELETE" })
      inSet("endConsoleSessions", all)
      expect(all.text).toBe('{"ended_count":1}')
      expect((yield* shownOf({ cookie: own })).session).toBeNull()
    })
  )
})
