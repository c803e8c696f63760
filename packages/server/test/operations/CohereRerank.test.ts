// A rerank through the whole service and Cohere's adapter, against a double of Cohere's API on a
// socket.
import { NodeHttpClient } from "@effect/platform-node"
import { expect, it } from "@effect/vitest"
import * as CohereRerank from "@model-gateway/core/CohereRerank"
import { Response } from "@model-gateway/core/Rerank"
import * as Cohere from "@model-gateway/providers/Cohere"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { type Credential, gatewayCredential } from "@model-gateway/offers/Offer"
import { Context, Duration, Effect, Layer, Redacted, Schema } from "effect"
import * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import { documentedMessages, startCohereDouble } from "@model-gateway/test-doubles/CohereDouble"
import type { Double as UpstreamDouble, Scripted } from "@model-gateway/test-doubles/Double"
import { KeyStore } from "../../src/access/KeyStore.ts"
import * as GatewayServerConfig from "../../src/GatewayServerConfig.ts"
import * as FailureLog from "../../src/observability/FailureLog.ts"
import * as Router from "../../src/routing/Router.ts"
import * as TestLedger from "../accounting/TestLedger.ts"
import { envelopeOf, inSet, issuePaths, post } from "../TestEnvelope.ts"
import { layer, TestGateway } from "../TestGateway.ts"

const path = "/api/v1/rerank"

const request = {
  model: "cohere/rerank-v3.5",
  query: "green tea",
  documents: ["coffee", { text: "green tea leaves" }, "black tea"]
}

const apiKey = "co-secret-0123456789"

class Double extends Context.Service<Double, UpstreamDouble>()("test/Double") {}

const layerDouble = Layer.effect(
  Double,
  Effect.acquireRelease(
    Effect.promise(() => startCohereDouble({ keys: [apiKey] })),
    (double) => Effect.promise(() => double.close())
  )
)

const own = gatewayCredential(Redacted.make(apiKey))
const offers = Effect.flatMap(Double, ({ url }) =>
  Cohere.adapter.offers({ name: "cohere", baseUrl: url, credential: own }, Cohere.adapter.models)
)

/** A service with Cohere's offers, which calls a double. */
const gateway = (options?: GatewayServerConfig.Options) =>
  Layer.unwrap(Effect.map(offers, (offers) => layer(options, [offers]))).pipe(
    Layer.provideMerge(layerDouble),
    Layer.provide(NodeHttpClient.layerUndici)
  )

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Response))

/** A new key of the test's workspace, and what it was charged. */
const newKey = (limit: number | null = null) =>
  Effect.gen(function* () {
    const { workspace } = yield* TestGateway
    const { key, plain } = yield* (yield* KeyStore).create({
      organizationId: workspace.organizationId,
      workspaceId: workspace.id,
      name: "test",
      limit: limit === null ? null : MicroCredits.make(limit)
    })
    return { key: Redacted.value(plain), charges: TestLedger.usageOf({ keyHash: key.hash }) }
  })

const tolerant = { circuits: { failures: 1000, openFor: Duration.seconds(10) } }

it.layer(gateway(tolerant), { excludeTestServices: true })("POST /rerank through Cohere", (it) => {
  it.effect("ranks, echoes the documents and charges what Cohere bills", () =>
    Effect.gen(function* () {
      const { state } = yield* Double
      const { charges, key } = yield* newKey()
      const answer = yield* post(path, { ...request, top_n: 2 }, { key })
      inSet("rerank", answer)
      const { id, results, usage, ...rest } = decode(answer.text)
      expect(rest).toEqual({ model: "cohere/rerank-v3.5", provider: "cohere" })
      expect(results.map(({ document, index }) => [index, document])).toEqual([
        [1, { text: "green tea leaves" }],
        [2, { text: "black tea" }]
      ])
      expect(usage).toEqual({ search_units: 1, cost: 0.002 })
      expect(yield* charges).toMatchObject([
        { id, operation: "rerank", model: "cohere/rerank-v3.5", provider: "cohere", reserved: 2000, cost: 2000 }
      ])
      const sent: unknown = JSON.parse(state.requests.at(-1)?.text ?? "")
      expect(sent).toEqual({
        model: "rerank-v3.5",
        query: "green tea",
        documents: ["coffee", "green tea leaves", "black tea"],
        top_n: 2
      })
    })
  )

  it.effect("reserves the most that long documents can cost, and charges the bill", () =>
    Effect.gen(function* () {
      const { next } = yield* Double
      const { charges, key } = yield* newKey()
      const documents = Array.from({ length: 100 }, () => "leaf ".repeat(600))
      const long = yield* post(path, { ...request, documents }, { key })
      expect(decode(long.text).usage).toEqual({ search_units: 2, cost: 0.004 })
      const short = { cohere: { max_tokens_per_doc: 480 } }
      const cut = yield* post(path, { ...request, documents, provider: { options: short } }, { key })
      expect(decode(cut.text).usage).toEqual({ search_units: 1, cost: 0.002 })
      next({ body: { results: [], meta: { billed_units: { search_units: 3 } } } })
      expect(decode((yield* post(path, request, { key })).text).usage).toEqual({ search_units: 3, cost: 0.006 })
      expect((yield* charges).map(({ cost, reserved }) => [reserved, cost])).toEqual([
        [14_000, 4000],
        [2000, 2000],
        [2000, 6000]
      ])
    })
  )

  it.effect("does not call Cohere for what the key cannot pay", () =>
    Effect.gen(function* () {
      const { state } = yield* Double
      const { charges, key } = yield* newKey(3000)
      const before = state.requests.length
      const answer = yield* post(path, { ...request, documents: Array.from({ length: 101 }, () => "tea") }, { key })
      expect(answer.status).toBe(402)
      expect(state.requests).toHaveLength(before)
      expect((yield* post(path, request, { key })).status).toBe(200)
      expect(yield* charges).toHaveLength(1)
    })
  )

  it.effect("refuses images, which Cohere cannot rank", () =>
    Effect.gen(function* () {
      const { state } = yield* Double
      const before = state.requests.length
      const answer = yield* post(path, { ...request, documents: ["tea", { image: "https://example.com/tea.png" }] })
      expect([answer.status, issuePaths(answer)]).toEqual([400, ["documents.1.image"]])
      expect(state.requests).toHaveLength(before)
    })
  )

  it.effect("answers every failure of Cohere with the contract's status, and charges nothing", () =>
    Effect.gen(function* () {
      const { next } = yield* Double
      const { charges, key } = yield* newKey()
      const says = (status: keyof typeof documentedMessages): Scripted => ({
        status,
        body: { id: "1", message: documentedMessages[status] }
      })
      const headers = { "retry-after": "17" }
      const failures: ReadonlyArray<readonly [Scripted, number]> = [
        [says(400), 400],
        [says(422), 400],
        [says(498), 400],
        [{ status: 413, body: { message: "at most 1000 documents" } }, 413],
        [says(401), 502],
        [says(402), 502],
        [says(403), 502],
        [says(404), 502],
        [says(500), 502],
        [says(501), 502],
        [{ status: 302, headers: { location: "http://127.0.0.1:1/" } }, 502],
        [{ body: "<html>" }, 502],
        [{ body: { results: [{ index: 9, relevance_score: 0.5 }] } }, 502],
        [{ fault: "endless" }, 502],
        [{ fault: "notHttp" }, 502],
        [says(499), 524],
        [says(504), 524],
        [{ fault: "cut" }, 502],
        [{ fault: "cutBody" }, 502],
        [{ ...says(429), headers }, 529],
        [{ ...says(503), headers }, 529]
      ]
      for (const [scripted, status] of failures) {
        next(scripted)
        const answer = yield* post(path, request, { key })
        inSet("rerank", answer)
        const { error } = envelopeOf(answer)
        expect([scripted, answer.status]).toEqual([scripted, status])
        // Messages about the input reach the caller. Messages about the gateway's account do not.
        const said = Schema.is(Schema.Struct({ message: Schema.String }))(scripted.body) ? scripted.body.message : ""
        const message = said.replace("invalid request: ", "")
        expect(error.message.includes(message)).toBe(message === "" || status === 400 || status === 413)
        expect(answer.headers["retry-after"]).toBe(status === 529 ? "17" : undefined)
        expect(error.metadata?.["retry_after"]).toBe(status === 529 ? 17 : undefined)
        expect(answer.text).not.toContain(apiKey)
        if (scripted.fault?.startsWith("cut") === true) {
          expect(error.metadata?.["attempts"]).toMatchObject([{ outcome: "ConnectionLost", billed: "unknown" }])
        }
      }
      expect(yield* charges).toEqual([])
      expect(yield* TestLedger.openReservations).toEqual([])
      expect((yield* post(path, request, { key })).status).toBe(200)
    })
  )
})

it.layer(gateway({ deadlines: { rerankAttempt: Duration.millis(100), rerank: Duration.millis(200) } }), {
  excludeTestServices: true
})("POST /rerank through a Cohere that hangs", (it) => {
  it.effect("is a 524 at the time limit, and gives the connection up", () =>
    Effect.gen(function* () {
      const { next, state } = yield* Double
      next({ fault: "hang" })
      const answer = yield* post(path, request)
      expect(answer.status).toBe(524)
      while (state.requests.some(({ isClosed }) => !isClosed())) yield* Effect.sleep("5 millis")
    })
  )
})

it.layer(gateway({ circuits: { failures: 2, openFor: Duration.minutes(5) } }), { excludeTestServices: true })(
  "POST /rerank through a Cohere that is down",
  (it) => {
    it.effect("is a 503 once the circuit is open, without a call", () =>
      Effect.gen(function* () {
        const { always, state } = yield* Double
        always({ status: 500 })
        const statuses: Array<number> = []
        for (let at = 0; at < 4; at++) statuses.push((yield* post(path, request)).status)
        expect(statuses).toEqual([502, 502, 503, 503])
        expect(state.requests).toHaveLength(2)
        const answer = yield* post(path, request)
        expect(Number(answer.headers["retry-after"])).toBeGreaterThan(200)
      })
    )
  }
)

it.layer(
  Layer.mergeAll(
    Router.layer.pipe(
      Layer.provide(CircuitBreaker.layerStoreMemory()),
      Layer.provide(GatewayServerConfig.layer({ circuits: { failures: 2, openFor: Duration.minutes(5) } }))
    ),
    NodeHttpClient.layerUndici,
    layerDouble
  ),
  { excludeTestServices: true }
)("Circuits of Cohere's offer", (it) => {
  it.effect("open for the credential that Cohere rejects, stay closed for another, and tell the operator", () =>
    Effect.gen(function* () {
      const router = yield* Router.Router
      const { state } = yield* Double
      const [offer] = yield* offers
      if (offer?.kind !== "rerank") return yield* Effect.die("no rerank offer")
      const rerank = (credential: Credential) =>
        router
          .route({
            owner: "key",
            candidates: [{ offer, credential }],
            units: 1,
            attemptTimeout: Duration.minutes(1),
            deadline: Duration.minutes(1),
            call: ({ credential, offer }) => offer.run({ query: "tea", documents: [{ text: "green tea" }] }, credential)
          })
          .pipe(
            Effect.flatMap(({ exit }) => exit),
            Effect.match({ onSuccess: () => "answered", onFailure: ({ _tag }) => _tag })
          )
      const revoked: Credential = { id: "tenant-a", secret: Redacted.make("revoked-key") }
      const valid: Credential = { id: "tenant-b", secret: Redacted.make(apiKey) }
      const outcomes: Array<string> = []
      const logged: Array<FailureLog.Occurrence> = []
      const report = (occurrence: FailureLog.Occurrence) => Effect.sync(() => void logged.push(occurrence))
      for (const credential of [revoked, revoked, revoked, valid, own, revoked]) {
        outcomes.push(yield* Effect.provideService(rerank(credential), FailureLog.FailureLog, { report }))
      }
      expect(outcomes).toEqual(["AttemptsFailed", "AttemptsFailed", "NoneUp", "answered", "answered", "NoneUp"])
      expect(state.requests).toHaveLength(4)
      expect(logged.map(({ annotations, message }) => [message, annotations])).toEqual(
        Array.from({ length: 2 }, () => [
          "Unauthorized: the provider rejected its credentials",
          { provider: "cohere", model: "cohere/rerank-v3.5", credential: "tenant-a" }
        ])
      )
    })
  )
})

const v2 = "/api/v1/v2/rerank"
const v1 = "/api/v1/v1/rerank"

const asCohere = { model: "rerank-v3.5", query: "green tea", documents: ["coffee", "green tea leaves", "black tea"] }

const decodeV2 = Schema.decodeUnknownSync(Schema.fromJsonString(CohereRerank.Response))
const decodeV1 = Schema.decodeUnknownSync(Schema.fromJsonString(CohereRerank.ResponseV1))

/** What Cohere's clients read of an error. */
const decodeMessage = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Struct({ message: Schema.String })))

it.layer(gateway(tolerant), { excludeTestServices: true })("POST /v2/rerank and /v1/rerank", (it) => {
  it.effect("rank in the shape of version 2, by Cohere's names, at the price of a rerank", () =>
    Effect.gen(function* () {
      const { state } = yield* Double
      const { charges, key } = yield* newKey()
      const answer = yield* post(v2, { ...asCohere, top_n: 2, max_tokens_per_doc: 480, priority: 1 }, { key })
      expect(answer.status).toBe(200)
      const { id, meta, results } = decodeV2(answer.text)
      expect(results.map(({ index }) => index)).toEqual([1, 2])
      expect(meta).toEqual({ api_version: { version: "2" }, billed_units: { search_units: 1 } })
      expect(yield* charges).toMatchObject([
        { id, operation: "rerank", model: "cohere/rerank-v3.5", provider: "cohere", reserved: 2000, cost: 2000 }
      ])
      expect(JSON.parse(state.requests.at(-1)?.text ?? "")).toEqual({
        model: "rerank-v3.5",
        query: "green tea",
        documents: asCohere.documents,
        top_n: 2,
        max_tokens_per_doc: 480
      })
    })
  )

  it.effect("rank in the shape of version 1, with the fields of documents", () =>
    Effect.gen(function* () {
      const { state } = yield* Double
      const documents: ReadonlyArray<string | CohereRerank.DocumentFields> = [
        { title: "Coffee", text: "black" },
        { title: "Tea", text: "green leaves", id: "7" },
        "black tea"
      ]
      const request = { ...asCohere, documents, rank_fields: ["title", "text", "author"], top_n: null }
      const answer = yield* post(v1, { ...request, return_documents: true })
      const { meta, results } = decodeV1(answer.text)
      expect(JSON.parse(state.requests.at(-1)?.text ?? "")).toMatchObject({
        documents: ["Coffee\nblack", "Tea\ngreen leaves", "black tea"]
      })
      expect(new Map(results.map(({ document, index }) => [index, document]))).toEqual(
        new Map([
          [0, documents[0]],
          [1, documents[1]],
          [2, { text: "black tea" }]
        ])
      )
      expect(meta).toEqual({ api_version: { version: "1" }, billed_units: { search_units: 1 } })
      yield* post(v1, { ...request, rank_fields: Array.from({ length: 64 }, () => "title") })
      expect(JSON.parse(state.requests.at(-1)?.text ?? "")).toMatchObject({ documents: ["Coffee", "Tea", "black tea"] })
      // Joined by a line break, these have 1 MiB.
      const longest = { a: "x".repeat(600_000), b: "y".repeat(1_048_576 - 600_001) }
      expect((yield* post(v1, { ...asCohere, documents: [longest], rank_fields: ["a", "b"] })).status).toBe(200)
      const short = decodeV1((yield* post(v1, { ...asCohere, documents: [{ text: "tea" }] })).text)
      expect(short.results).toEqual([{ index: 0, relevance_score: short.results[0]?.relevance_score }])
    })
  )

  it.effect("name the field of a 400, charge nothing for it, and have the message where Cohere's clients look", () =>
    Effect.gen(function* () {
      const { charges, key } = yield* newKey()
      const cases: ReadonlyArray<readonly [path: string, changes: object, issues: ReadonlyArray<string>]> = [
        [v2, { model: undefined, documents: [] }, ["documents", "model"]],
        [v2, { documents: [{ text: "tea" }] }, ["documents.0"]],
        [v2, { max_tokens_per_doc: 0, top_n: 0 }, ["max_tokens_per_doc", "top_n"]],
        [v1, { max_chunks_per_doc: 10 }, ["max_chunks_per_doc"]],
        [v1, { documents: ["tea", { title: "tea" }, { text: "" }] }, ["documents.1", "documents.2"]],
        [v1, { documents: [{ a: "tea" }], rank_fields: ["b", "c"] }, ["documents.0"]],
        [v1, { documents: [{ text: 1 }] }, ["documents.0.text"]]
      ]
      for (const [path, changes, issues] of cases) {
        const answer = yield* post(path, { ...asCohere, ...changes }, { key })
        expect([answer.status, issuePaths(answer).toSorted()]).toEqual([400, issues])
        expect(decodeMessage(answer.text).message).toBe(envelopeOf(answer).error.message)
      }
      const chunks = yield* post(v1, { ...asCohere, max_chunks_per_doc: 10 }, { key })
      expect(decodeMessage(chunks.text).message).toContain("no model takes a limit of chunks")
      const none = yield* post(v1, { ...asCohere, rank_fields: [] }, { key })
      expect(decodeMessage(none.text).message).toContain("rank_fields: Expected at least 1 item")
      const fields = { a: "x".repeat(600_000), b: "y".repeat(1_048_576 - 600_000) }
      const joined = yield* post(v1, { ...asCohere, documents: [fields], rank_fields: ["a", "b"] }, { key })
      expect([joined.status, issuePaths(joined)]).toEqual([400, ["documents.0"]])
      expect(yield* charges).toEqual([])
    })
  )

  it.effect("are admitted like any rerank", () =>
    Effect.gen(function* () {
      const { managementKey } = yield* TestGateway
      const poor = yield* newKey(1)
      const failed = yield* Effect.all([
        post(v2, asCohere, { key: null }),
        post(v2, asCohere, { key: poor.key }),
        post(v1, asCohere, { key: managementKey }),
        post(v2, { ...asCohere, model: "rerank-v0" })
      ])
      expect(failed.map(({ status }) => status)).toEqual([401, 402, 403, 404])
      for (const answer of failed) {
        inSet("cohereRerank", answer)
        expect(decodeMessage(answer.text).message).toBe(envelopeOf(answer).error.message)
      }
      expect(yield* poor.charges).toEqual([])
    })
  )

  it.effect("repeat an answer under its idempotency key, for the same path only", () =>
    Effect.gen(function* () {
      const { charges, key } = yield* newKey()
      const ask = { key, headers: { "idempotency-key": "order 7" } }
      const first = yield* post(v2, asCohere, ask)
      const second = yield* post(v2, asCohere, ask)
      expect([second.text === first.text, second.headers["idempotent-replayed"]]).toEqual([true, "true"])
      for (const other of [v1, path]) {
        const answer = yield* post(other, { ...asCohere, model: request.model }, ask)
        expect([answer.status, issuePaths(answer)]).toEqual([400, ["idempotency-key"]])
      }
      expect(yield* charges).toHaveLength(1)
      const askV1 = { key, headers: { "idempotency-key": "order 8" } }
      const documents = ["coffee", { title: "green tea", text: "leaves" }]
      const [one, two] = [
        yield* post(v1, { ...asCohere, documents, return_documents: true }, askV1),
        yield* post(v1, { ...asCohere, documents, return_documents: true }, askV1)
      ]
      expect(one.text).toContain('"title":"green tea"')
      expect([two.text, two.headers["idempotent-replayed"]]).toEqual([one.text, "true"])
    })
  )

  it.effect("are the only operations whose errors have a message at the top level", () =>
    Effect.gen(function* () {
      const answer = yield* post(path, { ...request, top_n: 0 })
      const body: unknown = JSON.parse(answer.text)
      expect(body).not.toHaveProperty("message")
      expect(body).toHaveProperty("error.message")
    })
  )
})
