import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Duration, Effect, Redacted } from "effect"
import * as Adapter from "@model-gateway/offers/Adapter"
import * as Cohere from "../src/Cohere.ts"
import type { RerankModel } from "@model-gateway/offers/Model"
import { type Credential, gatewayCredential, type RerankOffer } from "@model-gateway/offers/Offer"
import type { Reason } from "@model-gateway/offers/ProviderError"
import type { RerankRequest } from "@model-gateway/offers/Rerank"
import { recorded } from "@model-gateway/test-doubles/recorded"
import { double, key } from "./support/cohere.ts"
import { documentedMessages } from "@model-gateway/test-doubles/CohereDouble"
import type { Double, Scripted } from "@model-gateway/test-doubles/Double"

const request: RerankRequest = {
  query: "green tea",
  documents: [{ text: "coffee" }, { text: "green tea leaves" }, { text: "black tea" }]
}

const texts = (count: number, text: string) => Array.from({ length: count }, () => ({ text }))

const v5: RerankModel = {
  kind: "rerank",
  publicId: "cohere/rerank-v5.0-pro",
  upstreamId: "rerank-v5.0-pro",
  name: "Cohere Rerank 5 Pro",
  pricing: { unit: "token", inputMicroCredits: 1_000_000, outputMicroCredits: 0 },
  parameters: { tokensPerChunk: 32_764, scores: "probability" }
}

const byUnit: RerankModel = {
  ...v5,
  upstreamId: "rerank-v4.0-pro",
  pricing: { unit: "search_unit", microCredits: 2500 }
}

/** The offer of a model, calling a double. */
const offered = (options: Partial<Adapter.Upstream> = {}, model?: RerankModel) =>
  Effect.gen(function* () {
    const cohere: Double = yield* double
    const upstream = {
      name: "cohere",
      baseUrl: cohere.url,
      credential: gatewayCredential(Redacted.make(key)),
      ...options
    }
    const [offer] = yield* Cohere.adapter.offers(upstream, model === undefined ? Cohere.adapter.models : [model])
    if (offer?.kind !== "rerank" || offer.credential === undefined) return assert.fail("no rerank offer")
    const own = offer.credential
    const run = (request: RerankRequest, credential: Credential = own) => offer.run(request, credential)
    return { cohere, offer, run }
  })

const { provide } = Effect

const undici = provide(NodeHttpClient.layerUndici)

const reasonFor = (scripted: Scripted, options?: Partial<Adapter.Upstream>) =>
  Effect.gen(function* () {
    const { cohere, run } = yield* offered(options)
    cohere.next(scripted)
    return (yield* Effect.flip(run(request))).reason
  })

const told = (reason: Reason): string =>
  "description" in reason ? `${reason._tag}: ${reason.description}` : `${reason._tag}: ${reason.message}`

describe("Cohere", () => {
  it.live("sends what the request says, with the credential of the call", () =>
    Effect.gen(function* () {
      const { cohere, run } = yield* offered()
      yield* run({
        ...request,
        top_n: 2,
        options: { max_tokens_per_doc: 64, priority: 5 }
      })
      yield* Effect.flip(
        run({ ...request, options: { unknown: 1 } }, { id: "tenant", secret: Redacted.make("tenant-key") })
      )
      const [first, second] = cohere.state.requests
      assert.deepStrictEqual([first?.method, first?.url], ["POST", "/v2/rerank"])
      assert.deepStrictEqual(JSON.parse(first?.text ?? ""), {
        model: "rerank-v3.5",
        query: "green tea",
        documents: ["coffee", "green tea leaves", "black tea"],
        top_n: 2,
        max_tokens_per_doc: 64,
        priority: 5
      })
      assert.deepStrictEqual(
        [first?.headers["authorization"], second?.headers["authorization"]],
        [`Bearer ${key}`, "Bearer tenant-key"]
      )
      assert.notInclude(second?.text, "top_n")
    }).pipe(undici)
  )

  it.live("returns the ranking and charges what Cohere bills", () =>
    Effect.gen(function* () {
      const { cohere, run } = yield* offered()
      const { answer, charge } = yield* run({ ...request, top_n: 2 })
      assert.deepStrictEqual(
        answer.results.map(({ index }) => index),
        [1, 2]
      )
      assert.deepStrictEqual<unknown>(charge, { cost: 2000, usage: { search_units: 1 } })

      const results = [{ index: 0, relevance_score: 0.5, document: { text: "coffee" } }]
      const meta = { billed_units: { search_units: 7 }, tokens: { input_tokens: 41, output_tokens: null } }
      cohere.next({ body: { results, meta } })
      const billed = yield* run(request)
      assert.deepStrictEqual(billed.answer, { results: [{ index: 0, relevance_score: 0.5 }] })
      assert.deepStrictEqual<unknown>(billed.charge, { cost: 14_000, usage: { search_units: 7, total_tokens: 41 } })
    }).pipe(undici)
  )

  it.live("charges the documents as they are if Cohere bills nothing, and invents no search units", () =>
    Effect.gen(function* () {
      const { cohere, run } = yield* offered()
      // Surely shorter than 500 tokens each: up to 100 of them are a search unit.
      const short = { ...request, documents: texts(101, "tea") }
      // How many chunks these are depends on Cohere's tokens.
      const long = { ...request, documents: texts(101, "tea ".repeat(200)) }
      for (const meta of [undefined, null, {}, { billed_units: null }]) {
        cohere.next({ body: { results: [], meta } }, { body: { results: [], meta } })
        assert.deepStrictEqual<unknown>((yield* run(short)).charge, { cost: 4000, usage: { search_units: 2 } })
        assert.deepStrictEqual<unknown>((yield* run(long)).charge, { cost: 4000, usage: {} })
      }
      cohere.next({ body: { results: [], meta: { billed_units: { input_tokens: 3 } } } })
      assert.deepStrictEqual<unknown>((yield* run(long)).charge, { cost: 4000, usage: { total_tokens: 3 } })
    }).pipe(undici)
  )

  it.live("never quotes less than Cohere bills", () =>
    Effect.gen(function* () {
      const { offer, run } = yield* offered()
      const words = "tea ".repeat(10_000)
      const requests: ReadonlyArray<RerankRequest> = [
        request,
        { ...request, documents: texts(100, "tea") },
        { ...request, documents: texts(101, "tea") },
        { ...request, documents: texts(100, "a ".repeat(251)) },
        { ...request, documents: texts(100, "茶".repeat(600)) },
        { ...request, documents: texts(100, "😀 ".repeat(600)) },
        { ...request, documents: texts(250, words) },
        { ...request, documents: texts(250, words), options: { max_tokens_per_doc: 100 } },
        { ...request, documents: texts(250, words), options: { max_tokens_per_doc: 100_000 } },
        { ...request, query: words, documents: texts(100, words) },
        { ...request, query: "! ".repeat(300), documents: texts(150, "! ".repeat(250)) }
      ]
      for (const request of requests) {
        const { charge } = yield* run(request)
        assert.isAtLeast(offer.quote(request), charge.cost)
        assert.isAtMost(offer.quote(request), charge.cost * 20)
      }
      assert.strictEqual(offer.quote(request), 2000)
      assert.strictEqual(offer.quote({ ...request, documents: texts(100, "a".repeat(491)) }), 2000)
      assert.strictEqual(offer.quote({ ...request, documents: texts(100, "a".repeat(492)) }), 4000)
    }).pipe(undici)
  )

  it.live("splits more than 10,000 documents, merges the rankings, and quotes each call", () =>
    Effect.gen(function* () {
      const { cohere, offer, run } = yield* offered()
      const many = { ...request, documents: [...texts(10_000, "coffee"), { text: "green tea" }], top_n: 2 }
      const { answer, charge } = yield* run(many)
      assert.deepStrictEqual(
        answer.results.map(({ index }) => index),
        [10_000, 0]
      )
      assert.deepStrictEqual<unknown>(charge, { cost: 202_000, usage: { search_units: 101 } })
      assert.strictEqual(offer.quote(many), 202_000)
      assert.strictEqual(cohere.state.requests.length, 2)
    }).pipe(undici)
  )

  it.live("refuses, without a call, what Cohere cannot rank", () =>
    Effect.gen(function* () {
      const { cohere, offer, run } = yield* offered()
      const refused: ReadonlyArray<readonly [RerankRequest, string]> = [
        [
          { ...request, documents: [{ text: "a" }, { text: "b", image: "https://example.com/b.png" }] },
          'InvalidRequest: documents.1.image: the model "cohere/rerank-v3.5" ranks text only'
        ],
        [
          { ...request, options: { max_tokens_per_doc: "many" } },
          "InvalidRequest: provider.options.cohere.max_tokens_per_doc: must be a whole number of 1 or more"
        ],
        [
          { ...request, documents: [{ text: "a" }, { text: " \n" }, {}] },
          "InvalidRequest: documents.1: must not be empty or only whitespace"
        ]
      ]
      for (const [request, expected] of refused) {
        assert.strictEqual(told((yield* Effect.flip(run(request))).reason), expected)
        assert.strictEqual(offer.quote(request), 2000)
      }
      assert.isFalse(offer.capabilities.image_documents)
      assert.deepStrictEqual(cohere.state.requests, [])
    }).pipe(undici)
  )

  it.live("maps every documented status, and shows messages about the input only", () =>
    Effect.gen(function* () {
      const expected: Readonly<Record<keyof typeof documentedMessages, string>> = {
        400: "InvalidRequest: list of documents must not be empty",
        401: "Unauthorized: the provider rejected its credentials",
        402: "OutOfCredit: the account at the provider is out of credit",
        403: "Unauthorized: the provider rejected its credentials",
        404: "UnknownModel: unknown model rerank-v3.5",
        422: "InvalidRequest: unknown field",
        429: "RateLimited: the provider's rate limit is exceeded",
        498: `InvalidRequest: ${documentedMessages[498]}`,
        499: "Timeout: the provider did not answer in time",
        500: "BadResponse: status 500",
        501: "BadResponse: status 501",
        503: "Overloaded: the provider is overloaded",
        504: "Timeout: the provider did not answer in time"
      }
      const messages = new Map(Object.entries(documentedMessages))
      for (const [status, reason] of Object.entries(expected)) {
        const body = { message: messages.get(status) }
        assert.strictEqual(told(yield* reasonFor({ status: Number(status), body })), reason)
      }
      assert.strictEqual((yield* reasonFor({ status: 413, body: { message: "at most 1 MB" } })).message, "at most 1 MB")
      const blocked = yield* reasonFor({ status: 498 })
      assert.strictEqual(blocked.message, "Cohere blocked the content of the request")
    }).pipe(undici)
  )

  it.live("tells a rate limit, with its wait, from a trial key that is used up", () =>
    Effect.gen(function* () {
      const headers = { "retry-after": "12" }
      const limited = "You are using a Trial key, which is limited to 40 API calls / minute."
      const reason = yield* reasonFor({ status: 429, headers, body: { message: limited } })
      assert.deepStrictEqual(reason._tag === "RateLimited" && reason.retryAfter, Duration.seconds(12))
      const spent = "You are using a Trial key, which is limited to 1000 API calls / month."
      assert.strictEqual((yield* reasonFor({ status: 429, headers, body: { message: spent } }))._tag, "OutOfCredit")
    }).pipe(undici)
  )

  it.live("reports a ranking that cannot be true", () =>
    Effect.gen(function* () {
      const ranked = (...results: ReadonlyArray<readonly [unknown, unknown]>) => ({
        results: results.map(([index, relevance_score]) => ({ index, relevance_score }))
      })
      const bodies: ReadonlyArray<readonly [unknown, string]> = [
        [ranked([3, 0.5]), "an index without a document"],
        [ranked([-1, 0.5]), "JSON of another form at results.0.index"],
        [ranked([0.5, 0.5]), "JSON of another form at results.0.index"],
        [ranked(["0", 0.5]), "JSON of another form at results.0.index"],
        [ranked([1, 0.5], [1, 0.4]), "a document ranked twice"],
        [ranked([0, 0.4], [1, 0.3], [2, 0.2], [3, 0.1]), "more results than asked for"],
        [ranked([0, "NaN"]), "JSON of another form at results.0.relevance_score"],
        ['{"results":[{"index":0,"relevance_score":1e999}]}', "JSON of another form at results.0.relevance_score"],
        [{}, "JSON of another form at results"],
        [
          { ...ranked([0, 0.5]), meta: { billed_units: { search_units: -1 } } },
          "JSON of another form at meta.billed_units.search_units"
        ],
        [
          { ...ranked([0, 0.5]), meta: { billed_units: { search_units: 1e300 } } },
          "JSON of another form at meta.billed_units.search_units"
        ],
        [
          { ...ranked([0, 0.5]), meta: { tokens: { input_tokens: 1e300 } } },
          "JSON of another form at meta.tokens.input_tokens"
        ],
        ['{"results":[', "not JSON"]
      ]
      for (const [body, description] of bodies) {
        assert.strictEqual(told(yield* reasonFor({ body })), `BadResponse: ${description}`)
      }
      const { cohere, run } = yield* offered()
      cohere.next({ body: ranked([0, 0.4], [1, 0.3]) })
      assert.deepStrictEqual((yield* run({ ...request, top_n: 1 })).answer.results, [
        { index: 0, relevance_score: 0.4 }
      ])
      // Out of order, and outside of 0 to 1: billed, and of use.
      cohere.next({ body: ranked([0, -0.1], [1, 0.3], [2, 1.5]) })
      assert.deepStrictEqual((yield* run(request)).answer.results, [
        { index: 2, relevance_score: 1 },
        { index: 1, relevance_score: 0.3 },
        { index: 0, relevance_score: 0 }
      ])
    }).pipe(undici)
  )

  it.live("takes the scores of another server for logits if one is outside of 0 to 1, whatever top_n is", () =>
    Effect.gen(function* () {
      const { cohere, run } = yield* offered({}, { ...v5, parameters: {} })
      const results = [2, 0.5, -1].map((relevance_score, index) => ({ index, relevance_score }))
      cohere.always({ body: { results } })
      const all = (yield* run(request)).answer.results
      assert.closeTo(all[0]?.relevance_score ?? 0, 0.8808, 1e-4)
      assert.deepStrictEqual((yield* run({ ...request, top_n: 1 })).answer.results, all.slice(0, 1))
      // It has to return all, so that one score does not depend on the number of the others.
      for (const { text } of cohere.state.requests) assert.notInclude(text, "top_n")
    }).pipe(undici)
  )

  it.live("charges the tokens that Cohere bills, at a price per token", () =>
    Effect.gen(function* () {
      const { cohere, offer, run } = yield* offered({}, v5)
      const { charge } = yield* run(request)
      // 6 of the documents, and 2 of the query for each.
      assert.deepStrictEqual<unknown>(charge, { cost: 12, usage: { total_tokens: 12 } })
      const results = [{ index: 0, relevance_score: 0.5 }]
      const meta = { billed_units: { input_tokens: 100.5 }, tokens: { input_tokens: 90, output_tokens: 0 } }
      cohere.next(
        { body: { results, meta } },
        { body: { results, meta: { tokens: meta.tokens } } },
        { body: { results } }
      )
      assert.deepStrictEqual<unknown>((yield* run(request)).charge, { cost: 101, usage: { total_tokens: 101 } })
      assert.deepStrictEqual<unknown>((yield* run(request)).charge, { cost: 90, usage: { total_tokens: 90 } })
      assert.deepStrictEqual<unknown>((yield* run(request)).charge, {
        cost: Math.ceil(offer.quote(request) / 4),
        usage: {}
      })
      for (const more of [request, { ...request, documents: texts(250, "! ".repeat(20_000)) }]) {
        assert.isAtLeast(offer.quote(more), (yield* run(more)).charge.cost)
      }
      assert.isAtLeast(offer.quote({ ...request, options: { max_tokens_per_doc: 100_000 } }), offer.quote(request))
    }).pipe(undici)
  )

  it.live("counts chunks of the model's size", () =>
    Effect.gen(function* () {
      const long = { ...request, documents: texts(100, "a".repeat(4000)) }
      const quoteOf = (tokensPerChunk: number) =>
        Effect.map(offered({}, { ...byUnit, parameters: { tokensPerChunk } }), ({ offer }) => offer.quote(long))
      // 9 chunks of 491 bytes beside the query of 9, and 1 chunk.
      assert.strictEqual(yield* quoteOf(500), 9 * 2500)
      assert.strictEqual(yield* quoteOf(32_764), 2500)
    }).pipe(undici)
  )

  it.live("reports a connection that fails", () =>
    Effect.gen(function* () {
      const timeLimit = Duration.millis(100)
      assert.strictEqual((yield* reasonFor({}, { baseUrl: "http://nowhere.invalid" }))._tag, "Unavailable")
      assert.strictEqual((yield* reasonFor({ fault: "cut" }))._tag, "ConnectionLost")
      assert.strictEqual((yield* reasonFor({ fault: "cutBody" }))._tag, "ConnectionLost")
      assert.strictEqual((yield* reasonFor({ fault: "hang" }, { timeLimit }))._tag, "Timeout")
      assert.strictEqual((yield* reasonFor({ fault: "hangBody" }, { timeLimit }))._tag, "Timeout")
      assert.strictEqual(told(yield* reasonFor({ fault: "endless" })), "BadResponse: more than 4194304 bytes")
    }).pipe(undici)
  )

  it.live("shows the key in no log, error or span", () =>
    Effect.gen(function* () {
      const bodies: ReadonlyArray<Scripted> = [
        {},
        { status: 401, body: { message: `invalid api token ${key}` } },
        { status: 400, body: { message: `invalid request: ${key}` } },
        { fault: "cut" }
      ]
      for (const scripted of bodies) {
        const text = yield* recorded(
          Effect.gen(function* () {
            const { cohere, offer, run } = yield* offered()
            cohere.next(scripted)
            yield* Effect.logInfo("offer", offer)
            yield* run(request)
          }).pipe(Effect.scoped)
        )
        assert.include(text, "/v2/rerank")
        assert.notInclude(text, key)
      }
    }).pipe(undici)
  )
})

const withEnvironment = (env: Readonly<Record<string, string>>) =>
  Adapter.offersConfig(Cohere.adapter).pipe(
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env })),
    undici
  )

describe("Adapter.offersConfig of Cohere", () => {
  it.effect("offers nothing without a key", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* withEnvironment({}), [])
      assert.deepStrictEqual(yield* withEnvironment({ COHERE_API_KEY: "", COHERE_BASE_URL: "https://x" }), [])
    })
  )

  it.effect("offers its models with a key, up to version 4 by search unit and then by token", () =>
    Effect.gen(function* () {
      const [offer, ...more] = yield* withEnvironment({ COHERE_API_KEY: key })
      const expected: Partial<RerankOffer> = {
        kind: "rerank",
        publicId: "cohere/rerank-v3.5",
        upstreamId: "rerank-v3.5",
        provider: "cohere",
        name: "Cohere Rerank 3.5",
        isFree: false,
        credential: { id: "gateway", secret: Redacted.make(key) },
        pricing: { unit: "search_unit", microCredits: 2000 },
        capabilities: { image_documents: false }
      }
      assert.deepStrictEqual({ ...offer, ...expected }, offer)
      assert.deepStrictEqual(
        more.map(({ pricing: { unit }, publicId }) => [publicId, unit]),
        [
          ["cohere/rerank-v4.0-pro", "search_unit"],
          ["cohere/rerank-v4.0-fast", "search_unit"],
          ["cohere/rerank-v5.0-pro", "token"],
          ["cohere/rerank-v5.0-fast", "token"]
        ]
      )
    })
  )

  it.effect("names the variable that is wrong, and not its value", () =>
    Effect.gen(function* () {
      const wrong: ReadonlyArray<readonly [Readonly<Record<string, string>>, string]> = [
        [{ COHERE_API_KEY: `${key} ` }, "COHERE_API_KEY"],
        [{ COHERE_API_KEY: key, COHERE_BASE_URL: `https://${key}@example.com` }, "COHERE_BASE_URL"],
        [{ COHERE_API_KEY: key, COHERE_BASE_URL: "api.cohere.com" }, "COHERE_BASE_URL"]
      ]
      for (const [env, name] of wrong) {
        const text = yield* recorded(Effect.flip(withEnvironment(env)))
        assert.include(text, name)
        assert.notInclude(text, key)
      }
    })
  )
})
