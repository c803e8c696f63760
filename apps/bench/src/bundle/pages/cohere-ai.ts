/** One rerank call with `CohereClientV2` of `cohere-ai`. */
import { CohereClientV2 } from "cohere-ai"

const client = new CohereClientV2({ token: "mg_ek_page", environment: "https://gateway.example" })

void client.rerank({ model: "sandbox/bm25", query: "pears", documents: ["apples", "pears"] }).then(console.log)
