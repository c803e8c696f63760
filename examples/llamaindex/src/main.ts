/** Finds the best of three answers to a question: `node src/main.ts "forgotten password"`. */
import { createClient } from "@model-gateway/node/promise"
import { MetadataMode, TextNode } from "llamaindex"
import { GatewayRerank } from "./GatewayRerank.ts"

const [question = "forgotten password"] = process.argv.slice(2)
const answers = ["Invoices are sent monthly", "Reset a forgotten password", "Close your account"]

const gateway = await createClient()
try {
  const rerank = new GatewayRerank(gateway, { model: "sandbox/bm25", top_n: 1 })
  // An index with embeddings calls it by itself:
  // `index.asQueryEngine({ nodePostprocessors: [rerank] })`.
  const nodes = answers.map((text) => ({ node: new TextNode({ text }) }))
  for (const { node, score } of await rerank.postprocessNodes(nodes, question)) {
    console.log(score, node.getContent(MetadataMode.NONE))
  }
} finally {
  await gateway.close()
}
