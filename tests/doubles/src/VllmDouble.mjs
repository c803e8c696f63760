/**
 * A double of a server that ranks and transcribes as vLLM does, in the form of one of four:
 *
 * - `vllm`: https://github.com/vllm-project/vllm/tree/main/vllm/entrypoints
 * - `infinity`: https://github.com/michaelfeil/infinity/tree/main/libs/infinity_emb/infinity_emb
 * - `localai`: https://github.com/mudler/LocalAI/tree/master/core/http/endpoints
 * - `llamacpp`: https://github.com/ggml-org/llama.cpp/tree/master/tools/server
 *
 * Without keys it accepts every request. Audio of the bytes "speech: hello world" is the words
 * "hello world", one a second. By hand, it runs until it is stopped:
 *
 *     node tests/doubles/src/VllmDouble.mjs <key> [port]
 */
import { startByHand, startDouble } from "./Double.mjs"
import { fieldsOf } from "./OpenAiDouble.mjs"
import { bearerOf, isCount, objectOf, rank, tokens } from "./words.mjs"

/** The context of the model in tokens, and llama.cpp's physical batch. */
const maxTokens = 512

const models = { rerank: "BAAI/bge-reranker-v2-m3", transcription: "openai/whisper-large-v3" }

/** The tokens of the query with each document. */
const pairs = ({ documents, query }) => documents.map((text) => tokens(query).length + tokens(text).length)

const sum = (counts) => counts.reduce((total, count) => total + count, 0)

const usageOf = (counts) => ({ prompt_tokens: sum(counts), total_tokens: sum(counts) })

/** The logit of a probability. */
const logit = (probability) => Math.log((probability + 1e-6) / (1 - probability + 1e-6))

const asLogits = (results) =>
  results.map(({ index, relevance_score }) => ({ index, relevance_score: logit(relevance_score) }))

/** The texts that are sent, if the fields of the request have the right types. */
const isRerank = ({ documents, query }) =>
  typeof query === "string" && Array.isArray(documents) && documents.every((text) => typeof text === "string")

// Each server's way to fail

/** vLLM, as OpenAI: the type is the name of a class. */
const vllmError = (code, message, type = "BadRequestError") => ({
  status: code,
  body: { error: { message, type, param: null, code } }
})

/** Infinity: as FastAPI reports it, or in OpenAI's form. */
const infinityInvalid = (field, type, msg) => ({ status: 422, body: { detail: [{ type, loc: ["body", field], msg }] } })

const infinityError = (code, message) => ({ status: code, body: { error: { message, type: null, param: null, code } } })

const localAiError = (code, message) => ({ status: code, body: { error: { code, message, type: "" } } })

const llamaError = (code, message, type) => ({ status: code, body: { error: { code, message, type } } })

const tooLong = (count) =>
  `input (${count} tokens) is too large to process. increase the physical batch size (current batch size: ${maxTokens})`

// Each server's answer to a rerank

const rerankOf = {
  vllm: (body) => {
    const { documents, model, top_n = 0, truncate_prompt_tokens, use_activation = true } = body
    if (model !== undefined && model !== models.rerank) {
      return vllmError(404, `The model \`${model}\` does not exist.`, "NotFoundError")
    }
    const counts = pairs(body)
    const longest = Math.max(...counts)
    if (longest > maxTokens && truncate_prompt_tokens === undefined) {
      return vllmError(
        400,
        `This model's maximum context length is ${maxTokens} tokens. However, you requested 0 output tokens and your prompt contains ${longest} input tokens, for a total of ${longest} tokens. Please reduce the length of the input prompt or the number of requested output tokens.`
      )
    }
    const ranked = rank(body).slice(0, top_n > 0 ? top_n : undefined)
    const results = (use_activation ? ranked : asLogits(ranked)).map((result) => ({
      ...result,
      document: { text: documents[result.index], multi_modal: null }
    }))
    return { body: { id: "rerank-0", model: models.rerank, usage: usageOf(counts), results } }
  },
  infinity: (body) => {
    const { documents, model = "default/not-specified", query, raw_scores = false, top_n } = body
    if (documents.length === 0) {
      return infinityInvalid("documents", "too_short", "List should have at least 1 item after validation, not 0")
    }
    if (documents.length > 2048) {
      const msg = `List should have at most 2048 items after validation, not ${documents.length}`
      return infinityInvalid("documents", "too_long", msg)
    }
    if ([query, ...documents].some((text) => text.length > 122_880)) {
      return infinityInvalid("documents", "string_too_long", "String should have at most 122880 characters")
    }
    if (top_n !== undefined && !isCount(top_n)) {
      return infinityInvalid("top_n", "greater_than", "Input should be greater than 0")
    }
    if (model !== models.rerank && model !== "default/not-specified") {
      return infinityError(400, `Invalid model: ${model}`)
    }
    const results = rank(body).slice(0, top_n)
    return {
      body: {
        object: "rerank",
        results: raw_scores ? asLogits(results) : results,
        model: models.rerank,
        usage: usageOf(pairs(body).map((count) => Math.min(count, maxTokens))),
        id: "infinity-0",
        created: 1_763_942_400
      }
    }
  },
  localai: (body) => {
    const { documents, model, top_n } = body
    if (model === undefined) return localAiError(400, "Bad Request")
    if (model !== models.rerank) return localAiError(404, `Model ${model} not found`)
    if (top_n !== undefined && !isCount(top_n)) {
      return { status: 422, body: JSON.stringify("top_n - should be greater than or equal to 1") }
    }
    const longest = Math.max(...pairs(body))
    if (longest > maxTokens) {
      return localAiError(500, `rpc error: code = Internal desc = ${tooLong(longest)}`)
    }
    const results = asLogits(rank(body))
      .slice(0, top_n)
      .map((result) => ({ ...result, document: { text: documents[result.index] } }))
    // The tokens of the returned documents only.
    const counts = results.map(({ index }) => pairs(body)[index])
    return { body: { model, usage: usageOf(counts), results } }
  },
  llamacpp: (body) => {
    // It has one model, and takes any name.
    const { documents, model = "unknown", query } = body
    if (query === "") return llamaError(400, '"query" must be provided', "invalid_request_error")
    if (documents.length === 0) {
      return llamaError(400, '"documents" must be a non-empty string array', "invalid_request_error")
    }
    const counts = pairs(body)
    const longest = Math.max(...counts)
    if (longest > maxTokens) return llamaError(500, tooLong(longest), "server_error")
    // As older versions: all of them, in the order of the documents.
    const results = asLogits(rank(body)).toSorted((a, b) => a.index - b.index)
    return { body: { model, object: "list", usage: usageOf(counts), results } }
  }
}

const invalidOf = {
  vllm: () =>
    vllmError(400, "1 validation error: {'type': 'missing', 'loc': ('body', 'query'), 'msg': 'Field required'}"),
  infinity: () => infinityInvalid("query", "missing", "Field required"),
  localai: () => localAiError(400, "Bad Request"),
  llamacpp: () => llamaError(400, '"query" must be a string', "invalid_request_error")
}

// Each server's answer to a transcription

/** vLLM states the duration as text, LocalAI calls a word `text`. */
const verboseOf = {
  vllm: ({ segments, text }) => ({ duration: String(segments.length), language: "en", text, segments, words: null }),
  localai: ({ segments, text, words }) => ({
    segments: segments.map(({ end, id, start, text }) => ({ id, start, end, text, tokens: [1] })),
    ...(words === undefined ? {} : { words: words.map(({ end, start, word }) => ({ start, end, text: word })) }),
    text,
    language: "en",
    duration: segments.length
  })
}

const transcribe = (server, fields) => {
  const one = (name) => fields.find((field) => field.name === name)?.value
  const [, said = "…"] = /^speech: (.*)$/.exec(one("file") ?? "") ?? []
  const all = said.split(" ")
  const segments = all.map((text, id) => ({
    id,
    seek: 0,
    start: id,
    end: id + 1,
    text,
    tokens: [1],
    temperature: 0,
    avg_logprob: -0.25,
    compression_ratio: 1,
    no_speech_prob: null
  }))
  const format = one("response_format") ?? "json"
  if (server === "vllm" && one("model") !== models.transcription) {
    return vllmError(404, `The model \`${one("model")}\` does not exist.`, "NotFoundError")
  }
  if (server === "llamacpp") {
    if (format !== "json") {
      return llamaError(400, "Only 'json' response_format is supported for transcription", "invalid_request_error")
    }
    const usage = { type: "tokens", input_tokens: 300, output_tokens: all.length, total_tokens: 300 + all.length }
    return { body: { type: "transcript.text.done", text: said, usage } }
  }
  if (format === "verbose_json") {
    const wantsWords = fields.some(({ name, value }) => name === "timestamp_granularities[]" && value === "word")
    const words = wantsWords ? all.map((word, at) => ({ word, start: at, end: at + 1 })) : undefined
    return { body: verboseOf[server]({ segments, text: said, words }) }
  }
  return server === "vllm"
    ? { body: { text: said, usage: { type: "duration", seconds: all.length } } }
    : { body: { text: said, language: "en", duration: all.length } }
}

// Each server's paths and key

const unauthorized = {
  vllm: { status: 401, body: { error: "Unauthorized" } },
  infinity: { status: 401, body: { detail: "Unauthorized" } },
  localai: localAiError(401, "An authentication key is required"),
  llamacpp: llamaError(401, "Invalid API Key", "authentication_error")
}

const rerankPath = { vllm: "/v1/rerank", infinity: "/rerank", localai: "/v1/rerank", llamacpp: "/v1/rerank" }

const answerTo = (request, { keys, server }) => {
  if (keys.size > 0 && !keys.has(bearerOf(request))) return unauthorized[server]
  if (request.method === "POST" && request.url === rerankPath[server]) {
    const body = objectOf(request)
    return body === undefined || !isRerank(body) ? invalidOf[server]() : rerankOf[server](body)
  }
  if (request.method === "POST" && request.url === "/v1/audio/transcriptions" && server !== "infinity") {
    const fields = fieldsOf(request)
    return fields === undefined ? invalidOf[server]() : transcribe(server, fields)
  }
  return { status: 404, body: { detail: "Not Found" } }
}

/**
 * Starts the double. `keys` are the API keys that it accepts. Without any, it needs none. `server`
 * is the one whose form it has.
 */
export const startVllmDouble = ({ keys, port, server = "vllm" }) => {
  const accepted = new Set(keys)
  return startDouble({ port, answerTo: (request) => answerTo(request, { keys: accepted, server }) })
}

await startByHand(import.meta.url, startVllmDouble)
