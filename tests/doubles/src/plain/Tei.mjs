/**
 * A double of a Text Embeddings Inference server, version 1.9, with a rerank model and the server's
 * default limits: https://huggingface.github.io/text-embeddings-inference. Without keys it accepts
 * every request. By hand, it runs until it is stopped:
 *
 *     node tests/doubles/src/plain/Tei.mjs <key> [port]
 */
import { startByHand, startDouble } from "../Double.mjs"
import { bearerOf, objectOf, rank, tokensOfPairs } from "../words.mjs"

const maxTexts = 32
const maxBytes = 2_000_000
const maxTokens = 512

const refusal = (status, error_type, error) => ({ status, body: { error, error_type } })

/** The logit of a probability, as `raw_scores` asks for. */
const logit = (probability) => Math.log((probability + 1e-6) / (1 - probability + 1e-6))

const answerTo = (request, keys) => {
  if (keys.size > 0 && !keys.has(bearerOf(request))) return { status: 401, body: null }
  if (request.url === "/info" && request.method === "GET") {
    return {
      body: {
        model_id: "BAAI/bge-reranker-base",
        model_dtype: "float32",
        model_type: { reranker: { id2label: { 0: "LABEL_0" }, label2id: { LABEL_0: 0 } } },
        max_concurrent_requests: 512,
        max_input_length: maxTokens,
        max_batch_tokens: 16_384,
        max_client_batch_size: maxTexts,
        auto_truncate: false,
        tokenization_workers: 1,
        version: "1.9.3"
      }
    }
  }
  if (request.url !== "/rerank" || request.method !== "POST") return { status: 404, body: null }
  if (request.bytes.length > maxBytes) {
    return {
      status: 413,
      headers: { "content-type": "text/plain" },
      body: "Failed to buffer the request body: length limit exceeded"
    }
  }
  const { query, raw_scores = false, return_text = false, texts, truncate = false } = objectOf(request) ?? {}
  if (typeof query !== "string" || !Array.isArray(texts) || texts.some((text) => typeof text !== "string")) {
    const body = "Failed to deserialize the JSON body into the target type: missing field"
    return { status: 422, headers: { "content-type": "text/plain" }, body }
  }
  if (texts.length === 0) return refusal(400, "Empty", "`texts` cannot be empty")
  if (texts.length > maxTexts) {
    return refusal(422, "Validation", `batch size ${texts.length} > maximum allowed batch size ${maxTexts}`)
  }
  const longest = Math.max(...texts.map((text) => tokensOfPairs({ query, documents: [text] })))
  if (longest > maxTokens && !truncate) {
    const message = `Input validation error: \`inputs\` must have less than ${maxTokens} tokens. Given: ${longest}`
    return refusal(422, "Validation", message)
  }
  return {
    headers: { "x-compute-type": "cpu", "x-compute-tokens": String(tokensOfPairs({ query, documents: texts })) },
    body: rank({ query, documents: texts }).map(({ index, relevance_score }) => ({
      index,
      score: raw_scores ? logit(relevance_score) : relevance_score,
      ...(return_text ? { text: texts[index] } : {})
    }))
  }
}

/** Starts the double. `keys` are the API keys that it accepts. Without any, it needs none. */
export const start = ({ keys, port }) => {
  const accepted = new Set(keys)
  return startDouble({ port, answerTo: (request) => answerTo(request, accepted) })
}

await startByHand(import.meta.url, start)
