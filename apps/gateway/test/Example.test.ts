/** The adapter that the guide shows: it is the file beside this one, and it works. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as Adapter from "@model-gateway/offers/Adapter"
import type { RerankRequest } from "@model-gateway/offers/Rerank"
import { ConfigProvider, Effect, Schema } from "effect"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe, expect, it, onTestFinished } from "vitest"
import { startDouble } from "@model-gateway/test-doubles/Double"
import * as Acme from "./example/Acme.ts"

const page = fileURLToPath(new URL("../../../docs/extend/adapters.md", import.meta.url))
const file = fileURLToPath(new URL("./example/Acme.ts", import.meta.url))

const asRequest = Schema.decodeUnknownSync(
  Schema.Struct({
    model: Schema.Literal("ranker-1"),
    query: Schema.String,
    texts: Schema.Array(Schema.String),
    limit: Schema.optionalKey(Schema.Int)
  })
)

/** A service as the adapter's description says: it finds the texts that contain the query. */
const acme = async () => {
  const double = await startDouble({
    answerTo: ({ headers, method, text, url }) => {
      if (`${method} ${url}` !== "POST /v1/rank") return { status: 404, body: {} }
      if (headers["authorization"] !== "Bearer acme-key") return { status: 401, body: {} }
      const { limit, query, texts } = asRequest(JSON.parse(text))
      const ranking = texts
        .map((each, position) => ({
          position,
          score: each.includes(query) ? 0.9 - position / 1e3 : 0.1 - position / 1e3
        }))
        .toSorted((a, b) => b.score - a.score)
        .slice(0, limit)
      return { body: { ranking, tokens: 12 } }
    }
  })
  onTestFinished(() => double.close())
  return double
}

/** What the offer that its variables give does. */
const rank = (variables: Record<string, string>, request: RerankRequest) =>
  Effect.gen(function* () {
    const [offer] = yield* Adapter.offersConfig(Acme.adapter)
    if (offer?.kind !== "rerank" || offer.credential === undefined) return undefined
    const { answer, charge } = yield* offer.run(request, offer.credential)
    return { results: answer.results, cost: charge.cost, quote: offer.quote(request) }
  }).pipe(
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromUnknown(variables)),
    Effect.provide(NodeHttpClient.layerUndici),
    Effect.runPromise
  )

const request: RerankRequest = { query: "tea", documents: [{ text: "coffee" }, { text: "green tea" }], top_n: 1 }

describe("the adapter of the guide", () => {
  it("is what the guide shows (written by vitest run --update)", async () => {
    const shown = readFileSync(page, "utf8").replace(
      /^```ts\n[\s\S]*?^```$/m,
      () => `\`\`\`ts\n${readFileSync(file, "utf8")}\`\`\``
    )
    await expect(shown).toMatchFileSnapshot(page)
  })

  it("ranks, and charges the tokens that the service counted, which is less than what it quotes", async () => {
    const double = await acme()
    const result = await rank({ ACME_API_KEY: "acme-key", ACME_BASE_URL: `${double.url}/v1` }, request)
    expect(result).toMatchObject({ results: [{ index: 1, relevance_score: 0.899 }], cost: 1 })
    expect(result?.quote).toBeGreaterThan(result?.cost ?? 0)
  })

  it("offers nothing without a key, and fails with a reason if the service rejects it", async () => {
    const double = await acme()
    expect(await rank({}, request)).toBe(undefined)
    const failed = rank({ ACME_API_KEY: "another", ACME_BASE_URL: `${double.url}/v1` }, request)
    await expect(failed).rejects.toMatchObject({ reason: { _tag: "Unauthorized" } })
  })
})
