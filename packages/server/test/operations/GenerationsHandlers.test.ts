import { expect, it } from "@effect/vitest"
import * as Generations from "@model-gateway/core/Generations"
import { invalidRequest, ProviderError, RateLimited } from "@model-gateway/offers/ProviderError"
import { Effect, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { layer, TestGateway } from "../TestGateway.ts"
import { envelopeOf, issuePaths, post } from "../TestEnvelope.ts"
import { asTheyCame, scripted } from "../TestProvider.ts"

const body = (query: string, model = "test/rank") => ({ model, query, documents: ["a", "b"] })

const busy = () => Effect.fail(new ProviderError({ reason: new RateLimited({}), status: 429 }))

const gateway = layer({}, [
  scripted({ name: "first", rerank: busy }),
  scripted({
    name: "second",
    rerank: (request) =>
      request.query === "wrong"
        ? Effect.fail(invalidRequest("no"))
        : request.query === "busy"
          ? busy()
          : Effect.succeed(asTheyCame(request))
  })
])

/** Responses show nothing that the contract does not have. */
const exactly = { onExcessProperty: "error" } as const
const decodeList = Schema.decodeUnknownEffect(Schema.fromJsonString(Generations.ListResponse), exactly)
const decodeOne = Schema.decodeUnknownEffect(Schema.fromJsonString(Generations.Response), exactly)

const list = Effect.fnUntraced(function* (query = "") {
  const { ask, managementKey } = yield* TestGateway
  const answer = yield* ask(`/api/v1/generations${query}`, { key: managementKey })
  expect([query, answer.status]).toEqual([query, 200])
  return yield* decodeList(answer.text)
})

it.layer(gateway, { excludeTestServices: true })("the request log", (it) => {
  it.effect("has one entry for each paid request, newest first, with its attempts", () =>
    Effect.gen(function* () {
      const { workspace } = yield* TestGateway
      for (const [query, status] of [
        ["right", 200],
        ["wrong", 400],
        ["busy", 529]
      ] as const) {
        expect((yield* post("/api/v1/rerank", body(query))).status).toBe(status)
      }
      expect((yield* post("/api/v1/rerank", body("unknown", "test/none"))).status).toBe(404)
      const { data, has_more, next } = yield* list()
      expect([has_more, next]).toEqual([false, null])
      const first = { provider: "first", outcome: "RateLimited", status: 429, billed: "no" }
      expect(data).toMatchObject([
        {
          status: "failed",
          error_status: 529,
          cost: 0,
          usage: {},
          upstream_model: null,
          attempts: [first, { ...first, provider: "second" }]
        },
        { status: "failed", error_status: 400, provider: "second", attempts: [first, { outcome: "InvalidRequest" }] },
        {
          workspace_id: workspace.id,
          operation: "rerank",
          model: "test/rank",
          status: "completed",
          error_status: null,
          provider: "second",
          upstream_model: "rank-1",
          video_id: null,
          is_byok: false,
          cost: 0.001,
          usage: { search_units: 1, total_tokens: 2 },
          attempts: [first, { provider: "second", outcome: "Success", billed: "yes" }]
        }
      ])
    })
  )

  it.effect("is filtered by key, model, provider, status, error and time", () =>
    Effect.gen(function* () {
      const { data } = yield* list()
      const [newest, , oldest] = data
      if (newest === undefined || oldest === undefined) return expect.unreachable()
      const matching = Effect.fnUntraced(function* (query: string) {
        return (yield* list(query)).data.map(({ error_status }) => error_status)
      })
      expect(yield* matching(`?key_hash=${newest.key_hash}`)).toEqual([529, 400, null])
      expect(yield* matching(`?key_hash=other`)).toEqual([])
      expect(yield* matching(`?workspace_id=${newest.workspace_id}&model=test/rank`)).toEqual([529, 400, null])
      expect(yield* matching(`?model=test/other`)).toEqual([])
      expect(yield* matching(`?provider=second&status=failed`)).toEqual([529, 400])
      expect(yield* matching(`?error_status=400`)).toEqual([400])
      expect(yield* matching(`?status=completed`)).toEqual([null])
      expect(yield* matching(`?from=${newest.created_at}`)).toContain(529)
      expect(yield* matching(`?to=${oldest.created_at}`)).toEqual([])
    })
  )

  it.effect("pages by the id of the last entry", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      let next: string | null = null
      do {
        const page: Generations.ListResponse = yield* list(`?limit=2${next === null ? "" : `&after=${next}`}`)
        expect(page.has_more).toBe(page.next !== null)
        seen.push(...page.data.map(({ id }) => id))
        next = page.next
      } while (next !== null)
      expect(seen).toEqual((yield* list()).data.map(({ id }) => id))
    })
  )

  it.effect("names what is wrong with a filter or a page", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key } = yield* TestGateway
      for (const [query, field] of [
        ["?after=nothing", "after"],
        ["?limit=0", "limit"],
        ["?status=done", "status"],
        ["?error_status=200", "error_status"],
        ["?from=yesterday", "from"],
        ["?from=2026-13-01T00:00:00Z", "from"],
        ["?to=2026-02-30T00:00:00Z", "to"]
      ] as const) {
        const answer = yield* ask(`/api/v1/generations${query}`, { key })
        expect([query, answer.status, issuePaths(answer)]).toEqual([query, 400, [field]])
      }
      expect((yield* ask("/api/v1/generations")).status).toBe(403)
      const foreign = yield* ask("/api/v1/generations?workspace_id=7d9d1f9e-3a55-4f0c-9a35-0e4d1b9f6a10", { key })
      expect([foreign.status, envelopeOf(foreign).error.code]).toEqual([403, 403])
    })
  )

  it.effect("shows an entry to the keys of its workspace and to the management keys of its organization", () =>
    Effect.gen(function* () {
      const { ask, managementKey } = yield* TestGateway
      const sql = yield* SqlClient
      const [, , entry] = (yield* list()).data
      if (entry === undefined) return expect.unreachable()
      const path = `/api/v1/generation?id=${entry.id}`
      const { data } = yield* decodeOne((yield* ask(path)).text)
      expect(data).toMatchObject({
        id: entry.id,
        api_type: "rerank",
        model: "test/rank",
        provider_name: "second",
        provider_responses: [
          { provider_name: "first", status: 429 },
          { provider_name: "second", status: 200, is_byok: false }
        ],
        total_cost: 0.001,
        usage: 0.001,
        tokens_prompt: 2,
        cancelled: false,
        status: "completed",
        attempts: entry.attempts
      })
      expect((yield* ask(path, { key: managementKey })).status).toBe(200)
      yield* sql`INSERT INTO organizations (id, name, created_at) VALUES ('other', 'o', 0)`
      yield* sql`INSERT INTO workspaces (id, organization_id, name, is_default, file_shape, balance_micro, reserved_micro, created_at, updated_at)
        VALUES ('other', 'other', 'w', 1, 'native', 0, 0, 0, 0)`
      const keys = yield* KeyStore
      const stranger = { organizationId: "other", workspaceId: "other", name: "k" }
      const { plain } = yield* keys.create(stranger)
      const manager = yield* keys.create({ ...stranger, isManagement: true })
      for (const key of [plain, manager.plain]) {
        const answer = yield* ask(path, { key: Redacted.value(key) })
        expect([answer.status, envelopeOf(answer).error.code]).toEqual([404, 404])
      }
      const others = yield* ask("/api/v1/generations", { key: Redacted.value(manager.plain) })
      expect((yield* decodeList(others.text)).data).toEqual([])
    })
  )

  it.effect("says what the caller's provider account was billed", () =>
    Effect.gen(function* () {
      const { ask, workspace } = yield* TestGateway
      const sql = yield* SqlClient
      for (const isByok of [0, 1]) {
        const id = `own-${isByok}`
        yield* sql`INSERT INTO usage_ledger (id, key_hash, workspace_id, operation, model, provider, upstream_model, is_byok, is_late, reserved_micro, cost_micro, reserved_at, settled_at)
          VALUES (${id}, 'k', ${workspace.id}, 'rerank', 'test/own', 'p', 'm', ${isByok}, 0, 2000, 2000, 0, 0)`
        const { data } = yield* decodeOne((yield* ask(`/api/v1/generation?id=${id}`)).text)
        expect(data).toMatchObject({ total_cost: 0.002, upstream_inference_cost: isByok === 1 ? 0.002 : null })
      }
    })
  )

  it.effect("says where to continue when no entry of a page matches the filter", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const [entry] = (yield* list("?limit=1")).data
      if (entry === undefined) return expect.unreachable()
      // 2,500 newer requests of another model.
      yield* sql`INSERT INTO usage_ledger (id, key_hash, workspace_id, operation, model, provider, upstream_model, is_byok, is_late, reserved_micro, cost_micro, reserved_at, settled_at)
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
        SELECT 'later-' || i, 'k', ${entry.workspace_id}, 'rerank', 'test/later', 'p', 'm', 0, 0, 0, 0, ${Date.parse(entry.created_at)} + i, 0 FROM n`
      const page = yield* list("?model=test/rank")
      const end = `before:${Date.parse(entry.created_at) + 501}`
      expect([page.data, page.has_more, page.next]).toEqual([[], true, end])
      expect((yield* list(`?model=test/rank&after=${end}`)).data).toHaveLength(3)
      expect((yield* list("?model=test/later&limit=1000")).next).toBe("later-1501")
    })
  )
})

it.layer(gateway, { excludeTestServices: true })("the request log of traced requests", (it) => {
  it.effect("is filtered by the x-request-id of a response, also the caller's own, and by operation", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key } = yield* TestGateway
      const headers = { "x-request-id": "order-7" }
      const served = yield* post("/api/v1/rerank", body("traced"), { headers })
      const failed = yield* post("/api/v1/rerank", body("busy"))
      const id = envelopeOf(failed).service_metadata.request_id
      expect([served.headers["x-request-id"], failed.headers["x-request-id"]]).toEqual(["order-7", id])
      for (const [requestId, status] of [
        ["order-7", "completed"],
        [id, "failed"]
      ] as const) {
        const { data } = yield* list(`?request_id=${requestId}&operation=rerank`)
        expect(data).toMatchObject([{ request_id: requestId, status }])
        const one = yield* decodeOne((yield* ask(`/api/v1/generation?id=${data[0]?.id}`, { key })).text)
        expect(one.data.request_id).toBe(requestId)
      }
      expect((yield* list("?request_id=order-8")).data).toEqual([])
      expect((yield* list("?operation=transcription")).data).toEqual([])
      const wrong = yield* ask("/api/v1/generations?operation=chat", { key })
      expect([wrong.status, issuePaths(wrong)]).toEqual([400, ["operation"]])
    })
  )

  it.effect("says which message the caller got, without what a provider wrote, and how it is traced", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const trace = { trace_id: "checkout-7", tenant: "acme" }
      for (const [query, kept] of [
        ["busy", "provider returned error: it is overloaded"],
        ["wrong", "invalid request parameters"]
      ] as const) {
        const failed = yield* post("/api/v1/rerank", { ...body(query), trace })
        const { error, service_metadata } = envelopeOf(failed)
        expect(error.message).toBe(query === "wrong" ? `${kept}: no` : kept)
        const expected = { error_message: kept, trace: { trace_id: "checkout-7" } }
        const { data } = yield* list(`?request_id=${service_metadata.request_id}`)
        expect(data).toMatchObject([expected])
        const one = yield* ask(`/api/v1/generation?id=${service_metadata.request_id}`)
        expect((yield* decodeOne(one.text)).data).toMatchObject({ ...expected, id: data[0]?.id })
      }
      const named = (id: string) => ({ headers: { "x-request-id": id } })
      yield* post("/api/v1/rerank", { ...body("served"), trace }, named("served-1"))
      const { data } = yield* list("?request_id=served-1")
      expect(data).toMatchObject([{ error_message: null, trace: { trace_id: "checkout-7" } }])
      yield* post("/api/v1/rerank", body("plain"), named("plain-1"))
      const [untraced] = (yield* list("?request_id=plain-1")).data
      expect([untraced?.error_message, untraced?.trace]).toEqual([null, null])
    })
  )
})
