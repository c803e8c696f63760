import { describe, expect, it } from "@effect/vitest"
import * as Byok from "@model-gateway/core/Byok"
import type { Credential } from "@model-gateway/offers/Offer"
import { ProviderError, Unauthorized } from "@model-gateway/offers/ProviderError"
import type { RerankRequest } from "@model-gateway/offers/Rerank"
import { OpenRouter } from "@openrouter/sdk"
import { Effect, Redacted, Schema } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { ProviderKeys } from "../../src/access/ProviderKeys.ts"
import { type Ask, layer, layerAt, TestGateway } from "../TestGateway.ts"
import { asTheyCame, scripted } from "../TestProvider.ts"
import { inSet, issuePaths, post } from "../TestEnvelope.ts"
import { temporaryFolder } from "../TestStorage.ts"

/** The ids of the credentials that the providers were called with. */
const used: Array<string> = []

const offers = ["cohere", "jina"].map((name) =>
  scripted({
    name,
    rerank: (request, { id }) => {
      used.push(id)
      return Effect.succeed(asTheyCame(request))
    }
  })
)

const gateway = Effect.provide(layer({}, offers))

const decodeKey = Schema.decodeUnknownEffect(Schema.fromJsonString(Byok.Response))
const decodeTest = Schema.decodeUnknownSync(Schema.fromJsonString(Byok.TestResponse), { onExcessProperty: "error" })
const decodeList = Schema.decodeUnknownEffect(Schema.fromJsonString(Byok.ListResponse))

const secret = "co-0123456789-very-secret-abcd"

const management = Effect.map(TestGateway, ({ managementKey: key }): Ask => ({ key }))

const stored = Effect.fnUntraced(function* (body: Partial<Byok.CreateRequest> = {}) {
  const answer = yield* post("/api/v1/byok", { provider: "cohere", key: secret, ...body }, yield* management)
  expect([answer.status, answer.text]).toEqual([201, expect.any(String)])
  return (yield* decodeKey(answer.text)).data
})

const patch = Effect.fnUntraced(function* (id: string, body: Byok.UpdateRequest) {
  return yield* post(`/api/v1/byok/${id}`, body, { ...(yield* management), method: "PATCH" })
})

const bytesIn = (folder: string): string =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"))
    .join("\n")

describe("/byok", () => {
  it.live("stores a key, and never shows its secret again, not even in the files", () =>
    Effect.gen(function* () {
      const { ask, folder, workspace } = yield* TestGateway
      const key = yield* stored({ name: "Search team" })
      expect(key).toMatchObject({
        provider: "cohere",
        name: "Search team",
        label: "co-…abcd",
        workspace_id: workspace.id,
        disabled: false,
        is_fallback: false,
        is_required: false,
        is_byok_only: false,
        declared_zdr: null,
        allowed_api_key_hashes: null,
        sort_order: 0
      })
      const answers = [
        yield* ask(`/api/v1/byok/${key.id}`, yield* management),
        yield* ask("/api/v1/byok", yield* management),
        yield* patch(key.id, { disabled: true }),
        yield* patch(key.id, { key: `${secret}-new` }),
        yield* post("/api/v1/byok", { provider: "none", key: secret }, yield* management),
        yield* post("/api/v1/byok", { provider: "cohere", key: `${secret} x` }, yield* management)
      ]
      for (const { text } of answers) expect(text).not.toContain("very-secret")
      expect((yield* decodeKey(answers[3]?.text ?? "")).data.label).toBe("co-…-new")
      expect(bytesIn(folder)).not.toContain("very-secret")
    }).pipe(gateway)
  )

  it.live("tests a key by one small call, which is recorded and not charged, and shows its last use", () => {
    const calls: Array<readonly [secret: string, documents: number]> = []
    const answer = (request: RerankRequest, credential: Credential) =>
      Effect.suspend(() => {
        const text = credential.secret === undefined ? "" : Redacted.value(credential.secret)
        calls.push([text, request.documents.length])
        return text.endsWith("wrong")
          ? Effect.fail(new ProviderError({ reason: new Unauthorized(), status: 401 }))
          : Effect.succeed(asTheyCame(request))
      })
    const providers = [scripted({ name: "cohere", rerank: answer }), scripted({ name: "jina" })]
    return Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const test = Effect.fnUntraced(function* (id: string) {
        const tested = yield* ask(`/api/v1/byok/${id}/test`, { ...(yield* management), method: "POST" })
        inSet("testByokKey", tested)
        return decodeTest(tested.text).data
      })
      const read = Effect.fnUntraced(function* (id: string) {
        return (yield* decodeKey((yield* ask(`/api/v1/byok/${id}`, yield* management)).text)).data
      })
      const key = yield* stored()
      expect(key).toMatchObject({ last_used_at: null, last_outcome: null, last_status: null })
      const success = { accepted: true, outcome: "Success", status: null, message: null, model: "test/rank" }
      expect(yield* test(key.id.toUpperCase())).toMatchObject(success)
      expect(calls).toEqual([[secret, 1]])

      const wrong = yield* stored({ key: `${secret}-wrong`, disabled: true })
      const refused = yield* test(wrong.id)
      expect(refused).toMatchObject({ accepted: false, outcome: "Unauthorized", status: 401, model: "test/rank" })
      expect(JSON.stringify(refused)).not.toContain("very-secret")
      const another = yield* stored({ allowed_models: ["test/none"] })
      expect(yield* test(another.id)).toMatchObject({ accepted: null, outcome: "NotTried", model: null })
      expect(calls).toHaveLength(2)
      const entries: unknown = JSON.parse((yield* ask("/api/v1/generations", yield* management)).text)
      expect(entries).toMatchObject({ data: [] })

      const unknown = yield* ask("/api/v1/byok/6f5ebeb1-4ff8-4235-a8b3-44a3f6d926cd/test", {
        ...(yield* management),
        method: "POST"
      })
      expect(unknown.status).toBe(404)
      expect((yield* ask(`/api/v1/byok/${key.id}/test`, { method: "POST" })).status).toBe(403)
      // Another secret was not used yet.
      yield* (yield* ProviderKeys).used(new Map([[key.id, { at: 1000, outcome: "RateLimited", status: 429 }]]))
      const used = { last_used_at: "1970-01-01T00:00:01.000Z", last_outcome: "RateLimited", last_status: 429 }
      expect(yield* read(key.id)).toMatchObject(used)
      yield* patch(key.id, { name: "n" })
      expect(yield* read(key.id)).toMatchObject(used)
      yield* patch(key.id, { key: `${secret}-new` })
      expect(yield* read(key.id)).toMatchObject({ last_used_at: null, last_outcome: null, last_status: null })
    }).pipe(Effect.provide(layer({}, providers)))
  })

  it.live("shows the use of a key by a request, which is written when the process ends", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const id = yield* Effect.gen(function* () {
        const key = yield* stored()
        const ranked = yield* post("/api/v1/rerank", { model: "test/rank", query: "q", documents: ["a"] })
        expect(ranked.status).toBe(200)
        return key.id
      }).pipe(Effect.provide(layerAt(folder, {}, offers)))
      const database = new DatabaseSync(join(folder, "gateway.db"), { readOnly: true })
      const row = database.prepare("SELECT used_at, outcome, outcome_status FROM provider_keys WHERE id = ?").get(id)
      database.close()
      expect(row).toMatchObject({ outcome: "Success", outcome_status: null })
      expect(Number(row?.["used_at"])).toBeGreaterThan(Date.now() - 60_000)
    }).pipe(Effect.scoped)
  )

  it.live("lists by provider, offset and limit, in the order of creation", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const [a, b, c] = [yield* stored(), yield* stored({ provider: "jina" }), yield* stored()]
      expect([a, b, c].map(({ sort_order }) => sort_order)).toEqual([0, 0, 1])
      const list = Effect.fnUntraced(function* (query: string) {
        const { data, total_count } = yield* decodeList((yield* ask(`/api/v1/byok${query}`, yield* management)).text)
        return [data.map(({ id }) => id), total_count]
      })
      expect(yield* list("")).toEqual([[a.id, b.id, c.id], 3])
      expect(yield* list("?provider=cohere")).toEqual([[a.id, c.id], 2])
      expect(yield* list("?offset=1&limit=1")).toEqual([[b.id], 3])
      expect(yield* list("?offset=9")).toEqual([[], 3])
      for (const query of ["?limit=101", "?limit=0", "?offset=-1", "?workspace_id=x"]) {
        const answer = yield* ask(`/api/v1/byok${query}`, yield* management)
        expect(answer.status).toBe(400)
        inSet("listByokKeys", answer)
      }
    }).pipe(gateway)
  )

  it.live("changes the order in which the keys for a provider are tried", () =>
    Effect.gen(function* () {
      const [first, second] = [yield* stored(), yield* stored()]
      const isFirst = Effect.fnUntraced(function* ({ id }: Byok.ByokKey) {
        expect((yield* post("/api/v1/rerank", { model: "test/rank", query: "q", documents: ["a"] })).status).toBe(200)
        expect(used.at(-1)).toContain(id)
      })
      yield* isFirst(first)
      const moved = yield* decodeKey((yield* patch(first.id, { sort_order: 2 })).text)
      expect(moved.data).toMatchObject({ sort_order: 2, label: first.label })
      yield* isFirst(second)
      expect((yield* patch(first.id, { sort_order: second.sort_order })).status).toBe(200)
      yield* isFirst(first)
      for (const sort_order of [-1, 1.5, 1_000_001]) {
        const refused = yield* patch(first.id, { sort_order })
        expect([refused.status, refused.text]).toEqual([400, expect.stringContaining("sort_order")])
      }
    }).pipe(gateway)
  )

  it.live("changes what is named, and deletes once", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const { id } = yield* stored({ allowed_models: ["test/rank"] })
      const changed = yield* decodeKey((yield* patch(id, { name: "n", declared_zdr: true, is_required: true })).text)
      expect(changed.data).toMatchObject({
        name: "n",
        declared_zdr: true,
        is_required: true,
        allowed_models: ["test/rank"]
      })
      const cleared = yield* decodeKey((yield* patch(id, { name: null, allowed_models: null })).text)
      expect(cleared.data).toMatchObject({ name: null, allowed_models: null, declared_zdr: true })
      const removing = { ...(yield* management), method: "DELETE" }
      const removed = yield* ask(`/api/v1/byok/${id}`, removing)
      expect([removed.status, removed.text]).toEqual([200, '{"deleted":true}'])
      for (const answer of [
        yield* ask(`/api/v1/byok/${id}`, removing),
        yield* ask(`/api/v1/byok/${id}`, yield* management),
        yield* patch(id, { name: "n" })
      ]) {
        expect(answer.status).toBe(404)
      }
    }).pipe(gateway)
  )

  it.live("rejects contradictions, unknown providers, unknown API keys and other workspaces, and stores nothing", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const base = { provider: "cohere", key: secret }
      const rejected = [
        [{ ...base, is_byok_only: true, is_fallback: true }, "is_byok_only"],
        [{ ...base, provider: "none" }, "provider"],
        [{ ...base, allowed_api_key_hashes: ["unknown"] }, "allowed_api_key_hashes"],
        [{ ...base, allowed_api_key_hashes: [] }, "allowed_api_key_hashes"],
        [{ provider: "cohere" }, "key"]
      ] as const
      for (const [body, path] of rejected) {
        const answer = yield* post("/api/v1/byok", body, yield* management)
        expect([answer.status, issuePaths(answer)]).toEqual([400, [path]])
      }
      const foreign = { ...base, workspace_id: "7d9d1f9e-3a55-4f0c-9a35-0e4d1b9f6a10" }
      expect((yield* post("/api/v1/byok", foreign, yield* management)).status).toBe(403)
      const listed = yield* ask("/api/v1/byok", yield* management)
      expect(listed.text).toBe('{"data":[],"total_count":0}')
    }).pipe(gateway)
  )

  it.live("is for management keys only", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const { id } = yield* stored()
      for (const answer of [
        yield* post("/api/v1/byok", { provider: "cohere", key: secret }),
        yield* ask("/api/v1/byok"),
        yield* ask(`/api/v1/byok/${id}`),
        yield* ask(`/api/v1/byok/${id}`, { method: "DELETE" })
      ]) {
        expect(answer.status).toBe(403)
      }
    }).pipe(gateway)
  )

  it.live("names the providers that are not in this process", () =>
    Effect.gen(function* () {
      const answer = yield* post("/api/v1/byok", { provider: "sandbox", key: secret }, yield* management)
      expect(answer.status).toBe(400)
      expect(answer.text).toContain("Expected one of cohere, jina")
    }).pipe(gateway)
  )

  it.live("works with the SDK whose shapes it has", () =>
    Effect.gen(function* () {
      const { managementKey, port } = yield* TestGateway
      const sdk = new OpenRouter({ apiKey: managementKey, serverURL: `http://127.0.0.1:${port}/api/v1` })
      const answers = yield* Effect.promise(async () => {
        const created = await sdk.byok.create({
          createBYOKKeyRequest: { provider: "cohere", key: secret, name: "SDK", allowedModels: ["test/rank"] }
        })
        const { id } = created.data
        const read = await sdk.byok.get({ id })
        const listed = await sdk.byok.list({ provider: "cohere" })
        const updated = await sdk.byok.update({ id, updateBYOKKeyRequest: { isFallback: true } })
        return { created, read, listed, updated, removed: await sdk.byok.delete({ id }) }
      })
      expect(answers.created.data).toMatchObject({ name: "SDK", provider: "cohere", allowedModels: ["test/rank"] })
      expect(answers.read.data).toEqual(answers.created.data)
      expect(answers.listed).toMatchObject({ result: { totalCount: 1, data: [answers.created.data] } })
      expect(answers.updated.data.isFallback).toBe(true)
      expect(answers.removed).toEqual({ deleted: true })
    }).pipe(gateway)
  )
})
