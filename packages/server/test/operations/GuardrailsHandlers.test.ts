import { AssignmentList, AssignResponse, ListResponse, Response } from "@model-gateway/core/Guardrails"
import { CreateResponse } from "@model-gateway/core/Keys"
import { Response as WorkspaceResponse } from "@model-gateway/core/Workspaces"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Redacted, Schema } from "effect"
import * as KeyFormat from "../../src/access/KeyFormat.ts"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { layer, TestGateway } from "../TestGateway.ts"
import { envelopeOf, issuePaths, post } from "../TestEnvelope.ts"

const path = "/api/v1/guardrails"

const one = Schema.decodeUnknownSync(Schema.fromJsonString(Response))

const assigned = Schema.decodeUnknownSync(Schema.fromJsonString(AssignResponse))

const keyOf = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.toEncoded(CreateResponse)))

const workspaceOf = Schema.decodeUnknownSync(Schema.fromJsonString(WorkspaceResponse))

const usageOf = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Struct({ data: Schema.Struct({ usage: Schema.Finite }) }))
)

const nobody = "6f5ebeb1-4ff8-4235-a8b3-44a3f6d926cd"

const make = (name: string) =>
  Effect.gen(function* () {
    const { managementKey: key } = yield* TestGateway
    return one((yield* post(path, { name }, { key })).text).data.id
  })

const makeKey = (name: string) =>
  Effect.gen(function* () {
    const { managementKey: key } = yield* TestGateway
    return keyOf((yield* post("/api/v1/keys", { name }, { key })).text).data.hash
  })

it.layer(layer(), { excludeTestServices: true })("/guardrails", (it) => {
  it.effect("assigns many keys to one, each known one counted once [spec H1 H2 I7 I8 O2 O3 O7 O8]", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key } = yield* TestGateway
      const [first, second] = [yield* make("first"), yield* make("second")]
      const [a, b] = [yield* makeKey("a"), yield* makeKey("b")]
      const assign = (id: string, hashes: ReadonlyArray<string>) =>
        Effect.map(post(`${path}/${id}/assignments/keys`, { key_hashes: hashes }, { key }), ({ text }) =>
          assigned(text)
        )
      expect(yield* assign(first, [a, b, a, "unknown"])).toEqual({
        assigned_count: 2,
        not_found: ["unknown"],
        replaced: []
      })
      expect(yield* assign(second, [b])).toEqual({
        assigned_count: 1,
        not_found: [],
        replaced: [{ key_hash: b, previous_guardrail_id: first }]
      })
      expect((yield* assign(first.toUpperCase(), [a])).assigned_count).toBe(1)
      const listed = yield* ask(`${path}/${first}/assignments/keys`, { key })
      expect(Schema.decodeUnknownSync(Schema.fromJsonString(AssignmentList))(listed.text)).toMatchObject({
        data: [{ id: `${first}:${a}`, key_hash: a, key_name: "a", guardrail_id: first, assigned_by: null }],
        total_count: 1
      })
      const all = yield* ask("/api/v1/guardrails/assignments/keys", { key })
      expect(
        Schema.decodeUnknownSync(Schema.fromJsonString(AssignmentList))(all.text).data.map((one) => [
          one.guardrail_id,
          one.key_hash
        ])
      ).toEqual([
        [first, a],
        [second, b]
      ])
      const removed = yield* post(`${path}/${first}/assignments/keys/remove`, { key_hashes: [a, b] }, { key })
      expect(JSON.parse(removed.text)).toEqual({ unassigned_count: 1 })
    })
  )

  it.effect("says who assigned a key, and when", () =>
    Effect.gen(function* () {
      const { ask, managementKey, workspace } = yield* TestGateway
      const user = { organizationId: workspace.organizationId, workspaceId: workspace.id, creatorUserId: "user_7" }
      const { plain } = yield* (yield* KeyStore).create({ ...user, name: "of a user", isManagement: true })
      const [id, hash] = [yield* make("dated"), yield* makeKey("dated")]
      const before = Date.now()
      yield* post(`${path}/${id}/assignments/keys`, { key_hashes: [hash] }, { key: Redacted.value(plain) })
      const after = Date.now()
      const listed = yield* ask(`${path}/${id}/assignments/keys`, { key: managementKey })
      const [assignment] = Schema.decodeUnknownSync(Schema.fromJsonString(AssignmentList))(listed.text).data
      expect(assignment?.assigned_by).toBe("user_7")
      const at = Date.parse(assignment?.created_at ?? "")
      expect([at >= before, at <= after]).toEqual([true, true])
    })
  )

  it.effect("says what is wrong with an assignment", () =>
    Effect.gen(function* () {
      const { managementKey: key } = yield* TestGateway
      const id = yield* make("strict")
      for (const [body, paths] of [
        [{}, ["key_hashes"]],
        [{ key_hashes: [] }, ["key_hashes"]],
        [{ key_hashes: ["", 7] }, ["key_hashes.0", "key_hashes.1"]]
      ] as const) {
        const answer = yield* post(`${path}/${id}/assignments/keys`, body, { key })
        expect([answer.status, issuePaths(answer)]).toEqual([400, paths])
      }
      const malformed = yield* post(`${path}/none/assignments/keys`, { key_hashes: ["a"] }, { key })
      expect([malformed.status, issuePaths(malformed)]).toEqual([400, ["id"]])
      for (const id of [nobody, "00000000-0000-0000-0000-000000000001"]) {
        const missing = yield* post(`${path}/${id}/assignments/keys`, { key_hashes: ["a"] }, { key })
        expect([missing.status, envelopeOf(missing).error.message]).toEqual([
          404,
          "resource not found: there is no such guardrail"
        ])
      }
    })
  )

  it.effect("says what is wrong with a request in the words of JSON", () =>
    Effect.gen(function* () {
      const { managementKey: key } = yield* TestGateway
      const id = yield* make("words")
      const named = `${path}/${id}`
      for (const answer of [yield* post(path, [], { key }), yield* post(named, [], { key, method: "PATCH" })]) {
        expect([answer.status, envelopeOf(answer).error.message]).toEqual([
          400,
          "invalid request parameters: Expected object"
        ])
      }
      const empty = yield* post(`${named}/assignments/keys`, { key_hashes: [] }, { key })
      expect(envelopeOf(empty).error.message).toBe("invalid request parameters: key_hashes: Expected at least 1 item")
    })
  )

  it.effect("are made, read, changed, listed and deleted", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key, workspace } = yield* TestGateway
      const request = {
        name: "team",
        description: "the team's",
        limit_usd: 2.5,
        reset_interval: "monthly",
        allowed_models: ["sandbox/bm25"],
        ignored_providers: ["elsewhere"],
        // What cannot be enforced may be said in values that restrict nothing.
        include_byok_in_budgets: false,
        content_filters: [],
        enforce_zdr: false,
        enable_paid_model_training: true
      }
      const made = yield* post(path, request, { key })
      expect(made.status).toBe(201)
      const { data } = one(made.text)
      expect(data).toMatchObject({
        ...request,
        workspace_id: workspace.id,
        ignored_models: null,
        allowed_providers: null,
        content_filters: null,
        enforce_zdr: null,
        enable_paid_model_training: null
      })
      const named = `${path}/${data.id}`
      const changed = yield* post(named, { limit_usd: null, allowed_models: null }, { key, method: "PATCH" })
      expect(one(changed.text).data).toMatchObject({
        name: "team",
        limit_usd: null,
        reset_interval: "monthly",
        allowed_models: null,
        ignored_providers: ["elsewhere"],
        description: "the team's"
      })
      const { hash, label } = keyOf((yield* post("/api/v1/keys", { name: "teammate" }, { key })).text).data
      yield* post(`${named}/assignments/keys`, { key_hashes: [hash] }, { key })
      yield* post(named, { limit_usd: 2.5 }, { key, method: "PATCH" })
      const now = new Date()
      const shown = {
        resets_at: new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)).toISOString(),
        limit_remaining: 2.5,
        usage: 0,
        usage_monthly: 0,
        keys: [{ hash, name: "teammate", label }],
        key_count: 1
      }
      expect(one((yield* ask(named, { key })).text).data).toMatchObject(shown)
      const list = Schema.decodeUnknownSync(Schema.fromJsonString(ListResponse))((yield* ask(path, { key })).text)
      expect(list.data[0]).toMatchObject({ id: data.id, ...shown })
      expect(JSON.parse((yield* ask(named, { key, method: "DELETE" })).text)).toEqual({ deleted: true })
      expect((yield* ask(named, { key })).status).toBe(404)
    })
  )
})

it.layer(layer(), { excludeTestServices: true })("a guardrail", (it) => {
  it.effect("is refused with a field that cannot be enforced, and nothing is stored", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key } = yield* TestGateway
      const id = yield* make("plain")
      const before = (yield* ask(`${path}/${id}`, { key })).text
      for (const [field, value] of [
        ["include_byok_in_budgets", true],
        ["allowed_data_regions", ["europe"]],
        ["content_filters", [{ action: "block", pattern: "secret" }]],
        ["content_filter_builtins", [{ action: "block", slug: "email" }]],
        ["enable_free_model_training", false],
        ["enforce_zdr_openai", true],
        ["limit_usd", 0.0000001]
      ] as const) {
        for (const refused of [
          yield* post(path, { name: "n", [field]: value }, { key }),
          yield* post(`${path}/${id}`, { name: "changed", [field]: value }, { key, method: "PATCH" })
        ]) {
          expect([refused.status, issuePaths(refused)[0]?.split(".")[0]]).toEqual([400, field])
          expect(envelopeOf(refused).error.message).toContain(field)
        }
      }
      expect((yield* ask(`${path}/${id}`, { key })).text).toBe(before)
      const list = Schema.decodeUnknownSync(Schema.fromJsonString(ListResponse))((yield* ask(path, { key })).text)
      expect(list.total_count).toBe(1)
    })
  )

  it.effect("is listed in its workspace, and in no other one", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key, workspace } = yield* TestGateway
      const { id } = yield* (yield* WorkspaceStore).create(workspace.organizationId, { name: "other", slug: "other" })
      const made = one((yield* post(path, { name: "n", workspace_id: id.toUpperCase() }, { key })).text).data
      expect(made.workspace_id).toBe(id)
      const inWorkspace = (workspaceId: string) =>
        Effect.map(ask(`${path}?workspace_id=${workspaceId}`, { key }), ({ text }) =>
          Schema.decodeUnknownSync(Schema.fromJsonString(ListResponse))(text).data.map((guardrail) => guardrail.id)
        )
      expect(yield* inWorkspace(id)).toEqual([made.id])
      expect(yield* inWorkspace(workspace.id)).not.toContain(made.id)
      expect((yield* ask(`${path}?workspace_id=${nobody}`, { key })).status).toBe(403)
      expect((yield* post(path, { name: "n", workspace_id: nobody }, { key })).status).toBe(403)
    })
  )
})

describe("the guardrail of a key", () => {
  it.live("forbids models and providers that it ignores or does not allow, and nothing is charged", () =>
    Effect.gen(function* () {
      const { ask, managementKey, ordinaryKey } = yield* TestGateway
      const guardrail = yield* make("team")
      const key_hashes = [KeyFormat.hashKey(ordinaryKey)]
      yield* post(`${path}/${guardrail}/assignments/keys`, { key_hashes }, { key: managementKey })
      const statusWith = (rules: object) =>
        Effect.gen(function* () {
          const change = {
            allowed_models: null,
            ignored_models: null,
            allowed_providers: null,
            ignored_providers: null,
            ...rules
          }
          const changed = yield* post(`${path}/${guardrail}`, change, { key: managementKey, method: "PATCH" })
          expect(one(changed.text).data).toMatchObject(rules)
          const request = { model: "sandbox/bm25", query: "tea", documents: ["green tea"] }
          const { status } = yield* post("/api/v1/rerank", request)
          const film = { model: "sandbox/title-card", prompt: "tea", duration: 1, resolution: "480p" }
          return [status, (yield* post("/api/v1/videos", film)).status]
        })
      const usage = Effect.map(ask("/api/v1/key"), ({ text }) => usageOf(text).data.usage)
      for (const rules of [
        { ignored_models: ["sandbox/*"] },
        { ignored_models: ["sandbox/bm25", "sandbox/title-card"], allowed_models: ["sandbox/*"] },
        { allowed_models: [] },
        { allowed_models: ["sandbox", "sandbox/bm2/*", "other/*"] },
        { ignored_providers: ["sandbox"] },
        { allowed_providers: ["sandbox"], ignored_providers: ["sandbox"] },
        { allowed_providers: ["elsewhere"] }
      ]) {
        expect([rules, yield* statusWith(rules)]).toEqual([rules, [403, 403]])
      }
      expect(yield* usage).toBe(0)
      expect(yield* statusWith({ ignored_models: ["sandbox/bm25"] })).toEqual([403, 202])
      expect(yield* statusWith({ allowed_models: ["sandbox/bm25"] })).toEqual([200, 403])
      expect(yield* statusWith({ allowed_models: ["sandbox/*"], ignored_models: ["sandbox/bm25/*"] })).toEqual([
        200, 202
      ])
      expect(yield* statusWith({ ignored_providers: ["elsewhere"] })).toEqual([200, 202])
      expect(yield* usage).toBeGreaterThan(0)
    }).pipe(Effect.provide(layer()))
  )

  it.live("limits what all its keys spend together in the interval", () =>
    Effect.gen(function* () {
      const { managementKey } = yield* TestGateway
      const create = (name: string) =>
        Effect.map(post("/api/v1/keys", { name }, { key: managementKey }), ({ text }) => keyOf(text))
      const [first, second] = [yield* create("a"), yield* create("b")]
      const request = { name: "team", limit_usd: 0.0015, reset_interval: "monthly" }
      const { id } = one((yield* post(path, request, { key: managementKey })).text).data
      const key_hashes = [first.data.hash, second.data.hash]
      yield* post(`${path}/${id}/assignments/keys`, { key_hashes }, { key: managementKey })
      const rank = (key: string) =>
        post("/api/v1/rerank", { model: "sandbox/bm25", query: "q", documents: ["d"] }, { key })
      expect((yield* rank(first.key)).status).toBe(200)
      const refused = yield* rank(second.key)
      expect([refused.status, envelopeOf(refused).error.message]).toEqual([
        402,
        "insufficient credits: this request needs up to 0.001 credits; the key's guardrail has 0.0005 left. " +
          "Its limit is 0.0015 credits. Raise the limit or wait for its reset, and add credits if the workspace has too few."
      ])
    }).pipe(Effect.provide(layer()))
  )
})

it.layer(layer(), { excludeTestServices: true })("/workspaces", (it) => {
  it.effect("are read and changed", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key, workspace } = yield* TestGateway
      const named = `/api/v1/workspaces/${workspace.id}`
      expect(workspaceOf((yield* ask(named, { key })).text).data).toMatchObject({
        is_default: true,
        file_shape: "native"
      })
      const change = { name: "lab", file_shape: "compat_a", default_callback_url: "https://example.com/hook" }
      expect(workspaceOf((yield* post(named, change, { key, method: "PATCH" })).text).data).toMatchObject(change)
      const wrong = yield* post(
        named,
        { default_callback_url: "http://insecure", file_shape: "round" },
        { key, method: "PATCH" }
      )
      expect([wrong.status, issuePaths(wrong).toSorted()]).toEqual([400, ["default_callback_url", "file_shape"]])
      expect((yield* ask(`/api/v1/workspaces/${nobody}`, { key })).status).toBe(404)
    })
  )

  it.effect("get credits once under one idempotency key", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key, workspace } = yield* TestGateway
      const named = `/api/v1/workspaces/${workspace.id}`
      const before = workspaceOf((yield* ask(named, { key })).text).data.credits
      const add = (amount: unknown, idempotencyKey: string) =>
        post(`${named}/credits`, { amount }, { key, headers: { "idempotency-key": idempotencyKey } })
      const [first, second] = yield* Effect.all([add(2.5, "a"), add(2.5, "a")], { concurrency: 2 })
      expect(first.text).toBe(second.text)
      expect(workspaceOf(first.text).data.credits).toBe(before + 2.5)
      expect(workspaceOf((yield* ask(named, { key })).text).data.credits).toBe(before + 2.5)
      expect((yield* add(3, "a")).status).toBe(400)
      for (const amount of [0, -1, -1e10, 1e10, "7", 1e-9]) {
        const wrong = yield* add(amount, "b")
        expect([amount, wrong.status, issuePaths(wrong)]).toEqual([amount, 400, ["amount"]])
      }
      expect((yield* post(`/api/v1/workspaces/${nobody}/credits`, { amount: 1 }, { key })).status).toBe(404)
      expect(workspaceOf((yield* ask(named, { key })).text).data.credits).toBe(before + 2.5)
    })
  )
})
