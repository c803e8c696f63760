/**
 * A double of Mistral's transcription API on a loopback socket. It checks requests as strictly as
 * the documentation allows, and answers as documented:
 * https://docs.mistral.ai/studio/audio/speech-to-text/transcribe-files and
 * https://docs.mistral.ai/resources/error-glossary.
 *
 * It hears what a text file says: audio of the bytes "speech: hello world" is the words "hello
 * world". By hand:
 *
 *     node tests/doubles/src/MistralDouble.mjs <key> [port]
 */
import { startByHand, startDouble } from "./Double.mjs"
import { fieldsOf } from "./OpenAiDouble.mjs"
import { bearerOf } from "./words.mjs"

const error = (status, message, { code = null, param = null, type = "invalid_request_error" } = {}) => ({
  status,
  body: { object: "error", message, type, param, code }
})

export const documentedErrors = {
  invalidKey: error(401, "Unauthorized", { type: "authentication_error" }),
  noPermission: error(403, "You do not have permission to access this model.", { type: "permission_error" }),
  noModel: error(400, "Invalid model: xyz", { code: "unknown_model", param: "model" }),
  tooLong: error(400, "The audio exceeds the context window of 65536 tokens"),
  noAudio: error(400, "Audio input could not be decoded", { code: "invalid_file", param: "file" }),
  validation: {
    status: 422,
    body: { detail: [{ type: "float_parsing", loc: ["body", "temperature"], msg: "Input should be a valid number" }] }
  },
  rateLimit: error(429, "Requests rate limit exceeded", { type: "rate_limit_error" }),
  server: error(500, "Internal server error", { type: "server_error" }),
  overloaded: error(503, "Service unavailable", { type: "server_error" }),
  timeout: error(504, "The request took too long", { type: "server_error" })
}

/** Voxtral 2 takes no language together with times, and has times of words. */
const models = {
  "voxtral-mini-transcribe-3-0": {},
  "voxtral-small-transcribe-3": {},
  "voxtral-mini-2602": { isOld: true }
}

const known = new Set([
  "model",
  "file",
  "language",
  "temperature",
  "stream",
  "diarize",
  "context_bias",
  "timestamp_granularities"
])

const refuse = (message, param) => error(400, message, { code: "invalid_value", param })

/** One segment a word, as if each were a sentence. */
const segmentsOf = (words, { diarize, granularities }) =>
  granularities.length === 0 && !diarize
    ? []
    : words.map((word, at) => ({
        text: ` ${word}`,
        start: at,
        end: at + 0.5,
        speaker_id: diarize ? `speaker_${1 + (at % 2)}` : null,
        type: "transcription_segment"
      }))

const transcribe = (fields) => {
  const all = (name) => fields.filter((field) => field.name === name).map(({ value }) => value)
  const [name] = all("model")
  const unknown = fields.find((field) => !known.has(field.name))
  if (unknown !== undefined) return refuse(`Extra inputs are not permitted: ${unknown.name}`, unknown.name)
  if (name === undefined) return refuse("Field required", "model")
  const model = models[name]
  if (model === undefined) return documentedErrors.noModel
  const [temperature = "0"] = all("temperature")
  if (!(Number(temperature) >= 0 && Number(temperature) <= 1)) return documentedErrors.validation
  const granularities = all("timestamp_granularities")
  const isTimed = granularities.every((each) => each === "segment" || (model.isOld && each === "word"))
  if (!isTimed) return refuse("Only segment timestamps are supported", "timestamp_granularities")
  const [language] = all("language")
  if (model.isOld && language !== undefined && granularities.length > 0) {
    return refuse("timestamp_granularities is currently not compatible with language", "language")
  }
  const [, said] = /^speech: (.*)$/s.exec(fields.find((field) => field.name === "file")?.value ?? "") ?? []
  if (said === undefined) return documentedErrors.noAudio
  const words = said.split(" ")
  return {
    body: {
      model: name,
      text: ` ${words.join(" ")}`,
      language: language ?? "en",
      segments: segmentsOf(words, { diarize: all("diarize")[0] === "true", granularities }),
      usage: {
        prompt_audio_seconds: words.length,
        prompt_tokens: 4,
        total_tokens: 4 + 2 * words.length,
        completion_tokens: 2 * words.length
      },
      finish_reason: null
    }
  }
}

const answerTo = (request, keys) => {
  if (!keys.has(bearerOf(request))) return documentedErrors.invalidKey
  if (request.url !== "/v1/audio/transcriptions") return error(404, "no Route matched with those values")
  if (request.method !== "POST") return error(405, "Method Not Allowed")
  const fields = fieldsOf(request)
  return fields === undefined ? refuse("Could not parse multipart form", null) : transcribe(fields)
}

/** Starts the double. `keys` are the API keys that it accepts. */
export const startMistralDouble = ({ keys, port }) => {
  const accepted = new Set(keys)
  return startDouble({ port, answerTo: (request) => answerTo(request, accepted) })
}

await startByHand(import.meta.url, startMistralDouble)
