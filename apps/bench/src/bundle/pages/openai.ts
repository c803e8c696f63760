/**
 * One rerank call with `openai`. It has no rerank operation, so the page uses its generic `post`,
 * with retries and errors.
 */
import OpenAI from "openai"

const client = new OpenAI({
  apiKey: "mg_ek_page",
  baseURL: "https://gateway.example/api/v1",
  dangerouslyAllowBrowser: true
})

void client
  .post("/rerank", { body: { model: "sandbox/bm25", query: "pears", documents: ["apples", "pears"] } })
  .then(console.log)
