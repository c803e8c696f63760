/**
 * A double of OpenAI's transcription API, and of those that copy it, on a loopback socket. It
 * checks requests as strictly as the documentation allows, and answers as documented:
 * https://platform.openai.com/docs/api-reference/audio/createTranscription and
 * https://platform.openai.com/docs/guides/error-codes.
 *
 * It hears what a text file says: audio of the bytes "speech: hello world" is the words "hello
 * world". Real audio is "…". By hand:
 *
 *     node tests/doubles/src/OpenAiDouble.mjs <key> [port]
 */
import { startByHand, startDouble } from "./Double.mjs"

const error = (status, message, { code = null, param = null, type = "invalid_request_error" } = {}) => ({
  status,
  body: { error: { message, type, param, code } }
})

export const documentedErrors = {
  invalidKey: error(
    401,
    "Incorrect API key provided: sk-proj-********************wxyz. You can find your API key at https://platform.openai.com/account/api-keys.",
    { code: "invalid_api_key" }
  ),
  noRegion: error(403, "Country, region, or territory not supported", { code: "unsupported_country_region_territory" }),
  noModel: error(404, "The model `xyz` does not exist or you do not have access to it.", { code: "model_not_found" }),
  rateLimit: error(
    429,
    "Rate limit reached for whisper-1 in organization org-AbCdEfGh12345678 on requests per min (RPM): Limit 3, Used 3, Requested 1.",
    { code: "rate_limit_exceeded", type: "requests" }
  ),
  quota: error(
    429,
    "You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
    { code: "insufficient_quota", type: "insufficient_quota" }
  ),
  server: error(500, "The server had an error while processing your request", { type: "server_error" }),
  overloaded: error(503, "The engine is currently overloaded, please try again later", { type: "server_error" }),
  tooLong: error(
    400,
    "audio duration 1830.530612 seconds is longer than 1400 seconds which is the maximum for this model",
    {
      code: "invalid_value"
    }
  ),
  tooShort: error(400, "Audio file is too short. Minimum audio length is 0.1 seconds.", { code: "audio_too_short" }),
  verbose: error(400, "response_format 'verbose_json' is not compatible with model 'gpt-4o-transcribe'", {
    code: "unsupported_value",
    param: "response_format"
  })
}

const openAi = {
  "whisper-1": { verbose: true },
  "gpt-transcribe": { verbose: false, hints: true },
  "gpt-4o-transcribe": { verbose: false, tokens: true, maxSeconds: 1400 },
  "gpt-4o-mini-transcribe": { verbose: false, tokens: true, maxSeconds: 1400 }
}

const extensions = new Set(["flac", "mp3", "mp4", "mpeg", "mpga", "m4a", "ogg", "wav", "webm"])

const maxBytes = 26_214_400

/** The parts of a form, read strictly: names in quotes, lines that end with CRLF. */
export const fieldsOf = ({ bytes, headers }) => {
  const [, boundary] = /^multipart\/form-data; ?boundary="?([^"]+)"?$/.exec(headers["content-type"] ?? "") ?? []
  if (boundary === undefined) return undefined
  const text = Buffer.from(bytes).toString("latin1")
  if (!text.endsWith(`--${boundary}--\r\n`) && !text.endsWith(`--${boundary}--`)) return undefined
  return `\r\n${text}`
    .split(`\r\n--${boundary}`)
    .slice(1, -1)
    .map((part) => {
      const end = part.indexOf("\r\n\r\n")
      const head = part.slice(0, end)
      const [, name = ""] = /\bname="([^"]*)"/i.exec(head) ?? []
      const [, filename] = /\bfilename="([^"]*)"/i.exec(head) ?? []
      return { name, filename, value: Buffer.from(part.slice(end + 4), "latin1").toString("utf8") }
    })
}

const wordsOf = (audio) => {
  const [, said] = /^speech: (.*)$/.exec(audio) ?? []
  return said === undefined ? ["…"] : said.split(" ")
}

const refuse = (message, param) => error(400, message, { param })

const known = new Set([
  "file",
  "model",
  "language",
  "prompt",
  "response_format",
  "temperature",
  "timestamp_granularities[]",
  "include[]",
  "chunking_strategy",
  "stream"
])

/** Fields of `gpt-transcribe` alone, and those that it does not take. */
const hints = new Set(["keywords[]", "languages[]"])
const noHints = new Set(["language", "temperature"])

const transcribe = (fields, models, bytes) => {
  if (bytes > maxBytes) {
    return error(413, `413: Maximum content size limit (${maxBytes}) exceeded (${bytes} bytes read)`)
  }
  const one = (name) => fields.find((field) => field.name === name)?.value
  const unknown = fields.find(({ name }) => !known.has(name) && !hints.has(name))
  if (unknown !== undefined) return refuse(`Unrecognized request argument supplied: ${unknown.name}`)
  const name = one("model")
  if (name === undefined) return refuse("you must provide a model parameter", "model")
  const model = models[name]
  if (model === undefined) return documentedErrors.noModel
  const other = fields.find((field) => (model.hints ? noHints : hints).has(field.name))
  if (other !== undefined) return refuse(`'${other.name}' is not supported with model '${name}'`, other.name)
  const file = fields.find((field) => field.name === "file")
  if (file?.filename === undefined)
    return refuse("1 validation error for Request\nbody -> file\n  field required", "file")
  if (!extensions.has(file.filename.split(".").at(-1))) {
    return refuse(
      "Unrecognized file format. Supported formats: ['flac', 'm4a', 'mp3', 'mp4', 'mpeg', 'mpga', 'oga', 'ogg', 'wav', 'webm']"
    )
  }
  const temperature = one("temperature")
  if (temperature !== undefined && !(Number(temperature) >= 0 && Number(temperature) <= 1)) {
    return refuse("temperature must be between 0 and 1", "temperature")
  }
  const languages = fields.filter((field) => /^languages?(\[\])?$/.test(field.name))
  const wrong = languages.find(({ value }) => !/^[a-z]{2}$/.test(value))
  if (wrong !== undefined) {
    return refuse(
      `Invalid language '${wrong.value}'. Language parameter must be specified in ISO-639-1 format.`,
      "language"
    )
  }
  const format = one("response_format") ?? "json"
  if (format === "verbose_json" && !model.verbose) return documentedErrors.verbose
  const granularities = fields.filter(({ name }) => name === "timestamp_granularities[]").map(({ value }) => value)
  if (granularities.length > 0 && format !== "verbose_json") {
    return refuse("timestamp_granularities are only supported with verbose_json", "timestamp_granularities")
  }
  const words = wordsOf(file.value)
  const text = words.join(" ")
  const seconds = words.length
  const usage = model.tokens
    ? {
        type: "tokens",
        input_tokens: seconds * 10,
        input_token_details: { audio_tokens: seconds * 10, text_tokens: 0 },
        output_tokens: words.length + 1,
        total_tokens: seconds * 11 + 1
      }
    : { type: "duration", seconds }
  if (format === "json") return { body: { text, ...(model.hints ? { languages: [{ code: "en" }] } : {}), usage } }
  const wantsSegments = granularities.length === 0 || granularities.includes("segment")
  return {
    body: {
      task: "transcribe",
      language: "english",
      duration: seconds,
      text,
      ...(wantsSegments
        ? {
            segments: [
              {
                id: 0,
                seek: 0,
                start: 0,
                end: seconds,
                text: ` ${text}`,
                tokens: [50364, 50414],
                temperature: Number(temperature ?? 0),
                avg_logprob: -0.25,
                compression_ratio: 0.9,
                no_speech_prob: 0.01
              }
            ]
          }
        : {}),
      ...(granularities.includes("word") ? { words: words.map((word, at) => ({ word, start: at, end: at + 1 })) } : {}),
      usage
    }
  }
}

/** The answer to a request with one of these keys at this path. */
export const answerTo = (request, { keys, models, path }) => {
  const [, key] = /^Bearer ([\x21-\x7e]+)$/.exec(request.headers.authorization ?? "") ?? []
  if (!keys.has(key)) return documentedErrors.invalidKey
  if (request.url !== path) return error(404, `Invalid URL (${request.method} ${request.url})`)
  if (request.method !== "POST") return error(405, `Not allowed to ${request.method} on ${path}.`)
  const fields = fieldsOf(request)
  if (fields === undefined) return refuse("Could not parse multipart form")
  return transcribe(fields, models, request.bytes.length)
}

/** Starts the double. `keys` are the API keys that it accepts. */
export const startOpenAiDouble = ({ keys, models = openAi, path = "/v1/audio/transcriptions", port }) => {
  const accepted = new Set(keys)
  return startDouble({ port, answerTo: (request) => answerTo(request, { keys: accepted, models, path }) })
}

await startByHand(import.meta.url, startOpenAiDouble)
