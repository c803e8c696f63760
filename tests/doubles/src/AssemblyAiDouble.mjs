/**
 * A double of AssemblyAI's API for recorded audio on a loopback socket. It checks requests as
 * strictly as the documentation allows, and answers as documented:
 * https://github.com/AssemblyAI/assemblyai-api-spec.
 *
 * It hears what a text file says: audio of the bytes "speech: hello world" is the words "hello
 * world". A transcript is queued, then processing, then completed, one state for each poll. By hand:
 *
 *     node tests/doubles/src/AssemblyAiDouble.mjs <key> [port]
 */
import { randomUUID } from "node:crypto"
import { startByHand, startDouble } from "./Double.mjs"
import { objectOf } from "./words.mjs"

const error = (status, message) => ({ status, body: { error: message } })

export const documentedErrors = {
  invalidKey: error(401, "Authentication error, API token missing/invalid"),
  noCredit: error(
    400,
    "Your current account balance is negative. Please top up to continue using the API. https://www.assemblyai.com/dashboard"
  ),
  noModel: error(400, '"speech_models" must contain valid speech models: universal-3-5-pro, universal-2'),
  invalid: error(400, "language_code: value is not a supported language"),
  foreignUpload: error(403, "Cannot access uploaded file"),
  rateLimit: error(429, "Too Many Requests"),
  server: error(500, "Internal Server Error"),
  unavailable: { status: 503, body: null },
  timeout: { status: 504, body: null }
}

/** Errors of transcripts that are not billed. */
export const failedTranscripts = {
  noAudio: "Transcoding failed. File does not appear to contain audio. File type is text/plain (ASCII text).",
  noLanguage: "Language detection failed: the language xx is not supported by the model.",
  server: "Internal server error. Please try again."
}

const models = new Set(["universal-3-5-pro", "universal-2"])

/** The fields that the adapter or its tests send, each with what it may be. */
const isBoolean = (value) => typeof value === "boolean"
const known = {
  audio_url: (value) => typeof value === "string",
  speech_models: (value) => Array.isArray(value),
  language_code: (value) => /^[a-z]{2}(_[a-z]{2})?$/.test(value),
  language_detection: isBoolean,
  punctuate: isBoolean,
  format_text: isBoolean,
  disfluencies: isBoolean,
  speaker_labels: isBoolean,
  redact_pii: isBoolean,
  temperature: (value) => typeof value === "number" && value >= 0 && value <= 1
}

const spoken = (words, { speaker_labels }) =>
  words.map((word, at) => ({
    text: word,
    start: at * 1000,
    end: at * 1000 + 500,
    confidence: 0.97,
    speaker: speaker_labels === true ? "AB"[at % 2] : null
  }))

const states = ["queued", "processing", "completed"]

/** A transcript after so many polls. */
const shown = ({ audio, failure, id, params, polls }) => {
  const last = states[Math.min(polls, 2)]
  const said = /^speech: (.*)$/s.exec(audio)?.[1]
  const reason = failure ?? (said === undefined ? failedTranscripts.noAudio : undefined)
  const status = last === "completed" && reason !== undefined ? "error" : last
  const common = { id, status, audio_url: params.audio_url, webhook_auth: false, auto_highlights: false }
  if (status === "error") return { ...common, error: reason, text: null, words: null }
  if (status !== "completed") return { ...common, text: null, words: null, audio_duration: null }
  const words = said.split(" ")
  const timed = spoken(words, params)
  return {
    ...common,
    text: words.join(" "),
    words: timed,
    utterances: params.speaker_labels === true ? timed.map((word) => ({ ...word, words: [word] })) : null,
    language_code: params.language_code ?? "en",
    confidence: 0.97,
    audio_duration: words.length,
    speech_model_used: params.speech_models[0]
  }
}

const create = (params, uploads, transcripts, failures) => {
  if (params === undefined) return error(400, "Invalid JSON")
  for (const [name, value] of Object.entries(params)) {
    if (!Object.hasOwn(known, name) || !known[name](value)) return error(400, `${name}: invalid`)
  }
  if (params.audio_url === undefined) return error(400, '"audio_url" is required')
  if (params.speech_models?.every((model) => models.has(model)) !== true) return documentedErrors.noModel
  if (params.temperature !== undefined && !params.speech_models.includes("universal-3-5-pro")) {
    return error(400, "temperature: only supported by Universal-3 Pro")
  }
  const audio = uploads.get(params.audio_url)
  if (audio === undefined) return documentedErrors.foreignUpload
  const id = randomUUID()
  const transcript = { id, audio, params, polls: 0, failure: failures.shift() }
  transcripts.set(id, transcript)
  return { body: shown(transcript) }
}

const deleted = { status: "completed", text: "Deleted by user.", audio_url: "http://deleted_by_user", words: null }

const answerTo = (request, { failures, keys, transcripts, uploads }) => {
  if (!keys.has(request.headers.authorization)) return documentedErrors.invalidKey
  const { method, text, url } = request
  if (url === "/v2/upload" && method === "POST") {
    const upload_url = `https://cdn.assemblyai.com/upload/${randomUUID()}`
    uploads.set(upload_url, text)
    return { body: { upload_url } }
  }
  if (url === "/v2/transcript" && method === "POST") return create(objectOf(request), uploads, transcripts, failures)
  const id = /^\/v2\/transcript\/([\w-]+)$/.exec(url)?.[1]
  const transcript = transcripts.get(id)
  if (transcript === undefined) return error(404, "Not found")
  if (method === "DELETE") {
    transcripts.delete(id)
    uploads.delete(transcript.params.audio_url)
    return { body: { id, ...deleted } }
  }
  if (method !== "GET") return error(405, "Method Not Allowed")
  transcript.polls++
  return { body: shown(transcript) }
}

/** Starts the double. `keys` are the API keys that it accepts. */
export const startAssemblyAiDouble = async ({ keys, port }) => {
  const state = { keys: new Set(keys), uploads: new Map(), transcripts: new Map(), failures: [] }
  const double = await startDouble({ port, answerTo: (request) => answerTo(request, state) })
  return {
    ...double,
    uploads: state.uploads,
    transcripts: state.transcripts,
    fail: (...errors) => state.failures.push(...errors)
  }
}

await startByHand(import.meta.url, startAssemblyAiDouble)
