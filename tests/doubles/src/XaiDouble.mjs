/**
 * A double of xAI's videos and of its speech to text on a loopback socket. It checks requests as
 * strictly as the documentation allows, and answers as documented:
 * https://docs.x.ai/developers/rest-api-reference/inference/videos and
 * https://docs.x.ai/developers/rest-api-reference/inference/speech-to-text.
 *
 * It hears what a text file says: audio of the bytes "speech: hello world" is the words "hello
 * world", one a second. Tests of several packages share it. By hand, it runs until it is stopped:
 *
 *     node tests/doubles/src/XaiDouble.mjs <key> [port]
 */
import { startByHand, startDouble } from "./Double.mjs"
import { isBoolean, isText, isUrl, makeJobs, oneOf, unsafeMessage } from "./JobDouble.mjs"
import { fieldsOf } from "./OpenAiDouble.mjs"
import { bearerOf, objectOf } from "./words.mjs"

const error = (status, code, message) => ({ status, body: { code, error: message } })

const refuse = (message) => error(400, "Client specified an invalid argument", message)

export const documentedErrors = {
  invalidKey: refuse("Incorrect API key provided: xa***yz. You can obtain an API key from https://console.x.ai."),
  noCredit: error(
    429,
    "Some resource has been exhausted",
    "Your team 16f2151a-40f4-4a80-8ad0-cae00c27e8dd has either used all available credits or reached its monthly spending limit. To continue making API requests, please purchase more credits or raise your spending limit."
  ),
  rateLimit: error(429, "Some resource has been exhausted", "Too many requests."),
  missing: error(
    422,
    "Unprocessable entity",
    "Failed to deserialize the JSON body into the target type: missing field `prompt`"
  ),
  noJob: error(404, "Some requested entity was not found", "The request was not found.")
}

const isInteger = (min, max) => (value) => Number.isInteger(value) && value >= min && value <= max
const isImage = (value) => typeof value === "object" && value !== null && isUrl(value.url)
const isImages = (value) => Array.isArray(value) && value.length >= 1 && value.length <= 7 && value.every(isImage)

const fields = {
  model: isText,
  prompt: (value) => isText(value) && value.length <= 4096,
  duration: isInteger(1, 15),
  resolution: oneOf("480p", "720p", "1080p"),
  aspect_ratio: oneOf("1:1", "16:9", "9:16", "4:3", "3:4", "3:2", "2:3"),
  generate_audio: isBoolean,
  image: isImage,
  last_frame: isImage,
  reference_images: isImages,
  reference_audios: Array.isArray,
  user: isText
}

/** USD a second and an image. */
const prices = {
  "grok-imagine-video": { "480p": 0.05, "720p": 0.07, image: 0.002 },
  "grok-imagine-video-1.5": { "480p": 0.08, "720p": 0.14, "1080p": 0.25, image: 0.01 }
}

const problemOf = (body) => {
  const price = prices[body.model]
  if (price === undefined) return `The model ${body.model} does not exist or your team has no access to it.`
  const wrong = Object.entries(body).find(([name, value]) => !Object.hasOwn(fields, name) || !fields[name](value))
  if (wrong !== undefined) return `${wrong[0]}: invalid value`
  if (price[body.resolution ?? "480p"] === undefined) return `resolution: not supported by ${body.model}`
  if (body.last_frame !== undefined && body.model !== "grok-imagine-video-1.5") return "last_frame: not supported"
  if (body.reference_images !== undefined && body.resolution === "1080p")
    return "resolution: at most 720p with reference_images"
  return undefined
}

const ticksOf = ({ duration = 8, image, last_frame, model, reference_images = [], resolution = "480p" }) => {
  const images = [image, last_frame].filter((value) => value !== undefined).length + reference_images.length
  const price = prices[model]
  return Math.round((price[resolution] * duration + price.image * images) * 1e10)
}

const speechFields = new Set([
  "language",
  "format",
  "diarize",
  "filler_words",
  "keyterm",
  "multichannel",
  "channels",
  "file"
])
const extensions = new Set(["wav", "mp3", "ogg", "opus", "flac", "aac", "mp4", "m4a", "mkv"])

const transcribe = (request) => {
  const form = fieldsOf(request)
  if (form === undefined) return refuse("Could not parse the multipart form.")
  const unknown = form.find(({ name }) => !speechFields.has(name))
  if (unknown !== undefined) return refuse(`Unknown field: ${unknown.name}`)
  const file = form.at(-1)
  if (file?.filename === undefined) return refuse("file must be the last field of the form.")
  if (!extensions.has(file.filename.split(".").at(-1))) return refuse("Unsupported audio format.")
  const [, said] = /^speech: (.*)$/.exec(file.value) ?? []
  if (said === undefined) return refuse("Failed to decode the audio.")
  const diarizes = form.some(({ name, value }) => name === "diarize" && value === "true")
  const words = said.split(" ")
  return {
    body: {
      text: words.join(" "),
      language: "",
      duration: words.length,
      words: words.map((text, at) => ({
        text,
        start: at,
        end: at + 0.5,
        ...(diarizes ? { speaker: Math.floor(at / 2) } : {})
      }))
    }
  }
}

export const startXaiDouble = async ({ keys, polls = 3, port }) => {
  const accepted = new Set(keys)
  const jobs = makeJobs({ polls })
  const failures = []

  const submit = (request) => {
    const body = objectOf(request)
    if (body === undefined) return refuse("The body is not valid JSON.")
    if (body.prompt === undefined) return documentedErrors.missing
    const problem = problemOf(body)
    return problem === undefined ? { body: { request_id: jobs.create(body).id } } : refuse(problem)
  }

  const read = (id, request) => {
    const job = jobs.poll(id)
    if (job === undefined) return documentedErrors.noJob
    // xAI answers without a body at first.
    if (jobs.phaseOf(job) !== "done")
      return { status: 202, body: job.polls === 1 ? null : { status: "pending", progress: 40 } }
    const { model } = job.input
    const usage = { cost_in_usd_ticks: ticksOf(job.input) }
    if (job.outcome === "fail") {
      const failure = (job.failure ??= failures.shift() ?? { code: "invalid_argument", message: unsafeMessage })
      return failure.code === "blocked"
        ? { body: { status: "done", model, usage, video: { url: "", duration: 0, respect_moderation: false } } }
        : { body: { status: failure.code === "expired" ? "expired" : "failed", model, error: failure } }
    }
    if (job.outcome === "empty") return { body: { status: "done", model, usage, video: null } }
    const { duration = 8 } = job.input
    const video = { url: jobs.link(job, request), duration, respect_moderation: true }
    return { body: { status: "done", model, progress: 100, usage, video } }
  }

  const answerTo = (request) => {
    const file = jobs.file(request)
    if (file !== undefined) return file
    if (!accepted.has(bearerOf(request))) return documentedErrors.invalidKey
    const { method, url } = request
    if (url === "/v1/stt" && method === "POST") return transcribe(request)
    if (url === "/v1/videos/generations" && method === "POST") return submit(request)
    const [, id] = /^\/v1\/videos\/([\w-]+)$/.exec(url) ?? []
    return id === undefined || method !== "GET" ? { status: 404, body: null } : read(id, request)
  }

  return { ...(await startDouble({ port, answerTo })), jobs, failWith: (...next) => failures.push(...next) }
}

await startByHand(import.meta.url, startXaiDouble)
