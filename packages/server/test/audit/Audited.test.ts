import { ListResponse } from "@model-gateway/core/AuditLog"
import { expect, it } from "@effect/vitest"
import { Duration, Effect, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as AuditLog from "../../src/audit/AuditLog.ts"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { ProviderKeys } from "../../src/access/ProviderKeys.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { ConsoleSessions } from "../../src/console/ConsoleSessions.ts"
import { all } from "../../src/http/Routes.ts"
import { DeliveryStore } from "../../src/webhooks/DeliveryStore.ts"
import { inSet, issuePaths, post } from "../TestEnvelope.ts"
import { layer, TestGateway } from "../TestGateway.ts"
import { clockAhead } from "../TestStorage.ts"

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(ListResponse))

const Made = Schema.fromJsonString(
  Schema.Struct({ data: Schema.Struct({ id: Schema.optional(Schema.String), hash: Schema.optional(Schema.String) }) })
)

const named = ({ text }: { readonly text: string }): string => {
  const { hash, id } = Schema.decodeUnknownSync(Made)(text).data
  return hash ?? id ?? ""
}

const audit = (query = "") =>
  Effect.gen(function* () {
    const { ask, managementKey: key } = yield* TestGateway
    const answer = yield* ask(`/api/v1/audit${query}`, { key })
    inSet("listAudit", answer)
    return decode(answer.text)
  })

it.layer(layer(), { excludeTestServices: true })("GET /audit", (it) => {
  it.effect("has each change of each operation of management keys that changes something, without secrets", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key, workspace } = yield* TestGateway
      const texts: Array<string> = []
      const send = (path: string, body: object | undefined, method = "POST") =>
        Effect.tap(
          body === undefined ? ask(`/api/v1${path}`, { key, method }) : post(`/api/v1${path}`, body, { key, method }),
          ({ status, text }) =>
            Effect.sync(() => {
              expect([method, path, status < 300 ? "done" : text]).toEqual([method, path, "done"])
              texts.push(text)
            })
        )
      const change = (path: string, body: object) => send(path, body, "PATCH")
      const remove = (path: string) => send(path, undefined, "DELETE")

      const own = named(yield* send("/workspaces", { name: "w", slug: "audited" }))
      yield* change(`/workspaces/${own}`, { name: "v" })
      yield* send("/workspaces/audited/credits", { amount: 2, note: "gift" })
      const hash = named(yield* send("/keys", { name: "k", limit: 5 }))
      yield* send(`/keys/${hash}/ephemeral`, { expires_in: 60, operations: ["rerank"] })
      yield* change(`/keys/${hash}`, { name: "l", disabled: true })
      yield* send(`/keys/${hash}/rotate`, { grace_seconds: 60 })
      const guardrail = named(yield* send("/guardrails", { name: "g" }))
      yield* change(`/guardrails/${guardrail}`, { allowed_models: ["a/b"] })
      yield* send(`/guardrails/${guardrail}/assignments/keys`, { key_hashes: [hash] })
      yield* send(`/guardrails/${guardrail}/assignments/keys/remove`, { key_hashes: [hash] })
      const config = { url: "https://hooks.example", headers: { authorization: "header-secret" } }
      const destination = named(yield* send("/observability/destinations", { name: "d", type: "webhook", config }))
      yield* change(`/observability/destinations/${destination}`, { name: "e" })
      const target = { type: "slack", url: "https://hooks.example/T0/slack-secret" }
      const alert = named(yield* send("/alerts", { name: "a", kind: "key_expires", threshold: 5, target }))
      yield* change(`/alerts/${alert}`, { threshold: 6 })
      yield* send(`/alerts/${alert}/test`, undefined)
      yield* remove(`/alerts/${alert}`)
      const { id: byok } = yield* (yield* ProviderKeys).create({
        organizationId: workspace.organizationId,
        workspaceId: workspace.id,
        provider: "cohere",
        secret: Redacted.make("provider-secret")
      })
      yield* change(`/byok/${byok}`, { key: "provider-secret-2", name: "b" })
      yield* send(`/workspaces/${workspace.id}/webhook-secret/rotate`, {})
      const sql = yield* SqlClient
      const delivery = {
        id: "evt_audited",
        workspaceId: workspace.id,
        jobId: "video_1",
        type: "video.completed" as const,
        url: "https://hooks.example",
        body: "{}"
      }
      yield* sql.withTransaction((yield* DeliveryStore).write(delivery))
      yield* send("/webhooks/deliveries/evt_audited/redeliver", {})
      for (const id of ["gen-1", "gen-2"]) {
        yield* sql`INSERT INTO reservations (id, state, key_hash, workspace_id, operation, model, amount_micro, is_byok,
            day_start, reserved_at, abandoned_at)
          VALUES (${id}, 'abandoned', ${hash}, ${workspace.id}, 'rerank', 'm', 0, 0, 0, 1, 1)`
      }
      yield* send("/reservations/gen-1/settle", { cost: 0.002 })
      yield* send("/reservations/gen-2/dismiss", undefined)
      yield* send(`/byok/${byok}/test`, undefined)
      yield* remove(`/byok/${byok}`)
      yield* send(`/observability/destinations/${destination}/test`, undefined)
      yield* remove(`/observability/destinations/${destination}`)
      yield* remove(`/guardrails/${guardrail}`)
      yield* remove(`/keys/${hash}`)
      yield* remove(`/workspaces/${own}`)
      const someone = {
        organizationId: workspace.organizationId,
        workspaceId: workspace.id,
        kind: "oidc" as const,
        secretHash: null,
        actor: "oidc:ada",
        label: "Ada",
        role: "viewer" as const,
        workspaceIds: null
      }
      const { session } = yield* (yield* ConsoleSessions).start(someone, "203.0.113.7")
      yield* remove(`/console/sessions/${session.id}`)
      yield* remove("/console/sessions")

      const recorded = (yield* audit("?limit=1000")).data
      const [managing, ...firstKeys] = recorded.filter(({ actor }) => actor === "gateway").toReversed()
      expect([managing, ...firstKeys]).toMatchObject([
        { action: "createKey", address: null, after: { name: "First management key", is_management_key: true } },
        { action: "createKey", address: null, after: { name: "First key", is_management_key: false } }
      ])
      const data = recorded.filter(({ actor }) => actor !== "gateway")
      const changing = all.filter(
        ({ access, method, role }) => access === "management key" && role !== "viewer" && method !== "GET"
      )
      // The sandbox has no provider that a key can be stored for.
      const names = changing.map(({ name }) => name).filter((name) => name !== "createByokKey")
      expect(data.map(({ action }) => action).toSorted()).toEqual(names.toSorted())

      for (const entry of data) {
        expect(entry).toMatchObject({
          actor: managing?.target_id,
          actor_label: managing?.after?.["label"],
          actor_role: "admin",
          address: "127.0.0.1"
        })
        expect(entry.request_id).toMatch(/^req_/)
        expect([entry.action, entry.target_id]).not.toEqual([entry.action, ""])
      }
      const entryOf = (name: string) => data.find(({ action }) => action === name)
      expect(entryOf("updateKey")).toMatchObject({
        target_kind: "key",
        target_id: hash,
        before: { name: "k", disabled: false },
        after: { name: "l", disabled: true }
      })
      expect(entryOf("createEphemeralKeyFor")).toMatchObject({
        target_kind: "key",
        target_id: hash,
        before: null,
        after: { expires_in: 60, operations: ["rerank"] }
      })
      const rotated = entryOf("rotateKey")
      expect(rotated).toMatchObject({ target_id: hash, after: { grace_seconds: 60 } })
      expect([rotated?.before, rotated?.after].map((fields) => Object.keys(fields ?? {}).toSorted())).toEqual([
        ["label"],
        ["grace_seconds", "label", "previous_expires_at"]
      ])
      expect(entryOf("createKey")).toMatchObject({ before: null, after: { hash, name: "k", limit: 5 } })
      expect(entryOf("deleteGuardrail")).toMatchObject({
        target_id: guardrail,
        before: { name: "g", allowed_models: ["a/b"] },
        after: null
      })
      expect(entryOf("assignKeys")).toMatchObject({ target_id: guardrail, after: { key_hashes: [hash] } })
      expect(entryOf("addCredits")).toMatchObject({
        target_kind: "workspace",
        target_id: own,
        before: { credits: 0 },
        after: { credits: 2 }
      })
      expect(entryOf("settleReservation")).toMatchObject({
        target_kind: "reservation",
        target_id: "gen-1",
        after: { cost: 0.002 }
      })
      expect(entryOf("endConsoleSession")).toMatchObject({
        target_kind: "console_session",
        target_id: session.id,
        before: { kind: "oidc", label: "Ada", address: "203.0.113.7" },
        after: null
      })
      expect(entryOf("endConsoleSessions")).toMatchObject({ target_id: "all", after: { ended_count: 0 } })
      expect(entryOf("updateWorkspace")).toMatchObject({ before: { name: "w" }, after: { name: "v" } })

      // No secret that an answer showed once, or that a request had.
      const log = JSON.stringify(data)
      const secrets = texts.flatMap((text) => text.match(/mg_[sme]k_\w{20,}|whsec_[\w+/=]+/g) ?? [])
      expect(secrets.length).toBeGreaterThanOrEqual(3)
      for (const secret of [...secrets, "header-secret", "provider-secret"]) {
        expect([secret, log.includes(secret)]).toEqual([secret, false])
      }
    })
  )

  it.effect("records a repeated request once, and nothing of one that failed", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key } = yield* TestGateway
      const send = (body: object) => post("/api/v1/keys", body, { key, headers: { "idempotency-key": "audited" } })
      const hash = named(yield* send({ name: "once" }))
      expect(named(yield* send({ name: "once" }))).toBe(hash)
      expect((yield* audit(`?target=${hash}`)).data).toHaveLength(1)
      const before = (yield* audit("?limit=1")).data
      expect((yield* post("/api/v1/keys", { name: "k", expires_at: "2001-01-01T00:00:00Z" }, { key })).status).toBe(400)
      expect((yield* ask("/api/v1/keys/unknown", { key, method: "DELETE" })).status).toBe(404)
      expect((yield* audit("?limit=1")).data).toEqual(before)
    })
  )

  it.effect("is filtered and read in pages", () =>
    Effect.gen(function* () {
      const { managementKey: key, ask, workspace } = yield* TestGateway
      const { key: other, plain } = yield* (yield* KeyStore).create({
        organizationId: workspace.organizationId,
        workspaceId: workspace.id,
        name: "other",
        isManagement: true,
        role: "operator"
      })
      const hash = named(yield* post("/api/v1/keys", { name: "first" }, { key: Redacted.value(plain) }))
      for (const name of ["second", "third"]) yield* post(`/api/v1/keys/${hash}`, { name }, { key, method: "PATCH" })
      const actions = (query: string) =>
        Effect.map(audit(query), ({ data }) => data.map(({ action, after }) => [action, after?.["name"]]))
      expect(yield* actions(`?target=${hash}`)).toEqual([
        ["updateKey", "third"],
        ["updateKey", "second"],
        ["createKey", "first"]
      ])
      expect(yield* actions(`?actor=${other.hash}`)).toEqual([["createKey", "first"]])
      expect(yield* actions(`?target=${hash}&action=updateKey&limit=1`)).toEqual([["updateKey", "third"]])
      const { has_more, next } = yield* audit(`?target=${hash}&limit=2`)
      expect([has_more, yield* actions(`?target=${hash}&after=${next}`)]).toEqual([true, [["createKey", "first"]]])
      const [newest] = (yield* audit("?limit=1")).data
      expect(yield* actions(`?to=${newest?.created_at}&target=${hash}`)).not.toContainEqual(["updateKey", "third"])
      expect(yield* actions("?from=2999-01-01T00:00:00Z")).toEqual([])
      const wrong = yield* ask("/api/v1/audit?key=x", { key })
      expect([wrong.status, issuePaths(wrong)]).toEqual([400, ["key"]])
    })
  )

  it.effect("is for admins, and for viewers and operators of all workspaces", () =>
    Effect.gen(function* () {
      const { ask, workspace } = yield* TestGateway
      const keys = yield* KeyStore
      const status = Effect.fnUntraced(function* (workspaceIds: ReadonlyArray<string> | null) {
        const { organizationId, id: workspaceId } = workspace
        const key = {
          organizationId,
          workspaceId,
          name: "v",
          isManagement: true,
          role: "viewer" as const,
          workspaceIds
        }
        return (yield* ask("/api/v1/audit", { key: Redacted.value((yield* keys.create(key)).plain) })).status
      })
      expect([yield* status(null), yield* status([workspace.id])]).toEqual([200, 403])
      expect((yield* ask("/api/v1/audit")).status).toBe(403)
    })
  )

  it.effect("keeps the changes of a time, and at most a number of them", () =>
    Effect.gen(function* () {
      const { workspace } = yield* TestGateway
      const { organizationId } = yield* (yield* WorkspaceStore).find(workspace.id)
      const log = yield* AuditLog.make(3)
      const total = Effect.map(log.list(organizationId, {}, { limit: 1000 }), ({ items }) => items.length)
      expect(yield* total).toBeGreaterThan(3)
      yield* log.purge(Duration.days(365))
      expect(yield* total).toBe(3)
      yield* clockAhead(Duration.toMillis(Duration.days(366)))(log.purge(Duration.days(365)))
      expect(yield* total).toBe(0)
    })
  )

  it.effect("that cannot be written undoes the change", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key } = yield* TestGateway
      const sql = yield* SqlClient
      const hash = named(yield* post("/api/v1/keys", { name: "kept" }, { key }))
      yield* sql`ALTER TABLE audit_log RENAME TO audit_log_away`
      const changed = yield* post(`/api/v1/keys/${hash}`, { name: "changed" }, { key, method: "PATCH" })
      const created = yield* post("/api/v1/keys", { name: "unrecorded" }, { key })
      const keyed = yield* post(
        "/api/v1/workspaces/default/credits",
        { amount: 1 },
        { key, headers: { "idempotency-key": "a" } }
      )
      yield* sql`ALTER TABLE audit_log_away RENAME TO audit_log`
      expect([changed.status, created.status, keyed.status]).toEqual([500, 500, 500])
      const listed = (yield* ask("/api/v1/keys?limit=1000", { key })).text
      expect([listed.includes(`"kept"`), listed.includes("changed"), listed.includes("unrecorded")]).toEqual([
        true,
        false,
        false
      ])
    })
  )
})
