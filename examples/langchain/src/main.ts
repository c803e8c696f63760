/**
 * Finds the two best answers to a question, also in recordings, if there are any: `node src/main.ts
 * "forgotten password" call.wav`.
 */
import { ContextualCompressionRetriever } from "@langchain/classic/retrievers/contextual_compression"
import { MemoryVectorStore } from "@langchain/classic/vectorstores/memory"
import { SyntheticEmbeddings } from "@langchain/core/utils/testing"
import { createClient } from "@model-gateway/node/promise"
import { GatewayRerank } from "./GatewayRerank.ts"
import { GatewayTranscriptionLoader } from "./GatewayTranscriptionLoader.ts"

const [question = "forgotten password", ...recordings] = process.argv.slice(2)
const answers = ["Invoices are sent monthly", "Reset a forgotten password", "Close your account"]

const gateway = await createClient()
try {
  // Use the embeddings of your provider: these need none, and know nothing of meaning.
  const store = await MemoryVectorStore.fromTexts(answers, {}, new SyntheticEmbeddings())
  for (const recording of recordings) {
    const loader = new GatewayTranscriptionLoader(gateway, recording, { model: "sandbox/tones", by: "segment" })
    await store.addDocuments(await loader.load())
  }

  const retriever = new ContextualCompressionRetriever({
    baseRetriever: store.asRetriever(20),
    baseCompressor: new GatewayRerank(gateway, { model: "sandbox/bm25", top_n: 2 })
  })
  for (const { metadata, pageContent } of await retriever.invoke(question)) {
    console.log(metadata["relevanceScore"], pageContent)
  }
} finally {
  await gateway.close()
}
