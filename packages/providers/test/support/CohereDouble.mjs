/**
 * A double of Cohere's rerank API on a loopback socket. It checks requests as strictly as the
 * documentation allows, and answers as documented: https://docs.cohere.com/reference/rerank and
 * https://docs.cohere.com/reference/errors.
 *
 * Tests of several packages share it. By hand, it runs until it is stopped:
 *
 *     node packages/providers/test/support/CohereDouble.mjs <key> [port]
 */
import { randomUUID } from "node:crypto"
import { createServer } from "node:http"
import { fileURLToPath } from "node:url"

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

const models = new Set(["rerank-v3.5"])
const fields = new Set(["model", "query", "documents", "top_n", "max_tokens_per_doc", "priority"])

/** Words and punctuation: fewer tokens than bytes, as with any tokenizer. */
const tokens = (text) => text.match(/[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu)?.map((token) => token.toLowerCase()) ?? []

/** Documents of more than 500 tokens, with the query, count once for each chunk. */
const searchUnits = ({ documents, max_tokens_per_doc = 4096, query }) => {
  const room = 500 - Math.min(tokens(query).length, 250)
  const chunks = documents.map((text) =>
    Math.max(1, Math.ceil(Math.min(tokens(text).length, max_tokens_per_doc) / room))
  )
  return Math.ceil(chunks.reduce((sum, count) => sum + count, 0) / 100)
}

/** The share of the query's words that a document has, slightly less for later documents. */
const rank = ({ documents, query, top_n }) => {
  const words = new Set(tokens(query))
  return documents
    .map((text, index) => {
      const found = new Set(tokens(text).filter((token) => words.has(token)))
      return { index, relevance_score: found.size / Math.max(1, words.size) / (1 + index / 1e6) }
    })
    .toSorted((a, b) => b.relevance_score - a.relevance_score)
    .slice(0, top_n)
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
  if (!models.has(model)) {
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
    results: rank(body),
    meta: { api_version: { version: "2" }, billed_units: { search_units: searchUnits(body) } }
  }
})

const answerTo = (request, text, keys) => {
  const [path] = (request.url ?? "").split("?")
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
    const body = JSON.parse(text)
    return check(body) ?? succeed(body)
  } catch {
    return refusal(400, "invalid json syntax")
  }
}

const write = (response, { body, headers, status = 200 }) => {
  const text = typeof body === "string" ? body : JSON.stringify(body ?? {})
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(text)
}

/** Sends bytes as fast as they are read, and counts them. */
const pour = (response, sent) => {
  const block = Buffer.alloc(65_536, 0x20)
  response.writeHead(200, { "content-type": "application/json" })
  const more = () => {
    while (!response.destroyed) {
      sent(block.length)
      if (!response.write(block)) return
    }
  }
  response.on("drain", more)
  more()
}

const faults = {
  /** Never answers. */
  hang: () => {},
  /** Closes the connection before the headers of the response. */
  cut: ({ socket }) => socket.destroy(),
  /** Closes the connection in the middle of the body. */
  cutBody: ({ response, socket }) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": "1000" })
    response.write('{"results":[', () => socket.destroy())
  },
  /** Sends the headers, and never the body. */
  hangBody: ({ response, scripted }) => {
    response.writeHead(scripted.status ?? 200, { "content-type": "application/json", ...scripted.headers })
    response.flushHeaders()
  },
  /** Sends a body without an end. */
  endless: ({ response, sent }) => pour(response, sent),
  /** Sends something other than HTTP. */
  notHttp: ({ socket }) => socket.end("SSH-2.0-OpenSSH_9.9\r\n")
}

/** Starts the double. `keys` are the API keys that it accepts. */
export const startCohereDouble = async ({ keys, port = 0 }) => {
  const accepted = new Set(keys)
  const state = { requests: [], connections: 0, bytesSent: 0 }
  let script = []
  let always
  const server = createServer((request, response) => {
    const parts = []
    request.on("data", (part) => parts.push(part))
    request.on("error", () => {})
    response.on("error", () => {})
    request.on("end", () => {
      const text = Buffer.concat(parts).toString("utf8")
      const { headers, method, socket, url } = request
      state.requests.push({ method, url, headers, text, isClosed: () => socket.destroyed })
      const scripted = script.shift() ?? always
      if (scripted?.fault !== undefined) {
        const sent = (bytes) => (state.bytesSent += bytes)
        return faults[scripted.fault]({ socket, response, scripted, sent })
      }
      write(response, scripted ?? answerTo(request, text, accepted))
    })
  })
  server.on("connection", (socket) => {
    state.connections++
    socket.on("error", () => {})
  })
  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve))
  return {
    state,
    url: `http://127.0.0.1:${server.address().port}`,
    next: (...answers) => {
      script = answers
    },
    always: (answer) => {
      always = answer
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , key = "cohere-key", port = "0"] = process.argv
  const { url } = await startCohereDouble({ keys: [key], port: Number(port) })
  process.stdout.write(`${url}\n`)
}
