/** Ranks the nodes of a LlamaIndex retriever with a rerank model of the gateway. */
import type * as Rerank from "@model-gateway/core/Rerank"
import type { CallSettings, Client } from "@model-gateway/node/promise"
import {
  type BaseNodePostprocessor,
  extractText,
  type MessageContent,
  MetadataMode,
  type NodeWithScore
} from "llamaindex"

/** The model, how many nodes to keep (`top_n`, default: all), and the request's routing. */
export interface RerankSettings extends Omit<Rerank.Request, "query" | "documents"> {
  /** The `signal` that ends the request, and the policy of its retries. */
  readonly call?: CallSettings
  /** Gets each response: its cost in `usage`, its `warnings`. LlamaIndex has no event for them. */
  readonly onResponse?: (response: Rerank.Response) => void
}

export class GatewayRerank implements BaseNodePostprocessor {
  readonly #gateway: Pick<Client, "rerank">
  readonly #settings: RerankSettings

  constructor(gateway: Pick<Client, "rerank">, settings: RerankSettings) {
    this.#gateway = gateway
    this.#settings = settings
  }

  async postprocessNodes(nodes: Array<NodeWithScore>, query?: MessageContent): Promise<Array<NodeWithScore>> {
    if (query === undefined) throw new Error("GatewayRerank needs the query")
    if (nodes.length === 0) return []
    const { call, onResponse, ...settings } = this.#settings
    // What the retriever embedded: the text, and the metadata that is not excluded.
    const documents = nodes.map(({ node }) => node.getContent(MetadataMode.EMBED))
    const response = await this.#gateway.rerank({ ...settings, query: extractText(query), documents }, call)
    onResponse?.(response)
    return response.results.flatMap(({ index, relevance_score }) => {
      const ranked = nodes[index]
      return ranked === undefined ? [] : [{ node: ranked.node, score: relevance_score }]
    })
  }
}
