/** One rerank call by a model of the provider for the AI SDK, without the SDK itself. */
import { createModelGateway } from "@model-gateway/ai-sdk"

const gateway = createModelGateway({ baseURL: "https://gateway.example/api/v1", apiKey: "mg_ek_…" })

const documents = { type: "text" as const, values: ["apples", "pears"] }

void gateway.reranking("sandbox/bm25").doRerank({ query: "pears", documents }).then(console.log)
