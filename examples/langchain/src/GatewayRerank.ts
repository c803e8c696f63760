/**
 * Ranks the documents of a LangChain retriever with a rerank model of the gateway.
 *
 * As `baseCompressor` of a `ContextualCompressionRetriever`, or as a step of a chain of your own:
 * `runnable`.
 */
import { dispatchCustomEvent } from "@langchain/core/callbacks/dispatch"
import type { Callbacks } from "@langchain/core/callbacks/manager"
import { Document, type DocumentInterface } from "@langchain/core/documents"
import { BaseDocumentCompressor } from "@langchain/core/retrievers/document_compressors"
import { type Runnable, type RunnableConfig, RunnableLambda } from "@langchain/core/runnables"
import type * as Rerank from "@model-gateway/core/Rerank"
import type { Client } from "@model-gateway/node/promise"
import { chargedOnce, fingerprintOf } from "./chargedOnce.ts"

/** The model, how many documents to keep (`top_n`, default: all), and the request's routing. */
export type RerankSettings = Omit<Rerank.Request, "query" | "documents">

export interface RerankInput {
  readonly query: string
  readonly documents: ReadonlyArray<DocumentInterface>
}

export class GatewayRerank extends BaseDocumentCompressor {
  /**
   * The most relevant documents first, each with its `relevanceScore` in its metadata. The run has
   * the event `rerank`, with the cost. Aborting its `signal` ends the request.
   */
  readonly runnable: Runnable<RerankInput, Array<DocumentInterface>>
  readonly #gateway: Pick<Client, "rerank">
  readonly #settings: RerankSettings

  constructor(gateway: Pick<Client, "rerank">, settings: RerankSettings) {
    super()
    this.#gateway = gateway
    this.#settings = settings
    this.runnable = RunnableLambda.from((input: RerankInput, config: RunnableConfig) =>
      this.#rank(input, config)
    ).withConfig({ runName: "GatewayRerank" })
  }

  override compressDocuments(
    documents: Array<DocumentInterface>,
    query: string,
    callbacks?: Callbacks
  ): Promise<Array<DocumentInterface>> {
    return this.runnable.invoke({ documents, query }, callbacks === undefined ? {} : { callbacks })
  }

  async #rank({ documents, query }: RerankInput, config: RunnableConfig): Promise<Array<DocumentInterface>> {
    if (documents.length === 0) return []
    const request = { ...this.#settings, query, documents: documents.map(({ pageContent }) => pageContent) }
    const { results, ...response } = await chargedOnce(await fingerprintOf(request), (idempotencyKey) =>
      this.#gateway.rerank(request, { idempotencyKey, signal: config.signal })
    )
    await dispatchCustomEvent("rerank", response, config)
    return results.flatMap(({ index, relevance_score }) => {
      const document = documents[index]
      if (document === undefined) return []
      return [new Document({ ...document, metadata: { ...document.metadata, relevanceScore: relevance_score } })]
    })
  }
}
