/** One rerank call with the class of `@openrouter/sdk`. */
import { OpenRouter } from "@openrouter/sdk"

const client = new OpenRouter({ apiKey: "mg_ek_page", serverURL: "https://gateway.example/api/v1" })

void client.rerank
  .rerank({ requestBody: { model: "sandbox/bm25", query: "pears", documents: ["apples", "pears"] } })
  .then(console.log)
