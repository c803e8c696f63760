/**
 * The query plan of every statement that the service runs. A statement that scans a growing table
 * becomes slower every day.
 */
import { expect, it, vi } from "@effect/vitest"
import { Job } from "@model-gateway/core/Video"
import { Duration, Effect, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { DatabaseSync } from "node:sqlite"
import { Accounting } from "../../../src/accounting/Accounting.ts"
import { RequestLog } from "../../../src/accounting/RequestLog.ts"
import * as FileStore from "../../../src/objects/FileStore.ts"
import * as ObjectSweep from "../../../src/objects/ObjectSweep.ts"
import { DestinationStore } from "../../../src/broadcast/DestinationStore.ts"
import * as TestOutbox from "../../events/TestOutbox.ts"
import { GuardrailStore } from "../../../src/access/GuardrailStore.ts"
import { AuditLog } from "../../../src/audit/AuditLog.ts"
import { RejectedRequests } from "../../../src/requests/RejectedRequests.ts"
import * as GatewayServerConfig from "../../../src/GatewayServerConfig.ts"
import { FreeModelDays } from "../../../src/accounting/FreeModelDays.ts"
import { Idempotency } from "../../../src/admission/Idempotency.ts"
import { EphemeralKeys } from "../../../src/access/EphemeralKeys.ts"
import { AlertStore } from "../../../src/alerts/AlertStore.ts"
import { Reconcile } from "../../../src/accounting/Reconcile.ts"
import { KeyStore } from "../../../src/access/KeyStore.ts"
import { ProviderKeys } from "../../../src/access/ProviderKeys.ts"
import { VideoJobs } from "../../../src/video/VideoJobs.ts"
import * as VideoObjects from "../../../src/video/VideoObjects.ts"
import * as VideoRetention from "../../../src/video/VideoRetention.ts"
import { DeliveryStore } from "../../../src/webhooks/DeliveryStore.ts"
import * as WorkspaceRemoval from "../../../src/access/WorkspaceRemoval.ts"
import { WorkspaceStore } from "../../../src/access/WorkspaceStore.ts"
import { ConsoleLinks } from "../../../src/console/ConsoleLinks.ts"
import { ConsoleSessions } from "../../../src/console/ConsoleSessions.ts"
import { type Answer, form, formHeaders, layer, TestGateway } from "../../TestGateway.ts"
import { page } from "../../console/TestConsole.ts"
import { post } from "../../TestEnvelope.ts"

/**
 * Tables that stay small: processes, open reservations, messages of one hour, counts of two days,
 * one counter per key. `w` is read once, at the start. `asked` and `one_entry` are one row,
 * `waiting`, `one_page`, `oldest` and `rows_of_day` are subqueries with a limit, and `counted` is
 * read up to one.
 */
const small = new Set(
  "asked processes p reservations r effect_queue idempotency_bytes free_model_days effect_queue_migrations schema_migrations w counted waiting one_page oldest one_entry rows_of_day".split(
    " "
  )
)

const decodeJob = Schema.decodeUnknownEffect(Schema.fromJsonString(Job))

const Stored = Schema.Struct({ id: Schema.String })

/** The response, which must be a success: a rejected request runs few statements. */
const sure = <E, R>(asked: Effect.Effect<Answer, E, R>) =>
  Effect.tap(asked, ({ status, text }) => (status < 300 ? Effect.void : Effect.die(new Error(`${status}: ${text}`))))

const spending = Effect.gen(function* () {
  const { ask, workspace } = yield* TestGateway
  yield* TestOutbox.broadcast(workspace)
  const rerank = { model: "sandbox/bm25", query: "tea", documents: ["green tea"] }
  for (const headers of [{}, { "idempotency-key": "a" }, { "idempotency-key": "a" }, { "idempotency-key": "b" }]) {
    yield* sure(post("/api/v1/rerank", rerank, { headers }))
  }
  yield* sure(post("/api/v1/rerank", { ...rerank, model: "sandbox/bm25:free" }))
  yield* post("/api/v1/rerank", { ...rerank, model: "sandbox/status-502" })
  yield* sure(ask("/api/v1/key"))
  const film = { model: "sandbox/title-card", prompt: "tea", duration: 1, resolution: "480p" }
  const job = yield* decodeJob((yield* post("/api/v1/videos", film)).text)
  let { status } = job
  while (status === "pending" || status === "in_progress") {
    status = (yield* decodeJob((yield* ask(`/api/v1/videos/${job.id}?wait=5`)).text)).status
  }
  yield* sure(ask(`/api/v1/videos/${job.id}/content`))
  const { id } = yield* decodeJob((yield* post("/api/v1/videos", { ...film, duration: 10 })).text)
  yield* sure(post(`/api/v1/videos/${id}/cancel`, {}))
  for (const query of ["", "status=completed", `after=${id}`, `status=cancelled&after=${id}&limit=1`]) {
    yield* sure(ask(`/api/v1/videos?${query}`))
  }
})

const files = Effect.gen(function* () {
  const { ask } = yield* TestGateway
  const upload = ask("/api/v1/files", {
    method: "POST",
    headers: formHeaders,
    body: form({ name: "purpose", value: "p" }, { name: "file", filename: "a", value: "a" })
  })
  const { id } = yield* Schema.decodeUnknownEffect(Schema.fromJsonString(Stored))((yield* upload).text)
  yield* sure(ask("/api/v1/files"))
  yield* sure(ask(`/api/v1/files?after=${id}`))
  yield* sure(ask(`/api/v1/files?order=asc&after=${id}`))
  yield* sure(ask(`/api/v1/files/${id}`))
  yield* sure(ask(`/api/v1/files/${id}`, { method: "DELETE" }))
})

const signingIn = Effect.gen(function* () {
  const { organizationId, id: workspaceId } = (yield* TestGateway).workspace
  const access = { organizationId, workspaceId, role: "viewer" as const, workspaceIds: null }
  const links = yield* ConsoleLinks
  const { plain: token } = yield* links.create({ ...access, lifetime: 60_000, by: "operator" })
  yield* links.use(token)
  yield* links.purge
  const sessions = yield* ConsoleSessions
  const someone = { ...access, kind: "link" as const, secretHash: null, actor: "a", label: "l" }
  const { plain, session } = yield* sessions.start(someone, "203.0.113.7")
  yield* sessions.find(plain)
  yield* sessions.list(organizationId)
  yield* sessions.get(organizationId, session.id ?? "")
  yield* sessions.end(session.hash)
  yield* sessions.endAll(organizationId)
  yield* page("/console/session", { body: { token: "unknown" } })
  yield* sessions.purge
})

const managing = Effect.gen(function* () {
  const { ask, managementKey: key, workspace } = yield* TestGateway
  const { organizationId, id: workspaceId } = workspace
  const keys = yield* KeyStore
  const ephemerals = yield* EphemeralKeys
  const guardrails = yield* GuardrailStore
  const { key: parent } = yield* keys.create({ organizationId, workspaceId, name: "k" })
  const guardrail = yield* guardrails.create({ organizationId, name: "g" })
  const several = [parent.hash, ...Array.from({ length: 20 }, (_, n) => `unknown-${n}`)]
  yield* guardrails.assign(organizationId, guardrail.id, several)
  for (const id of [guardrail.id, null]) {
    yield* guardrails.assignments(organizationId, id, { offset: 1 })
    // As a management key that is restricted to some workspaces.
    yield* guardrails.assignments(organizationId, id, { offset: 1 }, [workspaceId, "other"])
  }
  yield* guardrails.list({ organizationId, workspaceIds: [workspaceId, "other"] }, { offset: 2 })
  yield* keys.list({ organizationId, workspaceIds: [workspaceId, "other"] }, { offset: 1 })
  yield* guardrails.unassign(organizationId, guardrail.id, several)
  yield* guardrails.update(organizationId, guardrail.id, { name: "h" })
  const { ephemeral, plain } = yield* ephemerals.create(parent, 60_000, {
    operations: ["listFiles", "listVideos"],
    ownFiles: true
  })
  for (const query of ["", "status=pending", "after=video_1"]) {
    yield* sure(ask(`/api/v1/videos?${query}`, { key: Redacted.value(plain) }))
  }
  for (const query of ["", "&status=failed", "&key_hash=k&model=m&from=2020-01-01T00:00:00Z&to=2020-02-01T00:00:00Z"]) {
    yield* sure(ask(`/api/v1/videos?workspace_id=all${query}`, { key }))
    yield* sure(ask(`/api/v1/videos?workspace_id=${workspaceId}${query}`, { key }))
  }
  yield* sure(ask("/api/v1/files", { key: Redacted.value(plain) }))
  yield* sure(ask("/api/v1/files?order=asc", { key: Redacted.value(plain) }))
  yield* sure(ask(`/api/v1/files?after=${yield* (yield* FileStore.FileStore).nextId}`, { key: Redacted.value(plain) }))
  yield* sure(ask(`/api/v1/keys?parent_hash=${parent.hash}`, { key }))
  yield* sure(ask(`/api/v1/keys?parent_hash=${parent.hash}&offset=1`, { key }))
  yield* sure(ask(`/api/v1/keys/${ephemeral.hash}`, { key }))
  yield* sure(ask(`/api/v1/keys/${ephemeral.hash}`, { key, method: "DELETE" }))
  yield* sure(ask("/api/v1/keys", { key }))
  yield* sure(ask(`/api/v1/guardrails?offset=2&workspace_id=${workspaceId}`, { key }))
  yield* sure(ask("/api/v1/keys?offset=1&include_disabled=true", { key }))
  yield* sure(ask(`/api/v1/keys?offset=1&workspace_id=${workspaceId}`, { key }))
  yield* sure(ask("/api/v1/keys?search=k&sort=usage&limit=1", { key }))
  yield* sure(ask(`/api/v1/keys?workspace_id=${workspaceId}&include_disabled=true`, { key }))
  yield* keys.list({ organizationId, workspaceIds: [workspaceId] })
  yield* keys.update(organizationId, parent.hash, { name: "m" })
  yield* sure(post(`/api/v1/keys/${parent.hash}/rotate`, {}, { key }))
  const providerKeys = yield* ProviderKeys
  const own = { organizationId, workspaceId, provider: "p", secret: Redacted.make("s") }
  const { id } = yield* providerKeys.create({ ...own, allowedKeys: [parent.hash] })
  yield* providerKeys.list(workspaceId)
  yield* providerKeys.usable(workspaceId)
  yield* providerKeys.update(organizationId, id, { disabled: true })
  yield* providerKeys.remove(organizationId, id)
  yield* sure(ask(`/api/v1/keys/${parent.hash}`, { key, method: "DELETE" }))
  yield* sure(ask("/api/v1/guardrails", { key }))
  yield* guardrails.remove(organizationId, guardrail.id)
  yield* sure(ask("/api/v1/files", { key }))
  yield* sure(ask("/api/v1/guardrails?offset=2", { key }))
  const workspaces = yield* WorkspaceStore
  yield* workspaces.update(organizationId, workspaceId, { name: "w" })
  yield* workspaces.ensureDefault()
  yield* sure(ask(`/api/v1/workspaces/${workspaceId}`, { key }))
  yield* sure(ask("/api/v1/workspaces?offset=1&limit=1", { key }))
  yield* sure(post("/api/v1/workspaces", { name: "v", slug: "v" }, { key }))
  yield* sure(post("/api/v1/workspaces/v/credits", { amount: 1 }, { key }))
  yield* sure(ask("/api/v1/workspaces/v", { key, method: "DELETE" }))
  const log = yield* RequestLog
  const [entry] = (yield* log.list(organizationId)).items
  yield* sure(ask(`/api/v1/generation?id=${entry?.id}`))
  yield* sure(ask(`/api/v1/generation?id=${entry?.id}`, { key }))
  yield* sure(ask(`/api/v1/generations?after=${entry?.id}&model=m&key_hash=${parent.hash}&limit=1`, { key }))
  yield* sure(ask(`/api/v1/generation?id=${entry?.requestId}`, { key }))
  yield* sure(ask(`/api/v1/generations?request_id=${entry?.requestId}`, { key }))
  yield* log.purge(Duration.days(1))
  const rejected = yield* RejectedRequests
  const [first, second] = ["019ab1c2-3d4e-7f50-8123-456789abcdee", "019ab1c2-3d4e-7f50-8123-456789abcdef"]
  const refused = { requestId: "r", createdAt: 1, operation: "rerank", status: 402, address: "a", durationMs: 1 }
  yield* rejected.write(
    [
      { ...refused, id: first, omitted: 0, organizationId },
      { ...refused, id: second, omitted: 0 }
    ],
    [{ id: first, omitted: 1 }]
  )
  yield* sure(ask(`/api/v1/requests/rejected?after=${first}&status=402&operation=rerank`, { key }))
  yield* sure(ask("/api/v1/requests/rejected?request_id=r", { key }))
  yield* rejected.purge(Duration.days(1))
  for (const query of ["", `?target=${parent.hash}`, "?after=before:9999999999999&action=updateKey"]) {
    yield* sure(ask(`/api/v1/audit${query}`, { key }))
  }
  const [change] = (yield* (yield* AuditLog).list(organizationId)).items
  yield* sure(ask(`/api/v1/audit?after=${change?.id}`, { key }))
  yield* (yield* AuditLog).purge(Duration.days(1))
  for (const query of [
    "",
    `api_key_hash=${parent.hash}&date=2026-01-01`,
    `group_by=workspace`,
    `workspace_id=${workspaceId}`,
    "interval=day",
    "interval=day&group_by=key",
    `interval=day&group_by=model&api_key_hash=${parent.hash}`,
    "interval=range&model=m&error_status=502",
    `interval=hour&group_by=user&workspace_id=${workspaceId}`
  ]) {
    yield* sure(ask(`/api/v1/activity?${query}`, { key }))
  }
  yield* sure(post(`/api/v1/workspaces/${workspaceId}/credits`, { amount: 1 }, { key }))
  yield* sure(ask("/api/v1/credits", { key }))
  yield* sure(ask("/api/v1/credits/ledger", { key }))
  yield* sure(ask("/api/v1/reservations", { key }))
  yield* sure(ask("/api/v1/reservations?state=open", { key }))
  yield* post("/api/v1/reservations/none/settle", { cost: 0 }, { key })
  yield* sure(ask(`/api/v1/credits?workspace_id=${workspaceId}`, { key }))
})

const broadcasting = Effect.gen(function* () {
  const { ask, managementKey: key } = yield* TestGateway
  const path = "/api/v1/observability/destinations"
  const config = { url: "https://hooks.example" }
  const made = yield* sure(post(path, { name: "d", type: "webhook", config }, { key }))
  const { data } = yield* Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Struct({ data: Stored })))(made.text)
  const store = yield* DestinationStore
  yield* store.serve
  yield* store.open(data.id)
  yield* store.record(data.id, { dropped: 0, waitingSince: null })
  yield* store.advance(data.id, 0)
  yield* TestOutbox.read(data.id)
  yield* sure(ask(path, { key }))
  yield* sure(post(`${path}/${data.id}`, { name: "e" }, { key, method: "PATCH" }))
  yield* sure(ask(`${path}/${data.id}`, { key, method: "DELETE" }))
})

const alerting = Effect.gen(function* () {
  const { ask, managementKey: key, workspace } = yield* TestGateway
  const { organizationId, id: workspaceId } = workspace
  const path = "/api/v1/alerts"
  const target = { type: "webhook", url: "https://hooks.example" }
  const made = yield* sure(post(path, { name: "a", kind: "key_expires", threshold: 5, target }, { key }))
  const { data } = yield* Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Struct({ data: Stored })))(made.text)
  yield* sure(post(`${path}/${data.id}`, { threshold: 6 }, { key, method: "PATCH" }))
  const store = yield* AlertStore
  const alert = yield* store.get(organizationId, data.id)
  yield* store.takeDue(1)
  const measured = { value: 1, isTrue: true, message: "m" }
  yield* store.evaluated(yield* store.get(organizationId, data.id), measured)
  yield* store.evaluated(alert, undefined)
  yield* (yield* KeyStore).expiring(organizationId, 1)
  yield* (yield* KeyStore).expiring(organizationId, 1, workspaceId)
  yield* (yield* RequestLog).count(organizationId, { from: 1, model: "m" })
  yield* (yield* RequestLog).count(organizationId, { from: 1, workspaceId })
  yield* (yield* Reconcile).countAbandoned(organizationId, workspaceId)
  const { items } = yield* store.listFirings(organizationId, {}, {})
  yield* store.listFirings(organizationId, { alertId: data.id }, { after: items[0]?.id })
  yield* store.listFirings(organizationId, { workspaceIds: [workspaceId] }, {})
  yield* sure(ask(`${path}/firings`, { key }))
  yield* sure(ask(`${path}/${data.id}/test`, { key, method: "POST" }))
  yield* sure(ask(`${path}/${data.id}`, { key, method: "DELETE" }))
  yield* store.purge
})

const calling = Effect.gen(function* () {
  const { ask, managementKey: key, workspace } = yield* TestGateway
  const sql = yield* SqlClient
  const store = yield* DeliveryStore
  const id = "evt_plan"
  const type = "video.completed" as const
  const url = "https://hooks.example"
  yield* sql.withTransaction(store.write({ id, workspaceId: workspace.id, jobId: "video_plan", type, url, body: "{}" }))
  yield* store.due(1, { workspaces: ["w"], hosts: [["w", "h"]] })
  yield* store.postpone({ workspaceId: workspace.id, host: "hooks.example" }, Duration.zero)
  const claimed = {
    id,
    workspaceId: workspace.id,
    jobId: "video_plan",
    type,
    url,
    body: "{}",
    claim: "c",
    tries: 0,
    traceParent: null
  }
  yield* store.claim(id)
  yield* store.extend([claimed])
  yield* store.release(claimed)
  const attempt = { attemptedAt: 0, status: 200, durationMillis: 1, error: null, excerpt: null }
  yield* store.record(claimed, attempt, { status: "delivered" })
  const path = "/api/v1/webhooks/deliveries"
  for (const query of ["", "status=failed", `type=${type}`, `type=${type}&status=failed`, `after=${id}`]) {
    yield* sure(ask(`${path}?${query}`, { key }))
  }
  yield* sure(ask(`${path}?video_id=video_plan`, { key }))
  yield* sure(ask(`${path}/${id}`, { key }))
  yield* sure(post(`${path}/${id}/redeliver`, {}, { key }))
  yield* sure(post(`/api/v1/workspaces/${workspace.id}/webhook-secret/rotate`, {}, { key }))
  yield* sure(post(`/api/v1/workspaces/${workspace.id}/webhook-secret/rotate`, {}, { key }))
  yield* store.purge(Duration.days(1))
})

/** Not longer than the time since 1970, so that the statement runs. */
const retention = Duration.days(1)

/** The background work. */
const clearing = Effect.gen(function* () {
  yield* sure((yield* TestGateway).ask("/metrics", { key: null }))
  const accounting = yield* Accounting
  yield* accounting.reap
  yield* accounting.reconciliation
  yield* (yield* Idempotency).purge
  yield* (yield* EphemeralKeys).purge
  yield* (yield* VideoJobs).overdue
  yield* (yield* FreeModelDays).purge
  yield* Effect.provide(VideoRetention.purge, GatewayServerConfig.layer({ videos: { retention } }))
  yield* (yield* SqlClient)`UPDATE workspaces SET deleted_at = 1 WHERE deleted_at > 0 AND emptied_at IS NULL`
  yield* WorkspaceRemoval.purge
  yield* yield* ObjectSweep.make(Effect.all([FileStore.objectOwner, VideoObjects.objectOwner]), { grace: "0 millis" })
})

/**
 * The encryption of old URLs at a start and a migration of the credit ledger read a whole table,
 * and the check of `/readyz` one row of each table.
 */
const isExempt =
  /_upgrade|^UPDATE credit_ledger SET kind|^SELECT id FROM destinations WHERE options NOT LIKE|^SELECT \(SELECT COUNT\(\*\) FROM \(/

/** The steps of each statement's query plan. */
const plans = (folder: string, texts: ReadonlySet<string>) => {
  const db = new DatabaseSync(`${folder}/gateway.db`, { readOnly: true })
  try {
    const indexes = db
      .prepare(
        "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL AND name NOT LIKE 'idx_effect%'"
      )
      .all()
      .map(({ name }) => String(name))
    const steps = Array.from(texts)
      .filter((text) => /^\s*(SELECT|INSERT|UPDATE|DELETE)/i.test(text) && !isExempt.test(text))
      .flatMap((text) =>
        db
          .prepare(`EXPLAIN QUERY PLAN ${text}`)
          .all()
          .map(({ detail }) => ({ text: text.replaceAll(/\s+/g, " "), step: String(detail) }))
      )
    return { indexes, steps }
  } finally {
    db.close()
  }
}

it.live("every statement uses a key or an index, and every index is used", () =>
  Effect.gen(function* () {
    const prepared = vi.spyOn(DatabaseSync.prototype, "prepare")
    // Test files share the prototype.
    yield* Effect.addFinalizer(() => Effect.sync(() => prepared.mockRestore()))
    yield* Effect.gen(function* () {
      yield* spending
      yield* files
      yield* managing
      yield* signingIn
      yield* broadcasting
      yield* alerting
      yield* calling
      yield* clearing
      const { folder } = yield* TestGateway
      const { indexes, steps } = plans(folder, new Set(prepared.mock.calls.map(([text]) => text)))
      expect(steps.length).toBeGreaterThan(80)
      const scans = steps.filter(({ step }) => {
        const table = /^SCAN (?!CONSTANT|\d+-ROW)(\w+)/.exec(step)?.[1]
        return table !== undefined && !small.has(table)
      })
      // The reconciliation report scans a partial index that has only the rows that it lists.
      expect(scans.filter(({ step }) => step !== "SCAN usage_ledger USING INDEX usage_ledger_notable")).toEqual([])
      // A statement about given keys reads only those, not all keys of the organization.
      const wide = steps.filter(({ step, text }) => step.includes("INDEX keys_organization") && !/ORDER BY/.test(text))
      expect(wide).toEqual([])
      // A page is read from an index, in its order and from its place on: no sort, no rows before
      // it.
      const pages = steps.filter(
        ({ text }) =>
          /created_at, (\w\.)?(hash|id)\) [<>].* LIMIT/.test(text) && !/rejected_requests|audit_log/.test(text)
      )
      expect(new Set(pages.map(({ text }) => text)).size).toBe(12)
      expect(pages.filter(({ step }) => step.includes("TEMP B-TREE"))).toEqual([])
      const placed = pages.filter(({ step }) => /\(created_at,(hash|id)\)[<>]\(\?,\?\)/.test(step))
      expect(new Set(placed.map(({ text }) => text))).toEqual(new Set(pages.map(({ text }) => text)))
      // Video jobs are in the order of their identifiers.
      const videos = steps.filter(({ text }) => /FROM video_jobs WHERE .* ORDER BY id DESC/.test(text))
      const ofOne = videos.filter(({ text }) => text.includes("workspace_id = ?"))
      const ofAll = videos.filter(({ step, text }) => !text.includes("workspace_id = ?") && step.includes("video_jobs"))
      expect([ofOne, ofAll].map((some) => new Set(some.map(({ text }) => text)).size)).toEqual([7, 5])
      for (const { step } of ofAll) expect(step).toMatch(/^SEARCH video_jobs USING PRIMARY KEY/)
      for (const { step, text } of ofOne) {
        const index = /ephemeral_hash/.test(text) ? "ephemeral" : /status = /.test(text) ? "status" : "newest"
        expect(step).toMatch(new RegExp(`USING (COVERING )?INDEX video_jobs_${index} \\(workspace_id=\\?`))
        expect([text, step.includes("id<?")]).toEqual([text, text.includes("id < ")])
      }
      // A page of some workspaces is sorted from at most one page of each, read from an index.
      const merged = steps.filter(({ text }) => text.includes(" UNION ALL ") && !text.includes("RECURSIVE"))
      expect(new Set(merged.map(({ text }) => text)).size).toBe(4)
      for (const { step } of merged.filter(({ step }) => /^SEARCH (keys|guardrails) /.test(step))) {
        expect(step).toMatch(/ USING COVERING INDEX \w+_(workspace|workspace_enabled|guarded_workspace) /)
      }
      // A page at a position is read from an index in its order, and counted in an index alone. It
      // skips entries of the index, not rows.
      const positions = steps.filter(
        ({ text }) => /\bOFFSET\b/.test(text) && !text.includes(" UNION ALL ") && !text.includes("video_jobs")
      )
      expect(new Set(positions.map(({ text }) => text)).size).toBe(21)
      const skipped = positions.filter(({ step }) =>
        /^SEARCH (keys|guardrails|usage_ledger|rejected_requests|audit_log|alert_firings) USING COVERING INDEX \1_/.test(
          step
        )
      )
      expect(new Set(skipped.map(({ text }) => text)).size).toBe(18)
      const isSubquery = (text: string) => /SELECT (hash|id) FROM \w+ .* OFFSET/.test(text)
      expect(positions.filter(({ step, text }) => step.includes("TEMP B-TREE") && !isSubquery(text))).toEqual([])
      // A search of keys reads a limited number of them.
      const totals = steps.filter(({ text }) => /COUNT\(\*\) AS total_count/.test(text) && !text.includes(" LIKE "))
      expect(new Set(totals.map(({ text }) => text)).size).toBe(8)
      expect(totals.filter(({ step }) => !/ USING COVERING INDEX /.test(step))).toEqual([])
      // A paid request and a video job look for a destination among those of their workspace.
      const asked = steps.filter(({ text }) => text.startsWith("SELECT 1 FROM destinations d"))
      expect(asked.map(({ step }) => step)).toEqual(["SEARCH d USING INDEX destinations_workspace (workspace_id=?)"])
      const isAsked = (index: string) => steps.some(({ step }) => new RegExp(`INDEX ${index}\\b`).test(step))
      expect(indexes.filter((index) => !isAsked(index))).toEqual([])
      // The bound is exceeded by the second answer, so that the statements that delete answers run.
    }).pipe(Effect.provide(layer({ keptAnswers: { total: 1000 } })))
  })
)
