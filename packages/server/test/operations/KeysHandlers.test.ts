import { CreateResponse, EphemeralResponse, ListResponse, Response, RotateResponse } from "@model-gateway/core/Keys"
import { Response as KeyResponse } from "@model-gateway/core/CurrentKey"
import { ListResponse as ModelList } from "@model-gateway/core/Models"
import { expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { layer, TestGateway } from "../TestGateway.ts"
import { envelopeOf, issuePaths, post } from "../TestEnvelope.ts"

const path = "/api/v1/keys"

const created = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.toEncoded(CreateResponse)))

const rotated = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.toEncoded(RotateResponse)))

const one = Schema.decodeUnknownSync(Schema.fromJsonString(Response))

const many = Schema.decodeUnknownSync(Schema.fromJsonString(ListResponse))

const record = Schema.decodeUnknownSync(Schema.fromJsonString(KeyResponse), { onExcessProperty: "error" })

it.layer(layer({ freeDailyRequests: 7 }), { excludeTestServices: true })("/keys", (it) => {
  it.effect("makes an ephemeral key of an ordinary key without its secret, and of no other", () =>
    Effect.gen(function* () {
      const { ask, managementKey: manager } = yield* TestGateway
      const make = (hash: string, body: object = {}) => post(`${path}/${hash}/ephemeral`, body, { key: manager })
      const create = (request: object) =>
        Effect.map(post(path, { name: "k", ...request }, { key: manager }), ({ text }) => created(text))
      const { data } = yield* create({})
      const answer = yield* make(data.hash, { expires_in: 60 })
      expect(answer.status).toBe(201)
      const { expires_at, key } = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.toEncoded(EphemeralResponse)))(
        answer.text
      )
      const lifetime = Date.parse(expires_at) - Date.now()
      expect([lifetime > 0, lifetime <= 60_000]).toEqual([true, true])
      expect(record((yield* ask("/api/v1/key", { key })).text).data.label).toMatch(/^mg_ek_/)
      const listed = many((yield* ask(`${path}?parent_hash=${data.hash}`, { key: manager })).text)
      expect(listed.data.map(({ parent_hash }) => parent_hash)).toEqual([data.hash])

      const refusal = (hash: string) =>
        Effect.map(make(hash), (refused) => [refused.status, issuePaths(refused), envelopeOf(refused).error.message])
      const wrong = "invalid request parameters: "
      expect(yield* refusal(listed.data[0]?.hash ?? "")).toEqual([
        400,
        ["hash"],
        `${wrong}an ephemeral key has no ephemeral keys. Name its parent.`
      ])
      const management = yield* create({ is_management_key: true })
      expect(yield* refusal(management.data.hash)).toEqual([
        400,
        ["hash"],
        `${wrong}a management key has no ephemeral keys, because it cannot spend. Name an ordinary key.`
      ])
      yield* post(`${path}/${data.hash}`, { disabled: true }, { key: manager, method: "PATCH" })
      expect(yield* refusal(data.hash)).toEqual([400, ["hash"], `${wrong}the key cannot be used: it is disabled.`])
      expect((yield* make("f".repeat(64))).status).toBe(404)
      // A key that is restricted to another workspace does not learn that it exists.
      const elsewhere = yield* post("/api/v1/workspaces", { name: "w", slug: "elsewhere" }, { key: manager })
      const { id } = Schema.decodeUnknownSync(
        Schema.fromJsonString(Schema.Struct({ data: Schema.Struct({ id: Schema.String }) }))
      )(elsewhere.text).data
      const other = yield* create({ is_management_key: true, role: "operator", workspace_ids: [id] })
      expect((yield* post(`${path}/${data.hash}/ephemeral`, {}, { key: other.key })).status).toBe(404)
    })
  )

  it.effect("makes a key that works, shows it once, changes it and deletes it [spec A2]", () =>
    Effect.gen(function* () {
      const { ask, managementKey: manager, workspace } = yield* TestGateway
      const request = { name: "search", limit: 0.3, limit_reset: "weekly", expires_at: "2999-01-01T00:00:00.000Z" }
      const made = created((yield* post(path, request, { key: manager })).text)
      expect(made.data).toMatchObject({
        ...request,
        limit_remaining: 0.3,
        usage: 0,
        disabled: false,
        workspace_id: workspace.id
      })
      expect(made.key).toMatch(/^mg_sk_/)

      const own = record((yield* ask("/api/v1/key", { key: made.key })).text).data
      expect(own).toMatchObject({
        limit: 0.3,
        limit_reset: "weekly",
        expires_at: request.expires_at,
        label: made.data.label
      })
      expect(own.free_model_daily_requests).toEqual({ limit: 7, used: 0, remaining: 7 })

      const named = `${path}/${made.data.hash}`
      const read = yield* ask(named, { key: manager })
      expect(one(read.text).data).toEqual(made.data)
      expect(read.text).not.toContain(made.key)

      const patch = (body: unknown) => post(named, body, { key: manager, method: "PATCH" })
      expect(one((yield* patch({ name: "renamed", limit: null })).text).data).toMatchObject({
        name: "renamed",
        limit: null,
        limit_reset: "weekly"
      })
      const past = yield* patch({ expires_at: "2001-01-01T00:00:00Z" })
      expect([past.status, issuePaths(past)]).toEqual([400, ["expires_at"]])
      const never = yield* patch({ expires_at: "2999-13-41T00:00:00Z" })
      expect([never.status, issuePaths(never)]).toEqual([400, ["expires_at"]])

      expect((yield* patch({ disabled: true })).status).toBe(200)
      expect((yield* ask("/api/v1/key", { key: made.key })).status).toBe(401)
      expect((yield* patch({ disabled: false })).status).toBe(200)
      expect((yield* ask("/api/v1/key", { key: made.key })).status).toBe(200)

      expect(JSON.parse((yield* ask(named, { key: manager, method: "DELETE" })).text)).toEqual({ deleted: true })
      expect((yield* ask("/api/v1/key", { key: made.key })).status).toBe(401)
      for (const method of ["GET", "DELETE"]) {
        const gone = yield* ask(named, { key: manager, method })
        expect([gone.status, envelopeOf(gone).error.message]).toEqual([404, "resource not found: there is no such key"])
      }
    })
  )

  it.effect("makes one key under one Idempotency-Key, and returns the same secret text to its caller", () =>
    Effect.gen(function* () {
      const { ask, managementKey: manager } = yield* TestGateway
      const sql = yield* SqlClient
      const create = (body: unknown, idempotencyKey: string, key = manager) =>
        post(path, body, { key, headers: { "idempotency-key": idempotencyKey } })
      const [first, second] = yield* Effect.all([create({ name: "once" }, "k1"), create({ name: "once" }, "k1")], {
        concurrency: 2
      })
      const third = yield* create({ name: "once" }, "k1")
      expect([first.status, second.text, third.text]).toEqual([201, first.text, first.text])
      expect([second.status, third.status]).toEqual([201, 201])
      expect(third.headers["idempotent-replayed"]).toBe("true")
      expect(third.headers["content-type"]).toMatch(/^application\/json/)
      const made = created(first.text)
      expect(made.data).toEqual(one((yield* ask(`${path}/${made.data.hash}`, { key: manager })).text).data)
      expect((yield* ask("/api/v1/key", { key: made.key })).status).toBe(200)
      const named = many((yield* ask(path, { key: manager })).text).data.filter(({ name }) => name === "once")
      expect(named).toHaveLength(1)

      const other = yield* create({ name: "other" }, "k1")
      expect([other.status, issuePaths(other)]).toEqual([400, ["idempotency-key"]])
      expect(created((yield* create({ name: "once" }, "k2")).text).key).not.toBe(made.key)

      // A failure leaves the idempotency key free.
      const past = yield* create({ name: "p", expires_at: "2001-01-01T00:00:00Z" }, "k3")
      expect([past.status, issuePaths(past)]).toEqual([400, ["expires_at"]])
      expect((yield* create({ name: "p" }, "k3")).status).toBe(201)

      const management = created((yield* create({ name: "m", is_management_key: true }, "k4")).text)
      expect(created((yield* create({ name: "m", is_management_key: true }, "k4")).text)).toEqual(management)
      // The same idempotency key of another API key is another one.
      const another = created((yield* create({ name: "once" }, "k1", management.key)).text)
      expect(another.data.hash).not.toBe(made.data.hash)
      expect((yield* ask("/api/v1/key", { key: another.key })).status).toBe(200)

      const stored = JSON.stringify(yield* sql`SELECT * FROM idempotency`)
      expect(stored).toContain(made.data.hash)
      for (const secret of [made.key, management.key, another.key]) expect(stored).not.toContain(secret)
    })
  )

  it.effect("gives a key another secret, shown once, and accepts the former one during the grace", () =>
    Effect.gen(function* () {
      const { ask, managementKey: manager } = yield* TestGateway
      const made = created((yield* post(path, { name: "turning", limit: 3 }, { key: manager })).text)
      const named = `${path}/${made.data.hash}`
      const statusOf = (key: string) => Effect.map(ask("/api/v1/key", { key }), ({ status }) => status)
      const begun = Date.now()
      // Without a body, the grace is 24 hours.
      const second = rotated((yield* ask(`${named}/rotate`, { key: manager, method: "POST" })).text)
      const label = `mg_sk_…${second.key.slice(-3)}`
      expect(second.data).toEqual({ ...made.data, label, updated_at: second.data.updated_at })
      const hours = (Date.parse(second.previous_expires_at ?? "") - begun) / 3_600_000
      expect(hours).toBeGreaterThanOrEqual(24)
      expect(hours).toBeLessThan(24.1)
      expect([yield* statusOf(made.key), yield* statusOf(second.key)]).toEqual([200, 200])
      expect(one((yield* ask(named, { key: manager })).text).data.label).toBe(label)

      const third = rotated((yield* post(`${named}/rotate`, { grace_seconds: 0 }, { key: manager })).text)
      expect(third.previous_expires_at).toBeNull()
      for (const [key, status] of [
        [made.key, 401],
        [second.key, 401],
        [third.key, 200]
      ] as const) {
        expect(yield* statusOf(key)).toBe(status)
      }
      const ended = envelopeOf(yield* ask("/api/v1/key", { key: second.key }))
      expect(ended.error.message).toBe("invalid API key: it was replaced by a newer one")

      for (const grace_seconds of [-1, 2_592_001, 0.5, "60"]) {
        const wrong = yield* post(`${named}/rotate`, { grace_seconds }, { key: manager })
        expect([wrong.status, issuePaths(wrong)]).toEqual([400, ["grace_seconds"]])
      }
      const unknown = yield* post(`${named}/rotate`, { grace: 0 }, { key: manager })
      expect([unknown.status, issuePaths(unknown)]).toEqual([400, ["grace"]])
      expect((yield* post(`${path}/${"0".repeat(64)}/rotate`, {}, { key: manager })).status).toBe(404)
      const page = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.toEncoded(EphemeralResponse)))(
        (yield* post(`${path}/ephemeral`, {}, { key: third.key })).text
      )
      const [ephemeral] = many((yield* ask(`${path}?parent_hash=${made.data.hash}`, { key: manager })).text).data
      const refused = yield* post(`${path}/${ephemeral?.hash}/rotate`, {}, { key: manager })
      expect([refused.status, issuePaths(refused)]).toEqual([400, ["hash"]])
      yield* post(`${named}/rotate`, { grace_seconds: 0 }, { key: manager })
      expect([yield* statusOf(third.key), yield* statusOf(page.key)]).toEqual([401, 200])

      // Who may not create an admin may not get the secret of one.
      const operator = created(
        (yield* post(path, { name: "o", is_management_key: true, role: "operator" }, { key: manager })).text
      )
      const admin = created((yield* post(path, { name: "a", is_management_key: true }, { key: manager })).text)
      expect((yield* post(`${path}/${admin.data.hash}/rotate`, {}, { key: operator.key })).status).toBe(403)
      expect((yield* post(`${named}/rotate`, {}, { key: operator.key })).status).toBe(200)
    })
  )

  it.effect("rotates once under one Idempotency-Key, and shows the secret only to the one that asked", () =>
    Effect.gen(function* () {
      const { ask, managementKey: manager } = yield* TestGateway
      const sql = yield* SqlClient
      const first = created((yield* post(path, { name: "self", is_management_key: true }, { key: manager })).text)
      const rotate = (key: string, idempotencyKey: string, grace_seconds = 600) =>
        post(
          `${path}/${first.data.hash}/rotate`,
          { grace_seconds },
          { key, headers: { "idempotency-key": idempotencyKey } }
        )
      const answers = yield* Effect.all([rotate(first.key, "r1"), rotate(first.key, "r1")], { concurrency: 2 })
      const { text } = yield* rotate(first.key, "r1")
      expect(answers.map((answer) => answer.text)).toEqual([text, text])
      const second = rotated(text)
      const other = yield* rotate(first.key, "r1", 601)
      expect([other.status, issuePaths(other)]).toEqual([400, ["idempotency-key"]])
      // The key is the same, so its idempotency keys are, too. Its other secret cannot read the answer.
      const create = (key: string) => post(path, { name: "made" }, { key, headers: { "idempotency-key": "made" } })
      expect(created((yield* create(first.key)).text)).toEqual(created((yield* create(first.key)).text))
      for (const answer of [yield* rotate(second.key, "r1"), yield* create(second.key)]) {
        expect([answer.status, issuePaths(answer)]).toEqual([400, ["idempotency-key"]])
      }
      expect((yield* ask("/api/v1/key", { key: second.key })).status).toBe(200)
      const stored = JSON.stringify([yield* sql`SELECT * FROM idempotency`, yield* sql`SELECT * FROM audit_log`])
      expect(stored).toContain("rotateKey")
      for (const secret of [first.key, second.key]) expect(stored).not.toContain(secret.slice(6, -3))
    })
  )

  it.effect("lists keys in pages, newest first", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key } = yield* TestGateway
      for (const name of ["one", "two", "three"]) yield* post(path, { name }, { key })
      const first = many((yield* ask(`${path}?limit=2`, { key })).text)
      expect([first.data.map(({ name }) => name), first.has_more]).toEqual([["three", "two"], true])
      const found = many((yield* ask(`${path}?search=TWO&sort=usage`, { key })).text)
      expect([found.data.map(({ last_used_on, name }) => [name, last_used_on]), found.total_count]).toEqual([
        [["two", null]],
        1
      ])
      for (const [query, field] of [
        ["search=", "search"],
        [`search=${"x".repeat(257)}`, "search"],
        ["sort=size", "sort"],
        [`sort=name&parent_hash=${first.data[0]?.hash}`, "sort"]
      ] as const) {
        const wrong = yield* ask(`${path}?${query}`, { key })
        expect([wrong.status, issuePaths(wrong)]).toEqual([400, [field]])
      }
      const rest = many((yield* ask(`${path}?limit=100&offset=2`, { key })).text)
      expect([rest.data[0]?.name, rest.has_more]).toEqual(["one", false])
      for (const limit of ["0", "1001", "1.5", "many"]) {
        const wrong = yield* ask(`${path}?limit=${limit}`, { key })
        expect([limit, wrong.status, issuePaths(wrong)[0]]).toEqual([limit, 400, "limit"])
      }
    })
  )

  it.effect("lists disabled keys only if they are asked for", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key } = yield* TestGateway
      const { hash } = created((yield* post(path, { name: "off" }, { key })).text).data
      const lists = (query: string) =>
        Effect.map(ask(`${path}?limit=1${query}`, { key }), ({ text }) => many(text).data[0]?.hash === hash)
      expect(yield* lists("")).toBe(true)
      yield* post(`${path}/${hash}`, { disabled: true }, { key, method: "PATCH" })
      expect([yield* lists(""), yield* lists("&include_disabled=false")]).toEqual([false, false])
      expect(yield* lists("&include_disabled=true")).toBe(true)
      const wrong = yield* ask(`${path}?include_disabled=yes`, { key })
      expect([wrong.status, issuePaths(wrong)]).toEqual([400, ["include_disabled"]])
    })
  )

  it.effect("keeps whom a key is for and who created it, and does not accept a caller's own text of a key", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key } = yield* TestGateway
      const create = (body: object) => post(path, { name: "partner", ...body }, { key })
      const made = created((yield* create({ external: { user: "customer-17" }, creator_user_id: "user_7" })).text)
      expect(made.data).toMatchObject({ external_user: "customer-17", creator_user_id: "user_7" })
      expect(one((yield* ask(`${path}/${made.data.hash}`, { key })).text).data).toEqual(made.data)
      expect(record((yield* ask("/api/v1/key", { key: made.key })).text).data.creator_user_id).toBe("user_7")
      expect(created((yield* create({ creator_user_id: null })).text).data).toMatchObject({
        external_user: null,
        creator_user_id: null
      })
      const newest = Effect.map(ask(`${path}?limit=1`, { key }), ({ text }) => text)
      const before = yield* newest
      for (const [body, issue] of [
        [{ external: { user: "u", api_key: "x".repeat(40) } }, "external.api_key"],
        [{ external: {} }, "external.user"],
        [{ external: { user: "" } }, "external.user"],
        [{ external: { user: "u".repeat(257) } }, "external.user"],
        [{ creator_user_id: "" }, "creator_user_id"]
      ] as const) {
        const refused = yield* create(body)
        expect([issue, refused.status, issuePaths(refused)]).toEqual([issue, 400, [issue]])
        expect(refused.text).not.toContain("x".repeat(40))
      }
      expect(yield* newest).toBe(before)
    })
  )

  it.effect("keeps a management key to its own user, whom the keys that it creates show [spec D5]", () =>
    Effect.gen(function* () {
      const { ask, managementKey } = yield* TestGateway
      const bound = { name: "of ada", is_management_key: true, creator_user_id: "ada" }
      const { key: manager } = created((yield* post(path, bound, { key: managementKey })).text)
      const create = (body: object) => post(path, { name: "search", ...body }, { key: manager })
      const newest = Effect.map(ask(`${path}?limit=1`, { key: manager }), ({ text }) => many(text).data[0])
      const made = created((yield* create({ creator_user_id: "ada" })).text)
      const { data, key } = created((yield* create({})).text)
      expect([made.data.creator_user_id, data.creator_user_id]).toEqual(["ada", "ada"])
      for (const creator_user_id of ["user_7", "Ada", null]) {
        const refused = yield* create({ creator_user_id })
        expect([creator_user_id, refused.status, issuePaths(refused)]).toEqual([
          creator_user_id,
          400,
          ["creator_user_id"]
        ])
      }
      expect((yield* newest)?.hash).toBe(data.hash)

      const ephemeral = (yield* post("/api/v1/keys/ephemeral", {}, { key })).text
      const { key: short } = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.toEncoded(EphemeralResponse)))(
        ephemeral
      )
      expect(record((yield* ask("/api/v1/key", { key: short })).text).data.creator_user_id).toBe("ada")
      const [child] = many((yield* ask(`${path}?parent_hash=${data.hash}`, { key: manager })).text).data
      expect(child?.creator_user_id).toBe("ada")
    })
  )

  it.effect("classifies keys by is_free_tier, which only management keys set [spec D11 P7]", () =>
    Effect.gen(function* () {
      const { ask, managementKey, ordinaryKey } = yield* TestGateway
      const create = (body: object) => post(path, { name: "visitor", ...body }, { key: managementKey })
      const patch = (hash: string, body: object, key = managementKey) =>
        post(`${path}/${hash}`, body, { key, method: "PATCH" })
      const free = created((yield* create({ is_free_tier: true })).text)
      const { hash } = free.data
      const shown = Effect.gen(function* () {
        const own = record((yield* ask("/api/v1/key", { key: free.key })).text).data.is_free_tier
        const read = one((yield* ask(`${path}/${hash}`, { key: managementKey })).text).data.is_free_tier
        const listed = many((yield* ask(path, { key: managementKey })).text).data.find((key) => key.hash === hash)
        return [own, read, listed?.is_free_tier]
      })
      expect([free.data.is_free_tier, yield* shown]).toEqual([true, [true, true, true]])
      expect(created((yield* create({})).text).data.is_free_tier).toBe(false)

      expect((yield* patch(hash, { is_free_tier: false }, ordinaryKey)).status).toBe(403)
      expect(one((yield* patch(hash, { name: "guest" })).text).data.is_free_tier).toBe(true)
      expect(one((yield* patch(hash, { is_free_tier: false })).text).data.is_free_tier).toBe(false)
      expect(yield* shown).toEqual([false, false, false])
      expect(one((yield* patch(hash, { is_free_tier: true })).text).data.name).toBe("guest")
      expect(yield* shown).toEqual([true, true, true])

      const manager = created((yield* create({ is_management_key: true })).text).data
      const newest = Effect.map(ask(`${path}?limit=1`, { key: managementKey }), ({ text }) => many(text).data)
      const before = yield* newest
      const refusals = [
        yield* create({ is_free_tier: true, is_management_key: true }),
        yield* patch(manager.hash, { is_free_tier: true, name: "changed" }),
        yield* create({ is_free_tier: "yes" })
      ]
      for (const refused of refusals) expect([refused.status, issuePaths(refused)]).toEqual([400, ["is_free_tier"]])
      expect(yield* newest).toEqual(before)
      expect((yield* patch(manager.hash, { is_free_tier: false, name: "changed" })).status).toBe(200)
    })
  )

  it.effect("counts what a key has spent by day, week and month [spec D24 D25]", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key } = yield* TestGateway
      const made = created((yield* post(path, { name: "spends" }, { key })).text)
      const nothing = { usage: 0, usage_daily: 0, usage_weekly: 0, usage_monthly: 0, byok_usage: 0 }
      expect(made.data).toMatchObject({ ...nothing, byok_usage_daily: 0, byok_usage_weekly: 0, byok_usage_monthly: 0 })
      const request = { model: "sandbox/bm25", query: "tea", documents: ["green tea"] }
      expect((yield* post("/api/v1/rerank", request, { key: made.key })).status).toBe(200)
      const shown = one((yield* ask(`${path}/${made.data.hash}`, { key })).text).data
      expect(many((yield* ask(`${path}?limit=1`, { key })).text).data).toEqual([shown])
      expect(shown).toMatchObject({
        usage: 0.001,
        usage_daily: 0.001,
        usage_weekly: 0.001,
        usage_monthly: 0.001,
        byok_usage: 0
      })
      expect(record((yield* ask("/api/v1/key", { key: made.key })).text).data).toMatchObject({
        usage: 0.001,
        usage_daily: 0.001,
        usage_weekly: 0.001,
        usage_monthly: 0.001
      })
    })
  )

  it.effect("labels a key by its prefix and its last three characters, and never shows it again [spec D14]", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key } = yield* TestGateway
      for (const is_management_key of [false, true]) {
        const made = created((yield* post(path, { name: "masked", is_management_key }, { key })).text)
        const shown = [
          yield* ask("/api/v1/key", { key: made.key }),
          yield* ask(`${path}/${made.data.hash}`, { key }),
          yield* ask(`${path}?limit=1`, { key })
        ]
        for (const { text } of shown) {
          expect(text).toContain(`"label":"${made.key.slice(0, 6)}…${made.key.slice(-3)}"`)
          expect(text).not.toContain(made.key.slice(6, -3))
        }
      }
    })
  )

  it.effect("makes no key in a workspace that is not the caller's", () =>
    Effect.gen(function* () {
      const { managementKey: key } = yield* TestGateway
      const foreign = yield* post(path, { name: "a", workspace_id: "6f5ebeb1-4ff8-4235-a8b3-44a3f6d926cd" }, { key })
      expect(foreign.status).toBe(403)
      const malformed = yield* post(path, { name: "a", workspace_id: "mine" }, { key })
      expect([malformed.status, issuePaths(malformed)]).toEqual([400, ["workspace_id"]])
    })
  )

  it.effect("GET /key sends what the contract says, not more", () =>
    Effect.gen(function* () {
      const { ask, managementKey } = yield* TestGateway
      const { data } = record((yield* ask("/api/v1/key", { key: managementKey })).text)
      expect([data.is_management_key, data.is_provisioning_key]).toEqual([true, true])
      expect(data.rate_limit).toMatchObject({ requests: -1, interval: "10s" })
    })
  )

  it.effect("GET /key takes no parameters and no body: it ignores both [spec K1 K2]", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const { data } = record((yield* ask("/api/v1/key")).text)
      for (const [query, body] of [
        ["?workspace_id=nonsense&limit=0", undefined],
        ["", "{"],
        ["?a", '{"data":1}']
      ] as const) {
        const headers = { "content-type": "application/json", "content-length": String(body?.length ?? 0) }
        const answer = yield* ask(`/api/v1/key${query}`, { headers, body })
        expect([query, answer.status]).toEqual([query, 200])
        expect(record(answer.text)).toEqual({ data })
      }
    })
  )

  it.effect("GET /models tells kinds, prices and what is free", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const { data } = Schema.decodeUnknownSync(Schema.fromJsonString(ModelList))(
        (yield* ask("/api/v1/models?output_modalities=rerank")).text
      )
      expect(data.every(({ kind }) => kind === "rerank")).toBe(true)
      expect(data.find(({ id }) => id === "sandbox/bm25")).toMatchObject({
        is_free: false,
        providers: ["sandbox"],
        pricing: { prompt: "0", completion: "0", search_unit: "0.001" },
        capabilities: { image_documents: false }
      })
      expect(data.find(({ id }) => id === "sandbox/bm25:free")?.is_free).toBe(true)
      expect(data.find(({ id }) => id === "sandbox/colors")).toMatchObject({
        pricing: { prompt: "0", completion: "0", search_unit: "0.001" },
        capabilities: { image_documents: true }
      })
    })
  )
})
