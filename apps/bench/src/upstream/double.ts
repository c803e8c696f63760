/**
 * An upstream that answers at once: `POST /v2/rerank` as Cohere does, and `POST /chat/completions`
 * as OpenAI does, with bodies of about the same size.
 */
import { createServer } from "node:http"
import { listening } from "../child.ts"
import { rerankResponse } from "../client/messages.ts"

const ranking = Buffer.from(
  JSON.stringify({
    id: "07734bd2-2473-4f07-94e1-0d9f0e6843cf",
    results: rerankResponse.results.map(({ index, relevance_score }) => ({ index, relevance_score })),
    meta: { api_version: { version: "2" }, billed_units: { search_units: 1 } }
  })
)

const completion = Buffer.from(
  JSON.stringify({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1_764_000_000,
    model: "gpt-4o-mini",
    choices: [{ index: 0, message: { role: "assistant", content: "x".repeat(500) }, finish_reason: "stop" }],
    usage: { prompt_tokens: 400, completion_tokens: 100, total_tokens: 500 }
  })
)

const server = createServer((request, response) => {
  const answer = request.url === "/v2/rerank" ? ranking : request.url === "/chat/completions" ? completion : undefined
  // The answer leaves when the request has arrived, as at a real upstream.
  request.resume().on("end", () => {
    response
      .writeHead(answer === undefined ? 404 : 200, {
        "content-type": "application/json",
        "content-length": answer?.length ?? 0
      })
      .end(answer)
  })
})

server.listen(Number(process.argv[2] ?? 0), "127.0.0.1", () => {
  const address = server.address()
  if (address !== null && typeof address === "object") {
    listening({ port: address.port, apiKey: "none" }, () => process.exit())
  }
})
