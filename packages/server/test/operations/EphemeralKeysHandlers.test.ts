import { Response as CurrentKeyResponse } from "@model-gateway/core/CurrentKey"
import { EphemeralResponse, ListResponse, Response } from "@model-gateway/core/Keys"
import { expect, it } from "@effect/vitest"
import { Duration, Effect, Redacted, Schema } from "effect"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { GuardrailStore } from "../../src/access/GuardrailStore.ts"
import { EphemeralKeys } from "../../src/access/EphemeralKeys.ts"
import * as KeyFormat from "../../src/access/KeyFormat.ts"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { layer, TestGateway } from "../TestGateway.ts"
import { envelopeOf, inSet, issuePaths, post } from "../TestEnvelope.ts"
import * as TestLedger from "../accounting/TestLedger.ts"

const path = "/api/v1/keys/ephemeral"

const strict = { onExcessProperty: "error" } as const

const made = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.toEncoded(EphemeralResponse)), strict)

const one = Schema.decodeUnknownSync(Schema.fromJsonString(Response), strict)

const many = Schema.decodeUnknownSync(Schema.fromJsonString(ListResponse), strict)

const record = Schema.decodeUnknownSync(Schema.fromJsonString(CurrentKeyResponse), strict)

const identified = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Struct({ id: Schema.String })))

const rerank = { model: "sandbox/bm25", query: "green tea", documents: ["coffee", "green tea"] }

/** A new ordinary key, and an ephemeral one that it made of itself. */
const family = Effect.fnUntraced(function* (limit?: number) {
  const { workspace } = yield* TestGateway
  const { key: parent, plain } = yield* (yield* KeyStore).create({
    organizationId: workspace.organizationId,
    workspaceId: workspace.id,
    name: "parent",
    limit: limit === undefined ? null : MicroCredits.make(limit)
  })
  const key = Redacted.value(plain)
  return { parent, key, ephemeral: made((yield* post(path, {}, { key })).text).key }
})

it.layer(layer(), { excludeTestServices: true })("POST /keys/ephemeral", (it) => {
  it.effect("answers a key, when it ends, and nothing of its parent", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const before = Date.now()
      for (const [body, seconds] of [
        ["{}", 900],
        [undefined, 900],
        ['{"expires_in":1}', 1],
        ['{"expires_in":900}', 900]
      ] as const) {
        const answer = yield* ask(path, { method: "POST", body })
        expect([body, answer.status]).toEqual([body, 201])
        const { expires_at, key } = made(answer.text)
        expect(key).toMatch(/^mg_ek_[0-9A-Za-z]{38}$/)
        const end = Date.parse(expires_at) - seconds * 1000
        expect(end).toBeGreaterThanOrEqual(before)
        expect(end).toBeLessThanOrEqual(Date.now())
        expect(answer.headers["ratelimit"]).toMatch(/^"default";r=\d+;t=\d+$/)
      }
    })
  )

  it.effect("takes from 1 to 900 whole seconds", () =>
    Effect.gen(function* () {
      for (const expires_in of [0, 901, -1, 1.5, "60", null]) {
        const answer = yield* post(path, { expires_in })
        expect([expires_in, answer.status, issuePaths(answer)[0]]).toEqual([expires_in, 400, "expires_in"])
      }
      expect((yield* post(path, "{")).status).toBe(400)
    })
  )

  it.effect("is for ordinary keys: a management key and an ephemeral one get a 403, a stranger a 401", () =>
    Effect.gen(function* () {
      const { managementKey } = yield* TestGateway
      const { ephemeral } = yield* family()
      const management = yield* post(path, {}, { key: managementKey })
      expect(management.status).toBe(403)
      const child = yield* post(path, {}, { key: ephemeral })
      expect([child.status, envelopeOf(child).error.message]).toEqual([
        403,
        "insufficient permissions: an ephemeral key cannot create another. Use its parent key."
      ])
      const stranger = yield* post(path, {}, { key: null })
      expect(stranger.status).toBe(401)
      for (const answer of [management, child, stranger]) inSet("createEphemeralKey", answer)
    })
  )

  it.effect("makes a key that works, spends its parent's budget and shows its parent's record", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const { ephemeral, key, parent } = yield* family(5000)
      expect((yield* post("/api/v1/rerank", rerank, { key: ephemeral })).status).toBe(200)
      const own = record((yield* ask("/api/v1/key", { key: ephemeral })).text).data
      const parents = record((yield* ask("/api/v1/key", { key })).text).data
      expect(parents).toMatchObject({ usage: 0.001, usage_daily: 0.001, limit: 0.005, limit_remaining: 0.004 })
      expect(own).toEqual({ ...parents, label: `mg_ek_…${ephemeral.slice(-3)}`, expires_at: own.expires_at })
      expect(parents.expires_at).toBe(null)
      expect(Date.parse(own.expires_at ?? "")).toBeGreaterThan(Date.now())
      const ledger = yield* TestLedger.usageOf({ keyHash: parent.hash })
      expect(ledger).toMatchObject([{ operation: "rerank", cost: 1000, keyHash: parent.hash }])
    })
  )

  it.effect("applies the parent's limit to all of them together", () =>
    Effect.gen(function* () {
      const allowed = 10
      const { ephemeral, key } = yield* family(allowed * 1000)
      const second = made((yield* post(path, {}, { key })).text).key
      const statuses = yield* Effect.forEach(
        Array.from({ length: 2 * allowed }, (_, i) => [key, ephemeral, second][i % 3]),
        (key) => Effect.map(post("/api/v1/rerank", rerank, { key: key ?? null }), ({ status }) => status),
        { concurrency: "unbounded" }
      )
      expect(statuses.toSorted((a, b) => a - b)).toEqual([
        ...Array.from({ length: allowed }, () => 200),
        ...Array.from({ length: allowed }, () => 402)
      ])
    })
  )

  it.effect("shares no Idempotency-Key with its parent or its siblings", () =>
    Effect.gen(function* () {
      const { ephemeral, key } = yield* family()
      const sibling = made((yield* post(path, {}, { key })).text).key
      const headers = { "idempotency-key": "the same" }
      const film = { model: "sandbox/title-card", prompt: "tea", duration: 1, resolution: "480p" }
      for (const [operation, body, status] of [
        ["/api/v1/rerank", rerank, 200],
        ["/api/v1/videos", film, 202]
      ] as const) {
        const ids = new Set<string>()
        for (const from of [key, ephemeral, sibling]) {
          const first = yield* post(operation, body, { key: from, headers: { "idempotency-key": operation } })
          const again = yield* post(operation, body, { key: from, headers: { "idempotency-key": operation } })
          expect([first.status, first.headers["idempotent-replayed"]]).toEqual([status, undefined])
          expect([again.headers["idempotent-replayed"], again.text]).toEqual(["true", first.text])
          ids.add(identified(first.text).id)
        }
        expect(ids.size).toBe(3)
      }
      // Within one scope this would be a conflict.
      yield* post("/api/v1/rerank", rerank, { key, headers })
      expect((yield* post("/api/v1/rerank", { ...rerank, query: "x" }, { key: ephemeral, headers })).status).toBe(200)
    })
  )

  it.effect("applies the parent's guardrail", () =>
    Effect.gen(function* () {
      const guardrails = yield* GuardrailStore
      const { ephemeral, parent } = yield* family()
      const { id } = yield* guardrails.create({ ...parent, name: "g", allowedModels: ["other/model"] })
      yield* guardrails.assign(parent.organizationId, id, [parent.hash])
      expect((yield* post("/api/v1/rerank", rerank, { key: ephemeral })).status).toBe(403)
    })
  )

  it.effect("tells the bearer of an expired one so", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const { parent } = yield* family()
      const { plain } = yield* (yield* EphemeralKeys).create(parent, 0)
      const answer = yield* ask("/api/v1/key", { key: Redacted.value(plain) })
      expect([answer.status, envelopeOf(answer).error.message]).toEqual([401, "invalid API key: it has expired"])
    })
  )
})

it.layer(layer(), { excludeTestServices: true })("/keys, of an ephemeral key", (it) => {
  it.effect("lists it under its parent, shows it, refuses to change it, revokes it", () =>
    Effect.gen(function* () {
      const { ask, managementKey, workspace } = yield* TestGateway
      const { ephemeral, key, parent } = yield* family(7000)
      yield* post(path, {}, { key })
      const manage = (path: string, method = "GET") => ask(`/api/v1${path}`, { key: managementKey, method })

      const shown = one((yield* manage(`/keys/${parent.hash}`)).text).data
      expect(shown).toMatchObject({ hash: parent.hash, ephemeral_keys: 2 })
      const all = many((yield* manage("/keys")).text).data
      expect(all.find(({ hash }) => hash === parent.hash)).toEqual(shown)
      expect(all.every(({ label }) => !label.startsWith("mg_ek_"))).toBe(true)
      expect(all.find(({ is_management_key }) => is_management_key)).not.toHaveProperty("ephemeral_keys")

      const scope = `workspace_id=${workspace.id}`
      const listed = many((yield* manage(`/keys?parent_hash=${parent.hash}&${scope}`)).text)
      expect(listed.data).toHaveLength(2)
      const first = many((yield* manage(`/keys?parent_hash=${parent.hash}&limit=1`)).text)
      expect([first.data, first.has_more]).toEqual([listed.data.slice(0, 1), true])
      expect([listed.total_count, first.total_count]).toEqual([listed.data.length, listed.data.length])
      const rest = many((yield* manage(`/keys?parent_hash=${parent.hash}&offset=1`)).text)
      expect([rest.data, rest.has_more]).toEqual([listed.data.slice(1), false])

      const own = listed.data.find(({ label }) => label === `mg_ek_…${ephemeral.slice(-3)}`)
      expect(own).toMatchObject({
        name: "parent",
        parent_hash: parent.hash,
        limit: 0.007,
        is_management_key: false,
        workspace_id: parent.workspaceId
      })
      expect(own).not.toHaveProperty("ephemeral_keys")
      const named = `/keys/${own?.hash}`
      expect(one((yield* manage(named)).text).data).toEqual(own)
      const patched = yield* post(`/api/v1${named}`, { disabled: true }, { key: managementKey, method: "PATCH" })
      expect([patched.status, issuePaths(patched)]).toEqual([400, ["hash"]])

      expect((yield* ask("/api/v1/key", { key: ephemeral })).status).toBe(200)
      expect((yield* manage(named, "DELETE")).status).toBe(200)
      expect((yield* ask("/api/v1/key", { key: ephemeral })).status).toBe(401)
      for (const method of ["GET", "DELETE"]) expect((yield* manage(named, method)).status).toBe(404)
      expect(one((yield* manage(`/keys/${parent.hash}`)).text).data.ephemeral_keys).toBe(1)
      expect((yield* ask("/api/v1/key", { key })).status).toBe(200)
    })
  )

  it.effect("stops it with its parent, at once", () =>
    Effect.gen(function* () {
      const { ask, managementKey } = yield* TestGateway
      const { ephemeral, parent } = yield* family()
      expect((yield* ask("/api/v1/key", { key: ephemeral })).status).toBe(200)
      const named = `/api/v1/keys/${parent.hash}`
      yield* post(named, { disabled: true }, { key: managementKey, method: "PATCH" })
      expect((yield* ask("/api/v1/key", { key: ephemeral })).status).toBe(401)
      yield* post(named, { disabled: false }, { key: managementKey, method: "PATCH" })
      expect((yield* ask("/api/v1/key", { key: ephemeral })).status).toBe(200)
      yield* ask(named, { key: managementKey, method: "DELETE" })
      expect((yield* ask("/api/v1/key", { key: ephemeral })).status).toBe(401)
    })
  )

  it.effect("knows no descendants of a key that is not there, nor a guardrail for one that is", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key, workspace } = yield* TestGateway
      const { ephemeral } = yield* family()
      expect((yield* ask("/api/v1/keys?parent_hash=nothing", { key })).status).toBe(404)
      expect((yield* ask("/api/v1/keys/ephemeral", { key })).status).toBe(404)
      const { id } = yield* (yield* GuardrailStore).create({ ...workspace, name: "g" })
      const hash = KeyFormat.hashKey(ephemeral)
      const answer = yield* post(`/api/v1/guardrails/${id}/assignments/keys`, { key_hashes: [hash] }, { key })
      expect(JSON.parse(answer.text)).toEqual({ assigned_count: 0, not_found: [hash], replaced: [] })
    })
  )
})

it.layer(layer({ rateLimit: { requests: 4, window: Duration.hours(1) } }), { excludeTestServices: true })(
  "the rate of a key",
  (it) => {
    it.effect("is shared by all that were made from it, and counts their making", () =>
      Effect.gen(function* () {
        const { ephemeral, key } = yield* family()
        const statuses: Array<number> = []
        for (const bearer of [ephemeral, key, ephemeral, ephemeral]) {
          statuses.push((yield* post("/api/v1/rerank", rerank, { key: bearer })).status)
        }
        const making = yield* post(path, {}, { key })
        expect([...statuses, making.status]).toEqual([200, 200, 200, 429, 429])
        expect(Number(making.headers["retry-after"])).toBeGreaterThan(0)
      })
    )
  }
)
