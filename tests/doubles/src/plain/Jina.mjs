/**
 * A double of Jina AI's rerank API on a loopback socket: https://api.jina.ai/redoc. Its base URL is
 * `<url>/v1`. By hand, it runs until it is stopped:
 *
 *     node tests/doubles/src/plain/Jina.mjs <key> [port]
 */
import { startByHand, startDouble } from "../Double.mjs"
import { bearerOf, isCount, objectOf, rank, tokensOfPairs } from "../words.mjs"

const models = new Set([
  "jina-reranker-v2-base-multilingual",
  "jina-reranker-v3",
  "jina-reranker-m0",
  "jina-colbert-v2"
])

/** A document of `jina-reranker-m0`: a text, or an image by URL or in base64. */
const isTextOrImage = (document) => {
  const names = Object.keys(document).join()
  return names === "text"
    ? typeof document.text === "string"
    : names === "image" && /^(https:\/\/\S+|[A-Za-z0-9+/]+={0,2})$/.test(document.image)
}

/** The documents are texts. Those of `jina-reranker-m0` may also be objects. */
const areDocuments = (documents, model) =>
  documents.every((document) => typeof document === "string") ||
  (model === "jina-reranker-m0" &&
    documents.every((document) => typeof document === "object" && document !== null && isTextOrImage(document)))

/** The double sees the words of an image's address, and counts 768 tokens for an image. */
const textOf = (document) =>
  typeof document === "string" ? document : (document.text ?? document.image.replaceAll(/\W+/g, " "))

const refusal = (status, code, detail) => ({ status, body: { detail, code } })

/** As FastAPI reports it. */
const invalid = (field, msg) => ({
  status: 422,
  body: { detail: [{ type: "value_error", loc: ["body", field], msg, input: null }] }
})

const check = ({ documents, model, query, top_n }) => {
  if (typeof query !== "string") return invalid("query", "Input should be a valid string")
  if (!Array.isArray(documents) || documents.length === 0)
    return invalid("documents", "List should have at least 1 item")
  if (documents.length > 2048) {
    return invalid("documents", `List should have at most 2048 items after validation, not ${documents.length}`)
  }
  if (!areDocuments(documents, model)) {
    return invalid("documents", "Input should be a valid string")
  }
  if (top_n !== undefined && !isCount(top_n)) return invalid("top_n", "Input should be greater than 0")
  if (!models.has(model)) return refusal(400, "INPUT_MODEL_NOT_FOUND", `Model '${model}' not found`)
  return undefined
}

const succeed = (sent) => {
  const body = { ...sent, documents: sent.documents.map(textOf) }
  const images = sent.documents.filter((document) => document.image !== undefined).length
  return answer(body, 768 * images)
}

const answer = (body, imageTokens) => ({
  status: 200,
  body: {
    model: body.model,
    object: "list",
    usage: { total_tokens: tokensOfPairs(body) + imageTokens },
    results: rank(body)
      .slice(0, body.top_n)
      .map((result) =>
        body.return_documents === false ? result : { ...result, document: { text: body.documents[result.index] } }
      )
  }
})

const answerTo = (request, keys) => {
  if (request.url !== "/v1/rerank" || request.method !== "POST") return { status: 404, body: { detail: "Not Found" } }
  const key = bearerOf(request)
  if (key === undefined) return refusal(401, "AUTH_MISSING_API_KEY", "Authentication required")
  if (!keys.has(key)) return refusal(401, "AUTH_INVALID_API_KEY", "Invalid API key")
  const body = objectOf(request)
  return body === undefined ? invalid("", "JSON decode error") : (check(body) ?? succeed(body))
}

/** Starts the double. `keys` are the API keys that it accepts. */
export const start = ({ keys, port }) => {
  const accepted = new Set(keys)
  return startDouble({ port, answerTo: (request) => answerTo(request, accepted) })
}

await startByHand(import.meta.url, start)
