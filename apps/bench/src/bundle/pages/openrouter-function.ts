/**
 * One rerank call with the standalone function of `@openrouter/sdk`, which its documentation
 * recommends for small bundles.
 */
import { OpenRouterCore } from "@openrouter/sdk/core.js"
import { rerankRerank } from "@openrouter/sdk/funcs/rerankRerank.js"

const client = new OpenRouterCore({ apiKey: "mg_ek_page", serverURL: "https://gateway.example/api/v1" })

void rerankRerank(client, {
  requestBody: { model: "sandbox/bm25", query: "pears", documents: ["apples", "pears"] }
}).then(console.log)
