/** What a provider can answer, and what a caller can write that is stored with the charge. */
import { randomBytes } from "node:crypto"
import { type Answer, ask, type Question } from "../client.ts"
import * as Doubles from "../doubles.ts"
import { type Settings, unlimited } from "../gateway.ts"
import {
  type Attack,
  atOnce,
  maxMillisOf,
  milliseconds,
  type Outcome,
  problemsOf,
  statusesOf,
  type Target
} from "./attack.ts"

const rank = (key: string, model = "double/rank"): Question => ({
  method: "POST",
  path: "/api/v1/rerank",
  key,
  body: { model, query: "green tea", documents: ["a cup of green tea", "milk"] }
})

/** The same upstream as Cohere's API, as a gateway, and as a server of every `tei/` model. */
const file = (url: string): object => ({
  upstreams: {
    double: { adapter: "cohere", apiKey: "not-a-real-key", baseUrl: url },
    behind: { adapter: "gateway", apiKey: "not-a-real-key", baseUrl: `${url}/api/v1` },
    tei: { baseUrl: url }
  },
  models: {
    "double/rank": { offers: [{ upstream: "double", model: "rank", price: { search_unit: 0.001 } }] },
    "behind/rank": {
      kind: "rerank",
      offers: [{ upstream: "behind", model: "rank", price: { search_unit: 0.001 } }]
    },
    "open/*": { offers: [{ upstream: "double", model: "rank", price: { search_unit: 0.001 } }] }
  }
})

/** Every request reaches the provider: no circuit opens. */
const refused = [502]

const everyCall: Settings = { ...unlimited, CIRCUIT_FAILURES: "1000000" }

const lists = ["/generations", "/activity"]

const listsOf = async ({ gateway }: Target): Promise<ReadonlyArray<Answer>> => {
  const answers: Array<Answer> = []
  for (const list of lists) {
    answers.push(await ask(gateway.origin, { method: "GET", path: `/api/v1${list}`, key: gateway.managementKey }))
  }
  return answers
}

const result = { index: 0, relevance_score: 0.5 }

/** Cohere's answers with counts that JSON can say. */
const cohereCounts = [
  '{"results":[{"index":0,"relevance_score":0.5}],"meta":{"tokens":{"input_tokens":1e308,"output_tokens":1e308}}}',
  { results: [result], meta: { tokens: { input_tokens: 1e300 } } },
  { results: [result], meta: { billed_units: { search_units: 1e15 } } }
]

/** The same of a gateway. */
const gatewayCounts = [
  { id: "a", model: "b", results: [{ ...result, document: {} }], usage: { search_units: -5, cost: 0.001 } },
  { id: "a", model: "b", results: [{ ...result, document: {} }], usage: { total_tokens: 2 ** 53 - 1, cost: 0.001 } },
  { id: "a", model: "b", results: [{ ...result, document: {} }], usage: { cost: -1 } }
]

const counts: Attack = {
  name: "upstream-counts",
  title: "a provider counts 1e308 tokens, -5 search units, a cost of -1",
  bound: "the request: 502; GET /generations and GET /activity: 200",
  quick: true,
  storage: true,
  settings: everyCall,
  file,
  run: async (target) => {
    const { gateway, upstream } = target
    const answers: Array<Answer> = []
    for (const [model, bodies] of [
      ["double/rank", cohereCounts],
      ["behind/rank", gatewayCounts]
    ] as const) {
      for (const body of bodies) {
        upstream.handle = Doubles.always(body)
        answers.push(await ask(gateway.origin, rank(gateway.apiKey, model)))
      }
    }
    const listed = await listsOf(target)
    return {
      figure: `reranks: ${statusesOf(answers)}; lists: ${statusesOf(listed)}`,
      problems: [...problemsOf(answers, refused), ...problemsOf(listed, [200]).map((problem) => `lists: ${problem}`)]
    }
  }
}

/** Sixty calls at once that get this answer, then lists. */
const flood =
  (body: string, model = "double/rank") =>
  async (target: Target): Promise<Outcome> => {
    const { gateway, upstream } = target
    upstream.handle = Doubles.always(body)
    await gateway.watch.reset()
    await gateway.stall()
    const answers = await atOnce(60, gateway.origin, () => rank(gateway.apiKey, model))
    const stall = await gateway.stall()
    return {
      figure:
        `${(body.length / 1e6).toFixed(1)} MB each: ${statusesOf(answers)} in ${milliseconds(maxMillisOf(answers))}; ` +
        `the event loop stood for ${milliseconds(stall)}`,
      problems: problemsOf(answers, refused)
    }
  }

const manyResults = `{"results":[${Array.from({ length: 100_000 }, (_, index) => `{"index":${index},"relevance_score":0}`).join(",")}]}`

const levels = 2e6

const results: Attack = {
  name: "upstream-results",
  title: "a provider answers 60 reranks of 2 documents at once with 100,000 results each",
  bound: "502",
  settings: everyCall,
  seconds: 120,
  file,
  run: flood(manyResults)
}

const resultsOfGateway: Attack = {
  ...results,
  name: "upstream-gateway-results",
  title: "a gateway behind the gateway does the same",
  run: flood(manyResults, "behind/rank")
}

const nesting: Attack = {
  name: "upstream-nesting",
  title: `a provider answers 60 reranks at once with ${levels / 1e6} million levels of nesting each`,
  bound: "502",
  settings: everyCall,
  seconds: 120,
  file,
  run: flood(`{"results":[],"a":${"[".repeat(levels)}${"]".repeat(levels)}}`)
}

const models: Attack = {
  name: "model-names",
  title: "50 reranks with model ids of 3,000 random characters at offers that take every id",
  bound: "400, and the provider is not called",
  storage: true,
  settings: unlimited,
  file,
  run: async (target) => {
    const { gateway, upstream } = target
    upstream.handle = Doubles.ranking
    const before = upstream.calls()
    const answers = await atOnce(50, gateway.origin, () =>
      rank(gateway.apiKey, `open/${randomBytes(2250).toString("base64")}`)
    )
    const calls = upstream.calls() - before
    const longest = await ask(
      gateway.origin,
      rank(gateway.apiKey, `open/${randomBytes(188).toString("hex").slice(0, 251)}`)
    )
    const listed = await listsOf(target)
    return {
      figure: `${statusesOf(answers)}, ${calls} calls of the provider; an id of 256 characters: ${statusesOf([longest])}`,
      problems: [
        ...problemsOf(answers, [400]),
        ...problemsOf([longest, ...listed], [200]),
        ...(calls > 0 ? [`the provider was called ${calls} times`] : [])
      ]
    }
  }
}

export const upstreams: ReadonlyArray<Attack> = [counts, results, resultsOfGateway, nesting, models]
