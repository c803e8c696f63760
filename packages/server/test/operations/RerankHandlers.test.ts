import { Response } from "@model-gateway/core/Rerank"
import { Response as KeyResponse } from "@model-gateway/core/CurrentKey"
import { InvalidRequest, Overloaded, ProviderError } from "@model-gateway/offers/ProviderError"
import { expect, it } from "@effect/vitest"
import { Duration, Effect, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { connect } from "node:net"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { GuardrailStore } from "../../src/access/GuardrailStore.ts"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { type Answer, layer, TestGateway } from "../TestGateway.ts"
import { envelopeOf, inSet, issuePaths, post } from "../TestEnvelope.ts"
import { asTheyCame, scripted } from "../TestProvider.ts"
import * as TestOutbox from "../events/TestOutbox.ts"
import * as TestLedger from "../accounting/TestLedger.ts"

const path = "/api/v1/rerank"

const request = { model: "sandbox/bm25", query: "green tea", documents: ["coffee", "green tea leaves", "black tea"] }

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Response))

const decodeKey = Schema.decodeUnknownSync(Schema.fromJsonString(KeyResponse))

/** A new key of the test's workspace. */
const newKey = (options: { readonly limit?: number; readonly freeDailyLimit?: number } = {}) =>
  Effect.gen(function* () {
    const { workspace } = yield* TestGateway
    const { key, plain } = yield* (yield* KeyStore).create({
      organizationId: workspace.organizationId,
      workspaceId: workspace.id,
      name: "test",
      limit: options.limit === undefined ? null : MicroCredits.make(options.limit),
      freeDailyLimit: options.freeDailyLimit
    })
    return { hash: key.hash, key: Redacted.value(plain) }
  })

const usageOf = (keyHash: string) => TestLedger.usageOf({ keyHash })

const noReservations = Effect.gen(function* () {
  expect(yield* TestLedger.openReservations).toEqual([])
})

const nested = (levels: number): unknown => JSON.parse("[".repeat(levels) + "]".repeat(levels))

it.layer(layer({ bodyLimits: { rerank: 4000 } }), { excludeTestServices: true })("POST /rerank", (it) => {
  it.effect("ranks, echoes the documents and charges a search unit [spec A6 A7 D22 D23 E2 E4 E5 E7 E9]", () =>
    Effect.gen(function* () {
      const { hash, key } = yield* newKey()
      const answer = yield* post(
        path,
        { ...request, documents: [...request.documents, { text: "tea, green" }] },
        { key }
      )
      expect(answer.status).toBe(200)
      const { id, model, provider, results, usage } = decode(answer.text)
      expect([model, provider]).toEqual(["sandbox/bm25", "sandbox"])
      expect(
        results
          .map(({ index }) => index)
          .slice(0, 2)
          .toSorted((a, b) => a - b)
      ).toEqual([1, 3])
      expect(results.find(({ index }) => index === 3)?.document).toEqual({ text: "tea, green" })
      expect(usage).toMatchObject({ search_units: 1, cost: 0.001 })
      expect(answer.headers["ratelimit"]).toMatch(/^"default";r=\d+;t=\d+$/)
      expect(answer.headers["ratelimit-policy"]).toBe('"default";q=1000;w=10')
      expect(yield* usageOf(hash)).toMatchObject([
        { id, operation: "rerank", model: "sandbox/bm25", provider: "sandbox", reserved: 1000, cost: 1000 }
      ])
      const record = decodeKey((yield* (yield* TestGateway).ask("/api/v1/key", { key })).text)
      expect([record.data.usage, record.data.usage_daily]).toEqual([0.001, 0.001])
    })
  )

  it.effect("charges a further unit for each further hundred documents", () =>
    Effect.gen(function* () {
      const answer = yield* post(path, { ...request, documents: Array.from({ length: 101 }, () => "tea") })
      expect(decode(answer.text).usage).toMatchObject({ search_units: 2, cost: 0.002 })
      expect(decode(answer.text).results).toHaveLength(101)
      const few = yield* post(path, { ...request, top_n: 2 })
      expect(decode(few.text).results).toHaveLength(2)
    })
  )

  it.effect("returns the most relevant documents first, and with top_n the first of these [spec E3 L9]", () =>
    Effect.gen(function* () {
      const documents = ["coffee", "green tea", "tea", "a green tea house that also has coffee", "water"]
      const ranked = Effect.fnUntraced(function* (more: object = {}) {
        const { results } = decode((yield* post(path, { ...request, documents, ...more })).text)
        return results.map(({ index, relevance_score }) => ({ index, relevance_score }))
      })
      const all = yield* ranked()
      const scores = all.map(({ relevance_score }) => relevance_score)
      expect(scores).toEqual(scores.toSorted((a, b) => b - a))
      expect(new Set(scores).size).toBeGreaterThan(2)
      expect(all.map(({ index }) => index).toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4])
      for (const top_n of [1, 2, 4]) expect(yield* ranked({ top_n })).toEqual(all.slice(0, top_n))
      for (const top_n of [5, 1000]) expect(yield* ranked({ top_n })).toEqual(all)
    })
  )

  it.effect(
    "gives each response an id of its own, also for the same request, which finds its log entry [spec E1]",
    () =>
      Effect.gen(function* () {
        const { ask } = yield* TestGateway
        const ids = yield* Effect.forEach(
          Array.from({ length: 20 }),
          () => Effect.map(post(path, request), ({ text }) => decode(text).id),
          { concurrency: 5 }
        )
        expect(new Set(ids).size).toBe(20)
        for (const id of ids.slice(0, 3)) {
          const { status, text } = yield* ask(`/api/v1/generation?id=${id}`)
          expect([status, JSON.parse(text)]).toMatchObject([200, { data: { id, model: request.model } }])
        }
      })
  )

  it.effect("lists everything that is wrong with a request, and charges nothing", () =>
    Effect.gen(function* () {
      const { hash, key } = yield* newKey()
      const cases: ReadonlyArray<readonly [unknown, ReadonlyArray<string>]> = [
        [{}, ["documents", "model", "query"]],
        [{ ...request, model: "", top_n: 0 }, ["model", "top_n"]],
        [{ ...request, documents: [] }, ["documents"]],
        [{ ...request, documents: [{}] }, ["documents.0"]],
        [{ ...request, documents: [{ image: "http://insecure" }] }, ["documents.0.image"]],
        [{ ...request, top_n: 1.5, user: "u".repeat(257) }, ["top_n", "user"]],
        [
          { ...request, query: 7, provider: { sort: "luck", order: [1] } },
          ["provider.order.0", "provider.sort", "query"]
        ],
        [{ ...request, trace: { trace_id: 5 } }, ["trace.trace_id"]],
        [{ ...request, trace: { note: nested(101) } }, ["trace.note"]],
        [{ ...request, provider: { options: { sandbox: { note: nested(1000) } } } }, ["provider.options.sandbox.note"]],
        [[], [""]]
      ]
      for (const [body, paths] of cases) {
        const answer = yield* post(path, body, { key })
        expect([answer.status, [...new Set(issuePaths(answer))].toSorted()]).toEqual([400, paths])
        expect(envelopeOf(answer).error.message).toMatch(/^invalid request parameters: /)
      }
      const broken = yield* post(path, "{", { key, headers: { "idempotency-key": "a" } })
      expect(broken.status).toBe(400)
      const badKey = yield* post(path, request, { key, headers: { "idempotency-key": "k".repeat(256) } })
      expect([badKey.status, issuePaths(badKey)]).toEqual([400, ["idempotency-key"]])
      expect(yield* usageOf(hash)).toEqual([])
    })
  )

  it.effect("takes no model that is unknown or of another kind", () =>
    Effect.gen(function* () {
      const unknown = yield* post(path, { ...request, model: "nobody/none" })
      expect([unknown.status, envelopeOf(unknown).error.message]).toEqual([
        404,
        'resource not found: there is no model "nobody/none"'
      ])
      const other = yield* post(path, { ...request, model: "sandbox/tones" })
      expect([other.status, envelopeOf(other).error.message]).toEqual([
        404,
        'resource not found: "sandbox/tones" is a transcription model, not a rerank model'
      ])
    })
  )

  it.effect("ranks images, and charges nothing for one that cannot be read [spec L4]", () =>
    Effect.gen(function* () {
      const { hash, key } = yield* newKey()
      // PNGs of one pixel: red, and transparent.
      const [red, clear] = [
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC",
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAAC0lEQVR4nGNgAAIAAAUAAXpeqz8AAAAASUVORK5CYII="
      ].map((base64) => ({ image: `data:image/png;base64,${base64}` }))
      const images = { model: "sandbox/colors", query: "something red", documents: [clear, red] }
      const answer = yield* post(path, images, { key })
      expect(answer.status).toBe(200)
      const { results, usage } = decode(answer.text)
      expect(results).toEqual([
        { index: 1, relevance_score: 1, document: red },
        { index: 0, relevance_score: 0, document: clear }
      ])
      expect(usage).toMatchObject({ search_units: 1, cost: 0.001 })
      const text = { image: "data:image/png;base64,aGVsbG8=" }
      const refused = yield* post(path, { ...images, documents: [red, text] }, { key })
      expect([refused.status, envelopeOf(refused).error.message]).toEqual([
        400,
        "invalid request parameters: documents.1.image: send a PNG or a JPEG"
      ])
      expect(yield* usageOf(hash)).toMatchObject([{ model: "sandbox/colors", cost: 1000 }])
    })
  )

  it.effect("rejects images for a model that supports only text", () =>
    Effect.gen(function* () {
      const answer = yield* post(path, {
        ...request,
        documents: ["tea", { text: "a", image: "https://example.com/a.png" }]
      })
      expect([answer.status, issuePaths(answer)]).toEqual([400, ["documents.1.image"]])
    })
  )

  it.effect("reads no body that is too large, with its length declared or not", () =>
    Effect.gen(function* () {
      const { port, ordinaryKey } = yield* TestGateway
      const declared = yield* post(path, { ...request, query: "q".repeat(5000) })
      expect(declared.status).toBe(413)
      inSet("rerank", declared)
      const chunked = yield* raw(port, [
        `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${ordinaryKey}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
        ...Array.from({ length: 10 }, () => `400\r\n${"a".repeat(1024)}\r\n`)
      ])
      expect(chunked).toMatch(/^HTTP\/1\.1 413 /)
      expect(chunked).toContain('"code":413')
      const unread = yield* raw(port, [
        `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${ordinaryKey}\r\ncontent-type: application/json\r\ncontent-length: 99999999\r\n\r\n`
      ])
      expect(unread).toMatch(/^HTTP\/1\.1 413 /)
    })
  )

  it.effect("checks the size before the form, and the key before both", () =>
    Effect.gen(function* () {
      const { managementKey } = yield* TestGateway
      const large = `{ broken ${"x".repeat(5000)}`
      expect((yield* post(path, large, { key: null })).status).toBe(401)
      expect((yield* post(path, large, { key: managementKey })).status).toBe(403)
      expect((yield* post(path, large, { headers: { "idempotency-key": "k".repeat(256) } })).status).toBe(413)
    })
  )

  it.effect("answers with the status that a sandbox model stands for [spec B1]", () =>
    Effect.gen(function* () {
      const { hash, key } = yield* newKey()
      for (const status of [400, 401, 402, 403, 404, 413, 429, 500, 502, 503, 524, 529]) {
        const answer = yield* post(path, { ...request, model: `sandbox/status-${status}` }, { key })
        expect(answer.status).toBe(status)
        inSet("rerank", answer)
        expect(answer.headers["retry-after"]).toBe([429, 503, 529].includes(status) ? "1" : undefined)
      }
      expect(yield* usageOf(hash)).toEqual([])
      yield* noReservations
    })
  )

  it.effect("admits exactly as many of 200 concurrent requests as the limit covers [spec T8]", () =>
    Effect.gen(function* () {
      const { hash, key } = yield* newKey({ limit: 100_000 })
      const answers: ReadonlyArray<Answer> = yield* Effect.forEach(
        Array.from({ length: 200 }, (_, i) => ({ ...request, query: `tea ${i}` })),
        (body) => post(path, body, { key }),
        { concurrency: "unbounded" }
      )
      const refused = answers.filter(({ status }) => status === 402)
      expect([answers.filter(({ status }) => status === 200).length, refused.length]).toEqual([100, 100])
      const message = refused[0] === undefined ? "" : envelopeOf(refused[0]).error.message
      expect(message).toMatch(/^insufficient credits: .*limit/)
      const rows = yield* usageOf(hash)
      expect(rows.map(({ id }) => id).toSorted()).toEqual(
        answers.flatMap((answer) => (answer.status === 200 ? [decode(answer.text).id] : [])).toSorted()
      )
      expect(rows.reduce((sum, { cost }) => sum + cost, 0)).toBe(100_000)
      const record = decodeKey((yield* (yield* TestGateway).ask("/api/v1/key", { key })).text)
      expect([record.data.usage, record.data.limit_remaining]).toEqual([0.1, 0])
      yield* noReservations
    })
  )

  it.effect("counts free models against the day, not against credits [spec T10]", () =>
    Effect.gen(function* () {
      const { hash, key } = yield* newKey({ limit: 0, freeDailyLimit: 2 })
      const free = { ...request, model: "sandbox/bm25:free" }
      expect((yield* post(path, free, { key })).status).toBe(200)
      expect((yield* post(path, free, { key })).status).toBe(200)
      const used = yield* post(path, free, { key })
      expect([used.status, envelopeOf(used).error.message]).toEqual([
        429,
        "rate limit exceeded: all 2 free model requests of this UTC day are used"
      ])
      expect(Number(used.headers["retry-after"])).toBeGreaterThan(0)
      expect((yield* usageOf(hash)).map(({ cost }) => cost)).toEqual([0, 0])
      const record = decodeKey((yield* (yield* TestGateway).ask("/api/v1/key", { key })).text)
      expect(record.data.free_model_daily_requests).toEqual({ limit: 2, used: 2, remaining: 0 })
      expect((yield* post(path, request, { key })).status).toBe(402)
    })
  )

  it.effect("gives the first answer again under the same idempotency key", () =>
    Effect.gen(function* () {
      const { hash, key } = yield* newKey()
      const headers = { "idempotency-key": "order 7" }
      const [first, second] = yield* Effect.all(
        [post(path, request, { key, headers }), post(path, request, { key, headers })],
        {
          concurrency: 2
        }
      )
      expect([first.status, second.status, first.text === second.text]).toEqual([200, 200, true])
      expect([first, second].filter(({ headers }) => headers["idempotent-replayed"] === "true")).toHaveLength(1)
      const other = yield* post(path, { ...request, query: "coffee" }, { key, headers })
      expect([other.status, issuePaths(other)]).toEqual([400, ["idempotency-key"]])
      expect(yield* usageOf(hash)).toHaveLength(1)
    })
  )

  it.effect("stores an answer for its idempotency key without the documents, which the repeated request has", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { hash, key } = yield* newKey()
      const ask = { key, headers: { "idempotency-key": "abridged" } }
      const body = { ...request, documents: [...request.documents, { text: 'tea, greener \u2028 "tea"' }], top_n: 3 }
      const first = yield* post(path, body, ask)
      const [stored] = yield* sql<{
        headers: null
        body: string
      }>`SELECT headers, body FROM idempotency WHERE scope = ${hash}`
      expect(decode(first.text).results).toHaveLength(3)
      expect(stored).toMatchObject({ headers: null })
      expect(stored?.body).toContain('"results":{"index":[')
      expect(stored?.body).not.toMatch(/document|tea/)
      const second = yield* post(path, body, ask)
      expect([second.text, second.headers["idempotent-replayed"]]).toEqual([first.text, "true"])
    })
  )

  it.effect("repeats an answer that the version before has stored with its documents", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { hash, key } = yield* newKey()
      const ask = { key, headers: { "idempotency-key": "whole" } }
      const { text } = yield* post(path, request, ask)
      yield* sql`UPDATE idempotency SET headers = '{}', body = ${text} WHERE scope = ${hash}`
      const again = yield* post(path, request, ask)
      expect([again.text, again.headers["idempotent-replayed"]]).toEqual([text, "true"])
    })
  )

  it.effect("runs nothing again if another version has stored the answer in a form that this one does not know", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { hash, key } = yield* newKey()
      const ask = { key, headers: { "idempotency-key": "of another version" } }
      yield* post(path, request, ask)
      yield* sql`UPDATE idempotency SET body = '{"ranking":[]}' WHERE scope = ${hash}`
      const again = yield* post(path, request, ask)
      expect([again.status, issuePaths(again)]).toEqual([400, ["idempotency-key"]])
      expect(again.text).toContain("was stored by another version")
      expect(yield* usageOf(hash)).toHaveLength(1)
    })
  )

  it.effect("keeps to the guardrail of the key", () =>
    Effect.gen(function* () {
      const { workspace } = yield* TestGateway
      const guardrails = yield* GuardrailStore
      const { hash, key } = yield* newKey()
      const assignGuardrail = (options: {
        readonly allowedModels?: ReadonlyArray<string>
        readonly allowedProviders?: ReadonlyArray<string>
        readonly limit?: number
      }) =>
        Effect.gen(function* () {
          const { id } = yield* guardrails.create({
            organizationId: workspace.organizationId,
            name: "team",
            ...options,
            limit: options.limit === undefined ? null : MicroCredits.make(options.limit)
          })
          yield* guardrails.assign(workspace.organizationId, id, [hash])
        })
      yield* assignGuardrail({ allowedModels: ["sandbox/bm25:free"] })
      const model = yield* post(path, request, { key })
      expect([model.status, envelopeOf(model).error.message]).toEqual([
        403,
        'insufficient permissions: the guardrail "team" of this key does not allow the model "sandbox/bm25"'
      ])
      yield* assignGuardrail({ allowedProviders: ["elsewhere"] })
      const provider = yield* post(path, request, { key })
      expect([provider.status, envelopeOf(provider).error.message]).toEqual([
        403,
        'insufficient permissions: the guardrail "team" of this key allows no provider of the model "sandbox/bm25"'
      ])
      yield* assignGuardrail({ limit: 1500 })
      expect((yield* post(path, request, { key })).status).toBe(200)
      const limit = yield* post(path, request, { key })
      expect(limit.status).toBe(402)
      expect(envelopeOf(limit).error.message).toMatch(/guardrail/)
    })
  )

  it.effect("leaves out providers that are ignored, not in `only`, or too expensive", () =>
    Effect.gen(function* () {
      for (const provider of [
        { ignore: ["sandbox"] },
        { only: ["elsewhere"] },
        { max_price: { search_unit: 0.0009 } }
      ]) {
        const answer = yield* post(path, { ...request, provider })
        expect([answer.status, envelopeOf(answer).error.message]).toEqual([
          404,
          'resource not found: no provider of the model "sandbox/bm25" matches the routing preferences'
        ])
      }
      const ok = yield* post(path, {
        ...request,
        provider: { max_price: { search_unit: 0.001, second: 0 }, further: true }
      })
      expect(ok.status).toBe(200)
    })
  )
})

it.layer(layer({ rateLimit: { requests: 3, window: Duration.minutes(1) } }), { excludeTestServices: true })(
  "a key's rate",
  (it) => {
    it.effect("is rate limited, and the responses report the key's status", () =>
      Effect.gen(function* () {
        const { ask } = yield* TestGateway
        for (const left of [2, 1, 0]) {
          const answer = yield* post(path, request)
          expect([answer.status, answer.headers["ratelimit"]?.toString().split(";")[1]]).toEqual([200, `r=${left}`])
        }
        const limited = yield* post(path, request)
        expect(limited.status).toBe(429)
        const { error } = envelopeOf(limited)
        expect(error.message).toMatch(/^rate limit exceeded/)
        expect(Number(limited.headers["retry-after"])).toBe(error.metadata?.["retry_after"])
        expect(limited.headers["ratelimit"]).toMatch(/^"default";r=0;t=60$/)
        expect((yield* ask("/api/v1/key")).status).toBe(200)
      })
    )
  }
)

it.layer(
  layer({}, [
    scripted({
      name: "slow",
      rerank: () => Effect.never
    }),
    scripted({
      name: "refusing",
      rerank: () => Effect.fail(new ProviderError({ reason: new InvalidRequest({ message: "the query is a riddle" }) }))
    }),
    scripted({
      name: "busy",
      rerank: () => Effect.fail(new ProviderError({ reason: new Overloaded({ retryAfter: Duration.seconds(7) }) }))
    }),
    scripted({ name: "good", rerank: (request) => Effect.succeed(asTheyCame(request)) }),
    scripted({
      name: "disordered",
      rerank: (request) => Effect.succeed({ ...asTheyCame(request), results: asTheyCame(request).results.toReversed() })
    })
  ]),
  { excludeTestServices: true }
)("an upstream", (it) => {
  const asking = (query: string, only: string) => ({
    model: "test/rank",
    query,
    documents: ["a"],
    provider: { only: [only] }
  })

  it.effect("that refuses the input is a 400 with its reason", () =>
    Effect.gen(function* () {
      const answer = yield* post(path, asking("why", "refusing"))
      expect([answer.status, envelopeOf(answer).error.message]).toEqual([
        400,
        "invalid request parameters: the query is a riddle"
      ])
    })
  )

  it.effect("that is overloaded is a 529 which says how long to wait and who was tried", () =>
    Effect.gen(function* () {
      const answer = yield* post(path, asking("why", "busy"))
      expect([answer.status, answer.headers["retry-after"]]).toEqual([529, "7"])
      expect(envelopeOf(answer).error.metadata).toMatchObject({
        provider: "busy",
        retry_after: 7,
        attempts: [{ provider: "busy", outcome: "Overloaded" }]
      })
    })
  )

  it.effect("that fails is followed by the next one, unless the caller forbids fallbacks [spec L10]", () =>
    Effect.gen(function* () {
      const order = ["busy", "good"]
      const asked = (provider: object) => post(path, { ...asking("why", "busy"), provider })
      for (const preferences of [{ order }, { order, allow_fallbacks: true }]) {
        const answer = yield* asked(preferences)
        expect([answer.status, decode(answer.text).provider]).toEqual([200, "good"])
      }
      const refused = yield* asked({ order, allow_fallbacks: false })
      expect([refused.status, envelopeOf(refused).error.metadata?.["attempts"]]).toMatchObject([
        529,
        [{ provider: "busy", outcome: "Overloaded" }]
      ])
      expect(envelopeOf(refused).error.metadata?.["attempts"]).toHaveLength(1)
    })
  )

  it.effect("that answers in another order than that of relevance has its ranking sorted [spec E3]", () =>
    Effect.gen(function* () {
      const answer = yield* post(path, { ...asking("why", "disordered"), documents: ["a", "b"] })
      expect(answer.status).toBe(200)
      const { results } = decode(answer.text)
      const scores = results.map(({ relevance_score }) => relevance_score)
      expect(new Set(scores).size).toBe(2)
      expect(scores).toEqual(scores.toSorted((a, b) => b - a))
    })
  )

  it.effect("is interrupted when the caller disconnects, and nothing stays reserved", () =>
    Effect.gen(function* () {
      const { ordinaryKey, port, workspace } = yield* TestGateway
      yield* TestOutbox.broadcast(workspace)
      const body = JSON.stringify(asking("hang", "slow"))
      const socket = connect(port, "127.0.0.1")
      socket.write(
        `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${ordinaryKey}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
      )
      yield* Effect.repeat(TestLedger.openReservations, { until: (reservations) => reservations.length === 1 })
      const before = yield* TestLedger.usageOf()
      socket.destroy()
      yield* Effect.repeat(TestLedger.openReservations, { until: (reservations) => reservations.length === 0 })
      expect(yield* TestLedger.usageOf()).toEqual(before)
      const written = yield* TestOutbox.all
      expect(written.at(-1)).toMatchObject({
        type: "rerank.failed",
        error_status: 499,
        attempts: [{ provider: "slow", outcome: "Interrupted", billed: "unknown" }]
      })
    })
  )
})

/**
 * Sends pieces over a socket, and reads until the other side closes it or a whole response is
 * there.
 */
const raw = (port: number, pieces: ReadonlyArray<string>) =>
  Effect.callback<string>((resume) => {
    let text = ""
    const socket = connect(port, "127.0.0.1", () => {
      for (const piece of pieces) socket.write(piece)
    })
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString()
      if (text.endsWith("}")) socket.end()
    })
    socket.on("error", (error) => resume(Effect.die(error)))
    socket.on("close", () => resume(Effect.succeed(text)))
    return Effect.sync(() => socket.destroy())
  })
