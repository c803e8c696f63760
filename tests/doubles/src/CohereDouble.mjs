/**
 * A double of Cohere's rerank API on a loopback socket. It checks requests as strictly as the
 * documentation allows, and answers as documented: https://docs.cohere.com/reference/rerank and
 * https://docs.cohere.com/reference/errors.
 *
 * Tests of several packages share it. By hand, it runs until it is stopped:
 *
 *     node tests/doubles/src/CohereDouble.mjs <key> [port]
 */
import { randomUUID } from "node:crypto"
import { startByHand, startDouble } from "./Double.mjs"
import { rank, tokens } from "./words.mjs"

/** The messages that the documentation quotes, by status. */
export const documentedMessages = {
  400: "invalid request: list of documents must not be empty",
  401: "invalid api token",
  402: "Please add or update your payment method at https://dashboard.cohere.com/billing?tab=payment to continue",
  403: "the user does not have the necessary permissions",
  404: "model 'xyz' not found, make sure the correct model ID was used and that you have access to the model.",
  422: "invalid request: unknown field",
  429: "You are past the per minute request limit, please wait and try again later.",
  498: "the request was blocked",
  499: "failed to get rerank inference: request cancelled",
  500: "internal server error",
  501: "not implemented",
  503: "service unavailable",
  504: "gateway timeout"
}

/** What a model is billed by, and the tokens of a chunk with the query. */
const models = {
  "rerank-v3.5": { tokensPerChunk: 500 },
  "rerank-v4.0-pro": { tokensPerChunk: 32_764 },
  "rerank-v4.0-fast": { tokensPerChunk: 32_764 },
  "rerank-v5.0-pro": { byToken: true },
  "rerank-v5.0-fast": { byToken: true }
}

const fields = new Set(["model", "query", "documents", "top_n", "max_tokens_per_doc", "priority"])

/** Documents of more than a chunk, with the query, count once for each chunk. */
const searchUnits = ({ documents, max_tokens_per_doc = 4096, query }, tokensPerChunk) => {
  const room = tokensPerChunk - Math.min(tokens(query).length, tokensPerChunk / 2)
  const chunks = documents.map((text) =>
    Math.max(1, Math.ceil(Math.min(tokens(text).length, max_tokens_per_doc) / room))
  )
  return Math.ceil(chunks.reduce((sum, count) => sum + count, 0) / 100)
}

/** The tokens of the documents, and of the query once for each. */
const inputTokens = ({ documents, max_tokens_per_doc = 4096, query }) =>
  documents.reduce(
    (sum, text) => sum + Math.min(tokens(text).length, max_tokens_per_doc) + Math.min(tokens(query).length, 2048),
    0
  )

const billedUnits = (body) => {
  const { byToken = false, tokensPerChunk } = models[body.model]
  return byToken ? { input_tokens: inputTokens(body) } : { search_units: searchUnits(body, tokensPerChunk) }
}

const refusal = (status, message) => ({ status, body: { id: randomUUID(), message } })

const isCount = (value) => value === undefined || (Number.isSafeInteger(value) && value >= 1)

const check = (body) => {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return refusal(400, "invalid json syntax")
  const unknown = Object.keys(body).find((name) => !fields.has(name))
  if (unknown !== undefined) return refusal(422, `unknown field: parameter '${unknown}' is not a valid field`)
  const { documents, max_tokens_per_doc, model, priority, query, top_n } = body
  if (typeof model !== "string" || model === "") {
    return refusal(400, "a model parameter is required for this endpoint.")
  }
  if (!Object.hasOwn(models, model)) {
    return refusal(
      404,
      `model '${model}' not found, make sure the correct model ID was used and that you have access to the model.`
    )
  }
  if (typeof query !== "string" || query.trim() === "") {
    return refusal(400, "invalid request: query must not be empty or be only whitespace")
  }
  if (!Array.isArray(documents) || documents.length === 0) return refusal(400, documentedMessages[400])
  if (documents.length > 10_000) return refusal(400, "invalid request: at most 10000 documents are allowed")
  if (!documents.every((text) => typeof text === "string")) {
    return refusal(422, "invalid type: parameter documents must be a list of strings")
  }
  if (documents.some((text) => text.trim() === "")) return refusal(400, "invalid request: documents must not be empty")
  if (!isCount(top_n)) return refusal(400, "invalid request: top_n must be greater than 0")
  if (!isCount(max_tokens_per_doc)) return refusal(400, "invalid request: max_tokens_per_doc must be greater than 0")
  if (priority !== undefined && !(Number.isSafeInteger(priority) && priority >= 0 && priority <= 999)) {
    return refusal(400, "invalid request: priority must be between 0 and 999")
  }
  return undefined
}

const succeed = (body) => ({
  status: 200,
  body: {
    id: randomUUID(),
    results: rank(body).slice(0, body.top_n),
    meta: { api_version: { version: "2" }, billed_units: billedUnits(body) }
  }
})

/** The answer to a request with one of these keys. */
export const answerTo = (request, keys) => {
  const [path] = request.url.split("?")
  if (path !== "/v2/rerank") return refusal(404, "404 page not found")
  if (request.method !== "POST") return refusal(405, "method not allowed")
  const authorization = request.headers.authorization
  if (authorization === undefined) return refusal(401, "no api key supplied")
  const [, key] = /^bearer ([\x21-\x7e]+)$/i.exec(authorization) ?? []
  if (key === undefined || !keys.has(key)) return refusal(401, documentedMessages[401])
  if (!/^application\/json(;|$)/i.test(request.headers["content-type"] ?? "")) {
    return refusal(400, "invalid content type, expected application/json")
  }
  try {
    const body = JSON.parse(request.text)
    return check(body) ?? succeed(body)
  } catch {
    return refusal(400, "invalid json syntax")
  }
}

/** Starts the double. `keys` are the API keys that it accepts. */
export const startCohereDouble = ({ keys, port }) => {
  const accepted = new Set(keys)
  return startDouble({ port, answerTo: (request) => answerTo(request, accepted) })
}

await startByHand(import.meta.url, startCohereDouble)
