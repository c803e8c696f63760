/**
 * A double of ElevenLabs' speech to text on a loopback socket. It checks requests as strictly as the
 * documentation allows, and answers as documented:
 * https://elevenlabs.io/docs/api-reference/speech-to-text/convert and
 * https://help.elevenlabs.io/hc/en-us/articles/19572237925521.
 *
 * It hears what a text file says: audio of the bytes "speech: hello world" is the words "hello
 * world". By hand:
 *
 *     node tests/doubles/src/ElevenLabsDouble.mjs <key> [port]
 */
import { randomUUID } from "node:crypto"
import { startByHand, startDouble } from "./Double.mjs"
import { fieldsOf } from "./OpenAiDouble.mjs"

const error = (status, code, message) => ({ status, body: { detail: { status: code, message } } })

const issue = (name, msg, type = "value_error") => ({
  status: 422,
  body: { detail: [{ loc: ["body", name], msg, type }] }
})

export const documentedErrors = {
  invalidKey: error(401, "invalid_api_key", "Invalid API key"),
  noCredit: error(
    401,
    "quota_exceeded",
    "This request exceeds your quota of 10000. You have 12 credits remaining, while 40 credits are required for this request."
  ),
  noPermission: error(401, "missing_permissions", "The API key you used is missing the permission speech_to_text."),
  noModel: error(400, "model_not_found", "A model with model ID xyz does not exist."),
  noAudio: error(400, "invalid_file", "The file is not audio, or cannot be read."),
  tooLarge: error(413, "file_too_large", "The file exceeds the maximum size."),
  validation: issue("temperature", "Input should be less than or equal to 2", "less_than_equal"),
  concurrency: error(
    429,
    "too_many_concurrent_requests",
    "Too many concurrent requests. Your current subscription is associated with a maximum of 4 concurrent requests."
  ),
  busy: error(429, "system_busy", "We are experiencing heavy traffic."),
  server: error(500, "internal_error", "Something went wrong.")
}

const isBoolean = (value) => value === "true" || value === "false"
const isText = (value) => value !== ""
const isNumber = (min, max) => (value) => Number(value) >= min && Number(value) <= max

const known = {
  model_id: isText,
  language_code: (value) => /^[a-z]{2,3}$/.test(value),
  tag_audio_events: isBoolean,
  num_speakers: isNumber(1, 32),
  timestamps_granularity: (value) => ["none", "word", "character"].includes(value),
  diarize: isBoolean,
  diarization_threshold: isNumber(0.1, 0.4),
  temperature: isNumber(0, 2),
  seed: isNumber(0, 2_147_483_647),
  no_verbatim: isBoolean,
  use_speaker_library: isBoolean,
  detect_speaker_roles: isBoolean,
  entity_detection: isText,
  entity_redaction: isText,
  keyterms: (value) => value.length < 50 && !/[<>{}[\]\\]/.test(value),
  file: () => true
}

/** Words and the spaces between them. */
const spoken = (words, { diarize, isTimed }) =>
  words.flatMap((word, at) => {
    const speaker = diarize ? { speaker_id: `speaker_${at % 2}` } : {}
    const time = (start, end) => (isTimed ? { start, end } : {})
    const space = { text: " ", type: "spacing", ...time(at - 0.5, at), logprob: 0, ...speaker }
    return [
      ...(at === 0 ? [] : [space]),
      { text: word, type: "word", ...time(at, at + 0.5), logprob: -0.1, ...speaker }
    ]
  })

const transcribe = (fields) => {
  const one = (name) => fields.find((field) => field.name === name)?.value
  for (const { name, value } of fields) {
    if (!Object.hasOwn(known, name)) return issue(name, "Extra inputs are not permitted", "extra_forbidden")
    if (!known[name](value)) return issue(name, `Input is not valid: ${value}`)
  }
  if (one("model_id") === undefined) return issue("model_id", "Field required", "missing")
  if (one("model_id") !== "scribe_v2") return documentedErrors.noModel
  const [, said] = /^speech: (.*)$/s.exec(one("file") ?? "") ?? []
  if (said === undefined) return documentedErrors.noAudio
  const words = said.split(" ")
  return {
    body: {
      language_code: "eng",
      language_probability: 0.98,
      text: words.join(" "),
      words: spoken(words, {
        diarize: one("diarize") === "true",
        isTimed: one("timestamps_granularity") !== "none"
      }),
      transcription_id: randomUUID(),
      audio_duration_secs: words.length
    }
  }
}

const answerTo = (request, keys) => {
  const { pathname } = new URL(request.url, "http://localhost")
  if (pathname !== "/v1/speech-to-text") return { status: 404, body: { detail: "Not Found" } }
  if (request.method !== "POST") return { status: 405, body: { detail: "Method Not Allowed" } }
  if (!keys.has(request.headers["xi-api-key"])) return documentedErrors.invalidKey
  const fields = fieldsOf(request)
  return fields === undefined ? issue("file", "Field required", "missing") : transcribe(fields)
}

/** Starts the double. `keys` are the API keys that it accepts. */
export const startElevenLabsDouble = ({ keys, port }) => {
  const accepted = new Set(keys)
  return startDouble({ port, answerTo: (request) => answerTo(request, accepted) })
}

await startByHand(import.meta.url, startElevenLabsDouble)
