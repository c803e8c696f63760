/**
 * A double of Voyage AI's rerank API on a loopback socket:
 * https://docs.voyageai.com/reference/reranker-api. Its base URL is `<url>/v1`. By hand, it runs
 * until it is stopped:
 *
 *     node tests/doubles/src/plain/Voyage.mjs <key> [port]
 */
import { startByHand, startDouble } from "../Double.mjs"
import { bearerOf, isCount, objectOf, rank, tokensOfPairs } from "../words.mjs"

const models = new Set(["rerank-3", "rerank-3-lite", "rerank-2.5", "rerank-2.5-lite"])
const fields = new Set(["query", "documents", "model", "top_k", "return_documents", "truncation"])
const maxTokens = 600_000

const refusal = (status, detail) => ({ status, body: { detail } })

const check = (body) => {
  const unknown = Object.keys(body).find((name) => !fields.has(name))
  if (unknown !== undefined) return refusal(400, `Argument '${unknown}' is not supported by our API.`)
  const { documents, model, query, top_k } = body
  if (!models.has(model)) {
    return refusal(400, `Model ${model} is not supported. Supported models are ${[...models].join(", ")}.`)
  }
  if (typeof query !== "string" || query === "") return refusal(400, "The query must be a string that is not empty.")
  if (!Array.isArray(documents) || documents.length === 0 || documents.some((text) => typeof text !== "string")) {
    return refusal(400, "The documents must be a list of strings.")
  }
  if (documents.length > 1000) return refusal(400, "The number of documents cannot exceed 1000.")
  if (top_k !== undefined && top_k !== null && !isCount(top_k)) return refusal(400, "top_k must be a positive integer.")
  const count = tokensOfPairs(body)
  return count > maxTokens
    ? refusal(400, `The max allowed tokens per submitted batch is ${maxTokens}. Your batch has ${count} tokens.`)
    : undefined
}

const succeed = (body) => ({
  status: 200,
  body: {
    object: "list",
    data: rank(body)
      .slice(0, body.top_k ?? undefined)
      .map((result) =>
        body.return_documents === true ? { ...result, document: body.documents[result.index] } : result
      ),
    model: body.model,
    usage: { total_tokens: tokensOfPairs(body) }
  }
})

const answerTo = (request, keys) => {
  if (request.url !== "/v1/rerank" || request.method !== "POST") return refusal(404, "Not Found")
  const key = bearerOf(request)
  if (key === undefined || !keys.has(key)) return refusal(401, "Provided API key is invalid.")
  const body = objectOf(request)
  return body === undefined ? refusal(400, "Request body is not valid JSON.") : (check(body) ?? succeed(body))
}

/** Starts the double. `keys` are the API keys that it accepts. */
export const start = ({ keys, port }) => {
  const accepted = new Set(keys)
  return startDouble({ port, answerTo: (request) => answerTo(request, accepted) })
}

await startByHand(import.meta.url, start)
