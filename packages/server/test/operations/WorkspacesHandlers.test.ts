import { describe, expect, it } from "@effect/vitest"
import { Files, Keys } from "@model-gateway/core"
import { ListResponse, Response } from "@model-gateway/core/Workspaces"
import { Effect, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { ProviderKeys } from "../../src/access/ProviderKeys.ts"
import * as WorkspaceRemoval from "../../src/access/WorkspaceRemoval.ts"
import { DestinationStore } from "../../src/broadcast/DestinationStore.ts"
import { DeliveryStore } from "../../src/webhooks/DeliveryStore.ts"
import { envelopeOf, issuePaths, post } from "../TestEnvelope.ts"
import { type Answer, type Ask, form, formHeaders, layer, TestGateway } from "../TestGateway.ts"

const decodes =
  <A>(schema: Schema.ConstraintDecoder<A>) =>
  ({ status, text }: Answer) =>
    status < 300
      ? Effect.orDie(Schema.decodeUnknownEffect(Schema.fromJsonString(schema))(text))
      : Effect.die(new Error(`${status}: ${text}`))

const path = "/api/v1/workspaces"

/** Sends a request with the management key. */
const manage = (path: string, method: Ask["method"] = "GET", body?: unknown) =>
  Effect.flatMap(TestGateway, ({ ask, managementKey: key }) =>
    body === undefined ? ask(path, { key, method }) : post(path, body, { key, method })
  )

const create = (body: object) => manage(path, "POST", { name: "Search", slug: "search", ...body })

const created = (slug: string) => Effect.map(Effect.flatMap(create({ slug }), decodes(Response)), ({ data }) => data)

const get = (ref: string) => Effect.map(Effect.flatMap(manage(`${path}/${ref}`), decodes(Response)), ({ data }) => data)

const list = (query = "") => Effect.flatMap(manage(`${path}${query}`), decodes(ListResponse))

const addCredits = (ref: string, amount: number) => manage(`${path}/${ref}/credits`, "POST", { amount })

/** An ordinary key of the workspace, and its hash. */
const keyIn = Effect.fnUntraced(function* (workspaceId: string) {
  const made = yield* manage("/api/v1/keys", "POST", { name: "k", workspace_id: workspaceId })
  const { data, key } = yield* decodes(Keys.CreateResponse)(made)
  return { hash: data.hash, key: Redacted.value(key) }
})

const rerank = { model: "sandbox/bm25", query: "tea", documents: ["green tea"] }

const upload = (key: string) =>
  Effect.flatMap(TestGateway, ({ ask }) =>
    ask("/api/v1/files", {
      key,
      method: "POST",
      headers: formHeaders,
      body: form({ name: "purpose", value: "p" }, { name: "file", filename: "a", value: "a" })
    })
  )

describe("workspaces", () => {
  it.live("are created without credits, listed in the order of creation, and changed", () =>
    Effect.gen(function* () {
      const { workspace } = yield* TestGateway
      const made = yield* create({ description: "d", default_callback_url: "https://example.com/hook" })
      expect(made.status).toBe(201)
      const { data } = yield* decodes(Response)(made)
      expect(data).toMatchObject({
        name: "Search",
        slug: "search",
        description: "d",
        is_default: false,
        credits: 0,
        default_callback_url: "https://example.com/hook",
        file_shape: "native",
        updated_at: data.created_at,
        default_guardrail_id: "",
        is_observability_broadcast_enabled: true
      })
      yield* created("third")
      const slugsOf = ({ data, total_count }: ListResponse) => [data.map(({ slug }) => slug).join(" "), total_count]
      expect(slugsOf(yield* list())).toEqual(["default search third", 3])
      expect(slugsOf(yield* list("?offset=1&limit=1"))).toEqual(["search", 3])
      expect(slugsOf(yield* list("?offset=3"))).toEqual(["", 3])
      expect((yield* list()).data[0]?.id).toBe(workspace.id)
      expect(yield* get("search")).toEqual(data)
      expect(yield* get(data.id.toUpperCase())).toEqual(data)
      const change = { name: "Found", slug: "found", description: null, file_shape: "compat_a" }
      const changed = yield* Effect.flatMap(manage(`${path}/search`, "PATCH", change), decodes(Response))
      expect(changed.data).toMatchObject({ ...change, id: data.id, default_callback_url: "https://example.com/hook" })
      expect((yield* manage(`${path}/search`)).status).toBe(404)
      expect((yield* manage(`${path}/found`, "PATCH", { slug: "found" })).status).toBe(200)
    }).pipe(Effect.provide(layer()))
  )

  it.live("refuse a slug that is taken, and settings that the gateway cannot honor", () =>
    Effect.gen(function* () {
      yield* created("search")
      expect(issuePaths(yield* create({}))).toEqual(["slug"])
      expect(issuePaths(yield* manage(`${path}/search`, "PATCH", { slug: "default" }))).toEqual(["slug"])
      expect(issuePaths(yield* create({ slug: undefined }))).toEqual(["slug"])
      expect(issuePaths(yield* create({ slug: "b", default_provider_sort: "price" }))).toEqual([
        "default_provider_sort"
      ])
      expect(issuePaths(yield* create({ slug: "b", default_callback_url: "https://127.0.0.1/" }))).toEqual([
        "default_callback_url"
      ])
      expect((yield* list()).total_count).toBe(2)
    }).pipe(Effect.provide(layer()))
  )

  it.live("get exactly the credits that were named, or none", () =>
    Effect.gen(function* () {
      yield* created("search")
      for (const amount of [0, 0.0000001, 0.0000015, 1_000_000_001]) {
        expect(issuePaths(yield* addCredits("search", amount))).toEqual(["amount"])
      }
      yield* addCredits("search", 0.000001)
      expect((yield* get("search")).credits).toBe(0.000001)
      for (const note of ["", "n".repeat(257)]) {
        expect(issuePaths(yield* manage(`${path}/search/credits`, "POST", { amount: 1, note }))).toEqual(["note"])
      }
      yield* manage(`${path}/search/credits`, "POST", { amount: 1, note: "invoice 1017" })
      const sql = yield* SqlClient
      expect(yield* sql`SELECT note FROM credit_ledger WHERE amount_micro = 1000000`).toEqual([
        { note: "invoice 1017" }
      ])
    }).pipe(Effect.provide(layer()))
  )

  it.live("scope keys, files and spending, for management keys of the organization only [spec A8 J8]", () =>
    Effect.gen(function* () {
      const { ask, managementKey, workspace } = yield* TestGateway
      const { id } = yield* created("search")
      const { key } = yield* keyIn(id)
      expect((yield* post("/api/v1/rerank", rerank, { key })).status).toBe(402)
      yield* addCredits("search", 5)
      expect((yield* post("/api/v1/rerank", rerank, { key })).status).toBe(200)
      expect((yield* get(id)).credits).toBeLessThan(5)
      expect((yield* get(workspace.id)).credits).toBe(10)
      yield* upload(key)
      const filesOf = (query: string, as: string) =>
        Effect.gen(function* () {
          const answer = yield* ask(`/api/v1/files${query}`, { key: as })
          return answer.status < 300 ? (yield* decodes(Files.FileList)(answer)).data.length : answer.status
        })
      expect(yield* filesOf(`?workspace_id=${id}`, managementKey)).toBe(1)
      expect(yield* filesOf("", key)).toBe(1)
      expect(yield* filesOf("", managementKey)).toBe(0)
      expect(yield* filesOf(`?workspace_id=${workspace.id}`, key)).toBe(403)
      for (const one of [path, `${path}/search`]) expect((yield* ask(one, { key })).status).toBe(403)
      expect((yield* post(path, { name: "n", slug: "n" }, { key })).status).toBe(403)
      const sql = yield* SqlClient
      yield* sql`INSERT INTO organizations (id, name, created_at) VALUES ('other', 'Other', 0)`
      yield* sql`UPDATE workspaces SET organization_id = 'other' WHERE id = ${id}`
      for (const ref of [id, "search"]) {
        expect((yield* manage(`${path}/${ref}`)).status).toBe(404)
        expect((yield* manage(`${path}/${ref}`, "PATCH", {})).status).toBe(404)
        expect((yield* manage(`${path}/${ref}`, "DELETE")).status).toBe(404)
      }
      expect((yield* list()).total_count).toBe(1)
    }).pipe(Effect.provide(layer()))
  )
})

/** A destination as the store takes it. */
const webhook = {
  type: "webhook",
  enabled: true,
  options: {
    url: "https://hooks.example",
    method: "POST",
    api_key_hashes: null,
    broadcast_generation_cost: false,
    broadcast_generation_identity: false,
    broadcast_generation_request_context: false,
    filter_rules: null,
    privacy_mode: false,
    sampling_rate: 1
  },
  secrets: Redacted.make({ headers: {} })
} as const

describe("the deletion of a workspace", () => {
  const remove = (ref: string) => manage(`${path}/${ref}`, "DELETE")

  const messageOf = (answer: Answer) => `${answer.status}: ${envelopeOf(answer).error.message}`

  it.live("is refused while it is in use, and for the default workspace", () =>
    Effect.gen(function* () {
      const { ask, workspace } = yield* TestGateway
      expect(messageOf(yield* remove(workspace.id))).toBe(
        "400: invalid request parameters: The default workspace cannot be deleted."
      )
      expect((yield* remove("default?confirm_default_workspace_deletion=true")).status).toBe(400)
      const { id } = yield* created("search")
      const { hash, key } = yield* keyIn(id)
      expect(messageOf(yield* remove("search"))).toContain("has API keys")
      const { id: file } = yield* Effect.flatMap(upload(key), decodes(Schema.Struct({ id: Schema.String })))
      yield* manage(`/api/v1/keys/${hash}`, "DELETE")
      expect(messageOf(yield* remove("search"))).toContain("has files")
      yield* manage(`/api/v1/files/${file}?workspace_id=${id}`, "DELETE")
      const sql = yield* SqlClient
      yield* sql`INSERT INTO reservations (id, state, key_hash, workspace_id, operation, model, amount_micro, is_byok, byok_extra_micro, day_start, reserved_at)
        VALUES ('i', 'open', 'k', ${id}, 'video', 'm', 0, 0, 0, 0, 0)`
      expect(messageOf(yield* remove("search"))).toContain("still running")
      expect((yield* get(id)).slug).toBe("search")
      yield* sql`DELETE FROM reservations`
      expect(yield* remove("search")).toMatchObject({ status: 200, text: '{"deleted":true}' })
      expect((yield* ask("/api/v1/key", { key })).status).toBe(401)
    }).pipe(Effect.provide(layer()))
  )

  it.live("moves its credits to the default workspace, and frees its slug", () =>
    Effect.gen(function* () {
      const { workspace } = yield* TestGateway
      const { id } = yield* created("search")
      yield* addCredits(id, 2.5)
      expect((yield* remove("search")).status).toBe(200)
      for (const ref of [id, "search"]) {
        expect((yield* manage(`${path}/${ref}`)).status).toBe(404)
        expect((yield* remove(ref)).status).toBe(404)
        expect((yield* addCredits(ref, 1)).status).toBe(404)
      }
      expect((yield* manage(`/api/v1/files?workspace_id=${id}`)).status).toBe(403)
      expect((yield* list()).total_count).toBe(1)
      expect((yield* get(workspace.id)).credits).toBe(12.5)
      const sql = yield* SqlClient
      expect(
        yield* sql`SELECT workspace_id, amount_micro, balance_micro FROM credit_ledger WHERE amount_micro <> 0 ORDER BY id`
      ).toEqual([
        { workspace_id: workspace.id, amount_micro: 10_000_000, balance_micro: 10_000_000 },
        { workspace_id: id, amount_micro: 2_500_000, balance_micro: 2_500_000 },
        { workspace_id: workspace.id, amount_micro: 2_500_000, balance_micro: 12_500_000 },
        { workspace_id: id, amount_micro: -2_500_000, balance_micro: 0 }
      ])
      expect((yield* created("search")).id).not.toBe(id)
    }).pipe(Effect.provide(layer()))
  )

  it.live("keeps keys, provider keys and destinations from being added to it", () =>
    Effect.gen(function* () {
      const { organizationId } = (yield* TestGateway).workspace
      const { id: workspaceId } = yield* created("search")
      yield* remove("search")
      const owner = { organizationId, workspaceId, name: "n" }
      const secret = Redacted.make("s")
      const refused = [
        yield* Effect.flip((yield* KeyStore).create(owner)),
        yield* Effect.flip((yield* ProviderKeys).create({ ...owner, provider: "p", secret })),
        yield* Effect.flip((yield* DestinationStore).create({ ...owner, ...webhook }))
      ]
      expect(refused.map(({ _tag }) => _tag)).toEqual(["WorkspaceNotFound", "WorkspaceNotFound", "WorkspaceNotFound"])
    }).pipe(Effect.provide(layer()))
  )

  it.live("deletes its destinations, secrets, videos and webhooks, and gives up undelivered ones", () =>
    Effect.gen(function* () {
      const { workspace } = yield* TestGateway
      const { id } = yield* created("search")
      const config = { url: "https://hooks.example" }
      yield* manage("/api/v1/observability/destinations", "POST", {
        name: "d",
        type: "webhook",
        config,
        workspace_id: id
      })
      const { organizationId } = workspace
      yield* manage("/api/v1/guardrails", "POST", { name: "g", workspace_id: id })
      const secret = Redacted.make("s")
      yield* (yield* ProviderKeys).create({ organizationId, workspaceId: id, provider: "p", secret })
      yield* manage(`${path}/search/webhook-secret/rotate`, "POST", {})
      const sql = yield* SqlClient
      yield* sql`INSERT INTO video_jobs (id, workspace_id, key_hash, status, step, model, provider, upstream_model, reservation_id, is_byok, created_at, updated_at, deadline_at, completed_at)
        VALUES ('video_1', ${id}, 'k', 'completed', 1, 'm', 'p', 'm', 'i', 0, 0, 0, 0, 0)`
      const deliveries = yield* DeliveryStore
      yield* sql.withTransaction(
        Effect.andThen(
          deliveries.write({
            id: "evt_1",
            workspaceId: id,
            jobId: "video_1",
            type: "video.completed",
            url: "https://hooks.example",
            body: "{}"
          }),
          sql`UPDATE webhook_deliveries SET due_at = created_at + 31536000000`
        )
      )
      const left = Effect.forEach(
        ["guardrails", "provider_keys", "destinations", "webhook_secrets", "webhook_deliveries", "video_jobs"],
        (table) => Effect.map(sql`SELECT 1 FROM ${sql(table)} WHERE workspace_id = ${id}`, (rows) => rows.length)
      )
      expect(yield* left).toEqual([1, 1, 1, 1, 1, 1])
      expect((yield* remove("search")).status).toBe(200)
      expect(yield* left).toEqual([0, 0, 0, 0, 1, 1])
      expect(yield* sql`SELECT status, due_at FROM webhook_deliveries`).toEqual([{ status: "failed", due_at: null }])
      expect((yield* manage("/api/v1/webhooks/deliveries/evt_1/redeliver", "POST", {})).status).toBe(404)
      // A worker may still be busy with what ended within the last hour.
      expect(yield* WorkspaceRemoval.purge).toBe(1)
      expect(yield* left).toEqual([0, 0, 0, 0, 1, 0])
      yield* sql`UPDATE webhook_deliveries SET finished_at = 0`
      yield* sql`UPDATE workspaces SET deleted_at = 1 WHERE id = ${id}`
      yield* WorkspaceRemoval.purge
      expect(yield* left).toEqual([0, 0, 0, 0, 0, 0])
      expect(yield* sql`SELECT name FROM guardrails`).toEqual([{ name: "g" }])
      expect(yield* sql`SELECT emptied_at FROM workspaces WHERE id = ${id} AND emptied_at > 0`).toHaveLength(1)
    }).pipe(Effect.provide(layer()))
  )
})
