/** `examples/llamaindex`: the reranker in a query engine of LlamaIndex. */
import { MockLLM } from "@llamaindex/core/llms/mock"
import { GatewayRerank } from "@model-gateway/example-llamaindex/GatewayRerank"
import { type Client, createClient, NotFound } from "@model-gateway/node/promise"
import { BaseEmbedding, Document, MetadataMode, type NodeWithScore, Settings, VectorStoreIndex } from "llamaindex"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { neverResponding } from "./LostResponses.ts"
import { printedBy } from "./printedBy.ts"

const { key, origin } = inject("gateway")
const model = "sandbox/bm25"
const question = "forgotten password"
const best = "Reset a forgotten password"

/** Orders texts by their length, so that a vector store has an order that the reranker changes. */
class LengthEmbedding extends BaseEmbedding {
  constructor() {
    super()
  }
  override getTextEmbedding(text: string): Promise<Array<number>> {
    return Promise.resolve([1, text.length])
  }
}

let gateway: Client
let index: VectorStoreIndex

const textsOf = (nodes: ReadonlyArray<NodeWithScore> | undefined) =>
  nodes?.map(({ node }) => node.getContent(MetadataMode.NONE))

const engineOf = (rerank: GatewayRerank) => index.asQueryEngine({ similarityTopK: 4, nodePostprocessors: [rerank] })

beforeAll(async () => {
  gateway = await createClient({ apiKey: key, baseUrl: `${origin}/api/v1` })
  Settings.embedModel = new LengthEmbedding()
  Settings.llm = new MockLLM({ responseMessage: "Open the settings." })
  index = await VectorStoreIndex.fromDocuments(
    ["Billing", "Close your account", best, "A password manager"].map((text, page) => {
      return new Document({ text, metadata: { page }, excludedEmbedMetadataKeys: ["page"] })
    })
  )
})

afterAll(() => gateway.close())

describe("the reranker", () => {
  it("puts the nodes of a vector store in order before the answer is written", async () => {
    const retrieved = await index.asRetriever({ similarityTopK: 4 }).retrieve(question)
    expect(textsOf(retrieved)?.[0]).not.toBe(best)
    const costs: Array<number | undefined> = []
    const engine = engineOf(
      new GatewayRerank(gateway, { model, top_n: 2, onResponse: ({ usage }) => costs.push(usage?.cost) })
    )
    const answer = await engine.query({ query: question })
    expect(answer.message.content).toBe("Open the settings.")
    expect(textsOf(answer.sourceNodes)).toEqual([best, "A password manager"])
    expect(answer.sourceNodes?.map(({ node }) => node.metadata)).toEqual([{ page: 2 }, { page: 3 }])
    const [first, second] = answer.sourceNodes?.map(({ score }) => score) ?? []
    expect(first).toBeGreaterThan(second ?? Infinity)
    expect(costs).toEqual([0.001])
  })

  it("asks nothing if nothing was retrieved, and nothing without a query", async () => {
    const rerank = new GatewayRerank(gateway, { model: "unknown/model" })
    expect(await rerank.postprocessNodes([], question)).toEqual([])
    await expect(rerank.postprocessNodes([])).rejects.toThrow("needs the query")
  })

  it("fails the query with the client's own error", async () => {
    const engine = engineOf(new GatewayRerank(gateway, { model: "unknown/model" }))
    await expect(engine.query({ query: question })).rejects.toBeInstanceOf(NotFound)
  })

  it("ends its request at its signal", async () => {
    const requests = { came: 0, closed: 0 }
    const server = await neverResponding(requests)
    const client = await createClient({ apiKey: key, baseUrl: server.baseUrl })
    const stop = new AbortController()
    try {
      const engine = engineOf(new GatewayRerank(client, { model, call: { signal: stop.signal } }))
      const answer = engine.query({ query: question }).catch((error: unknown) => error)
      await expect.poll(() => requests.came).toBe(1)
      stop.abort(new Error("stopped"))
      expect(await answer).toEqual(new Error("stopped"))
      await expect.poll(() => requests.closed).toBe(1)
    } finally {
      await client.close()
      server.close()
    }
  })
})

it("runs the program", async () => {
  const [line = []] = await printedBy(() => import("@model-gateway/example-llamaindex/main"), [])
  expect(line[1]).toBe(best)
})
