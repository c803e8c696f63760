/** Fields and parameters that an operation does not know. */
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import * as Contract from "@model-gateway/core/Operation"
import { expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { HttpApi, type HttpApiEndpoint } from "effect/http-api"
import { layer, TestGateway } from "../TestGateway.ts"
import { envelopeOf, issuePaths, post } from "../TestEnvelope.ts"

const refusing: Array<HttpApiEndpoint.Top> = []
HttpApi.reflect(GatewayApi, {
  onGroup: () => {},
  onEndpoint: ({ endpoint }) => {
    if (Contract.of(endpoint)?.unknownFields === "refused") refusing.push(endpoint)
  }
})

const uuid = "7d9d1f9e-3a55-4f0c-9a35-0e4d1b9f6a10"

const pathOf = ({ path }: HttpApiEndpoint.Top) => path.replaceAll(/:\w+/g, uuid)

const keyFor = Effect.fnUntraced(function* (endpoint: HttpApiEndpoint.Top) {
  const { managementKey, ordinaryKey } = yield* TestGateway
  return Contract.of(endpoint)?.access === "management key" ? managementKey : ordinaryKey
})

const counted = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Struct({ total_count: Schema.Int })))

it.layer(layer(), { excludeTestServices: true })("a field that an operation does not know", (it) => {
  it.effect("is a 400 that names it, with every body of an operation that refuses it", () =>
    Effect.gen(function* () {
      const bodies = refusing.filter(({ payload }) => payload.size > 0)
      expect(bodies.length).toBeGreaterThan(12)
      for (const endpoint of bodies) {
        const { identifier, method } = endpoint
        const answer = yield* post(pathOf(endpoint), { limitt: 1 }, { method, key: yield* keyFor(endpoint) })
        expect([identifier, answer.status, issuePaths(answer)]).toEqual([
          identifier,
          400,
          expect.arrayContaining(["limitt"])
        ])
        expect(answer.text).toMatch(/Unknown field. Did you mean \\"\w+\\"\?/)
      }
    })
  )

  it.effect("is a 400 that names it, with every query of an operation that refuses it", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const queries = refusing.filter(({ query }) => query !== undefined)
      expect(queries.length).toBeGreaterThan(12)
      for (const endpoint of queries) {
        const { identifier, method } = endpoint
        const answer = yield* ask(`${pathOf(endpoint)}?limitt=1&limitt=2`, { method, key: yield* keyFor(endpoint) })
        expect([identifier, answer.status, issuePaths(answer)]).toEqual([identifier, 400, ["limitt"]])
        expect(answer.text).toMatch(/Unknown parameter. Did you mean \\"\w+\\"\?/)
      }
    })
  )

  it.effect("is a 400 that names it, with the query of an operation that refuses it and has no parameters", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const others = refusing.filter(({ query }) => query === undefined)
      expect(others.length).toBeGreaterThan(12)
      for (const endpoint of others) {
        const { identifier, method } = endpoint
        const path = `${pathOf(endpoint)}?disabled=true&limit=1&${"x".repeat(300)}`
        const answer = yield* ask(path, { method, key: yield* keyFor(endpoint) })
        const named = ["disabled", "limit", "x".repeat(256)]
        expect([identifier, answer.status, issuePaths(answer)]).toEqual([identifier, 400, named])
      }
    })
  )

  it.effect("is named with the field that was most likely meant, also in an object and in a list", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key } = yield* TestGateway
      const config = { url: "https://example.com", method: "POST" }
      for (const [path, body, field, meant] of [
        ["/guardrails", { name: "g", limit: 5 }, "limit", "limit_usd"],
        ["/guardrails", { name: "g", Limit_USD: 5 }, "Limit_USD", "limit_usd"],
        ["/guardrails", { name: "g", limt: 3 }, "limt", "limit_usd"],
        ["/keys", { name: "k", limt: 5 }, "limt", "limit"],
        ["/keys", { name: "k", external: { user: "u", apikey: "k" } }, "external.apikey", "api_key"],
        ["/byok", { provider: "cohere", key: "co-1234567890", is_require: true }, "is_require", "is_required"],
        [
          "/observability/destinations",
          { name: "d", type: "webhook", config: { ...config, header: {} } },
          "config.header",
          "headers"
        ],
        [
          "/observability/destinations",
          {
            name: "d",
            type: "webhook",
            config,
            filter_rules: { groups: [{ rules: [{ field: "model", operator: "exists", values: 1 }] }] }
          },
          "filter_rules.groups.0.rules.0.values",
          "value"
        ]
      ] as const) {
        const answer = yield* post(`/api/v1${path}`, body, { key })
        expect([field, answer.status, issuePaths(answer)]).toEqual([field, 400, [field]])
        expect(envelopeOf(answer).error.message).toBe(
          `invalid request parameters: ${field}: Unknown field. Did you mean "${meant}"?`
        )
      }
      const { managementKey } = yield* TestGateway
      expect(counted((yield* ask("/api/v1/guardrails", { key: managementKey })).text).total_count).toBe(0)
      expect(counted((yield* ask("/api/v1/observability/destinations", { key })).text).total_count).toBe(0)
    })
  )

  it.effect("is listed with the other faults, and its value is not", () =>
    Effect.gen(function* () {
      const { managementKey: key } = yield* TestGateway
      const answer = yield* post("/api/v1/guardrails", { limit: "secret-value", reset_interval: "hourly" }, { key })
      expect([answer.status, issuePaths(answer).toSorted()]).toEqual([400, ["limit", "name", "reset_interval"]])
      expect(answer.text).not.toContain("secret-value")
    })
  )

  it.effect("costs little to refuse, however many and long the fields are", () =>
    Effect.gen(function* () {
      const { managementKey: key } = yield* TestGateway
      const many = Object.fromEntries(Array.from({ length: 9000 }, (_, at) => [`${at}${"x".repeat(50)}`, 1]))
      const answer = yield* post("/api/v1/guardrails", { name: "g", ...many }, { key })
      expect([answer.status, issuePaths(answer).length]).toEqual([400, 20])
      expect(answer.text).toContain('"issues_truncated":true')
      const long = yield* post("/api/v1/guardrails", { name: "g", ["x".repeat(500_000)]: 1 }, { key })
      expect([long.status, issuePaths(long)]).toEqual([400, ["x".repeat(256)]])
      expect(long.text.length).toBeLessThan(2000)
    })
  )

  it.effect("is ignored by the operations of the specification", () =>
    Effect.gen(function* () {
      const { ask, managementKey, ordinaryKey } = yield* TestGateway
      const made = yield* post("/api/v1/guardrails", { name: "g" }, { key: managementKey })
      const { data } = Schema.decodeUnknownSync(
        Schema.fromJsonString(Schema.Struct({ data: Schema.Struct({ id: Schema.String }) }))
      )(made.text)
      for (const [path, body, key] of [
        ["/rerank", { model: "sandbox/bm25", query: "tea", documents: ["tea"], limitt: 1 }, ordinaryKey],
        ["/videos", { model: "sandbox/title-card", prompt: "tea", duration: 1, limitt: 1 }, ordinaryKey],
        [`/guardrails/${data.id}/assignments/keys`, { key_hashes: ["none"], limitt: 1 }, managementKey]
      ] as const) {
        const answer = yield* post(`/api/v1${path}?limitt=1`, body, { key })
        expect([path, answer.status]).toEqual([path, expect.any(Number)])
        expect(answer.status).toBeLessThan(300)
      }
      expect((yield* ask("/api/v1/key?limitt=1")).status).toBe(200)
    })
  )
})
