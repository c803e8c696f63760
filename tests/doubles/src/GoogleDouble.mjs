/**
 * A double of background interactions of the Gemini API on a loopback socket. It checks requests as
 * strictly as the documentation allows, and answers as documented:
 * https://ai.google.dev/gemini-api/docs/omni.
 *
 * Tests of several packages share it. By hand, it runs until it is stopped:
 *
 *     node tests/doubles/src/GoogleDouble.mjs <key> [port]
 */
import { startByHand, startDouble } from "./Double.mjs"
import { makeJobs, unsafeMessage, video } from "./JobDouble.mjs"

export const googleError = (code, status, message, details = []) => ({
  status: code,
  body: { error: { code, message, status, details } }
})

export const wrongKey = googleError(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", [
  { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID", domain: "googleapis.com" }
])

const invalid = (message) => googleError(400, "INVALID_ARGUMENT", message)

/** The longest videos, and the most frames and references. */
const models = {
  "gemini-omni-1.1-flash": { seconds: 10, frames: 1, references: 3 },
  "gemini-omni-1.2-flash": { seconds: 15, frames: 2, references: 6 }
}
const fields = new Set(["model", "input", "background", "store", "response_format", "generation_config"])
const formatFields = new Set(["type", "delivery", "duration", "resolution", "aspect_ratio"])

const isPart = ({ data, mime_type, text, type }) =>
  type === "text"
    ? typeof text === "string" && text !== ""
    : type === "image" && String(mime_type).startsWith("image/") && /^[A-Za-z0-9+/]+={0,2}$/.test(data)

const problemOf = ({ background, generation_config = {}, input, model, response_format: format = {}, ...rest }) => {
  const unknown = Object.keys({ ...rest }).find((name) => !fields.has(name))
  const unknownFormat = Object.keys(format).find((name) => !formatFields.has(name))
  if (unknown !== undefined || unknownFormat !== undefined) return `Unknown name "${unknown ?? unknownFormat}"`
  if (!Object.hasOwn(models, model)) return "Model family is not supported."
  const limits = models[model]
  const parts = typeof input === "string" ? [{ type: "text", text: input }] : input
  if (!Array.isArray(parts) || parts.length === 0 || !parts.every(isPart)) return "input is invalid"
  if (background !== true) return "the double makes videos in the background only"
  if (format.type !== "video" || format.delivery !== "uri") return "response_format is invalid"
  const [, seconds] = /^(\d+)s$/.exec(format.duration ?? "5s") ?? []
  if (seconds === undefined || seconds < 3 || seconds > limits.seconds)
    return `Video duration must be from 3s to ${limits.seconds}s.`
  if (!["360p", "720p", "1080p", "4k"].includes(format.resolution ?? "720p")) return "resolution is invalid"
  if (!["16:9", "9:16"].includes(format.aspect_ratio ?? "16:9")) return "aspect_ratio is invalid"
  const { task } = generation_config.video_config ?? {}
  const images = parts.filter(({ type }) => type === "image").length
  const most = { image_to_video: limits.frames, reference_to_video: limits.references }[task] ?? 0
  if (images > most) return `the task takes at most ${most} images`
  if (["image_to_video", "reference_to_video"].includes(task) && images === 0) return "an image is required"
  return images === 2 && task === "image_to_video" && seconds > 10
    ? "Video duration must be from 3s to 10s with a last frame."
    : undefined
}

const notKnown = invalid("Invalid interaction name.")

export const startGoogleDouble = async ({ keys, polls = 2, port }) => {
  const accepted = new Set(keys)
  const jobs = makeJobs({ newId: () => `v1_${crypto.randomUUID()}`, polls })

  /** A file of the Gemini API: its download needs the key and redirects. */
  const fileUri = (job, { headers }) => `http://${headers.host}/v1beta/files/${job.id}:download?alt=media`

  const outputOf = (job, request) => {
    if (job.outcome === "empty") return { type: "text", text: "I cannot make this video." }
    return { type: "video", mime_type: "video/mp4", uri: fileUri(job, request) }
  }

  const interaction = (job, request) => {
    const base = { id: job.id, object: "interaction", model: job.input.model, created: "2026-11-22T00:00:00Z" }
    if (job.isCanceled) return { ...base, status: "cancelled" }
    if (jobs.phaseOf(job) !== "done") return { ...base, status: "in_progress" }
    if (job.outcome === "fail")
      return { ...base, status: "failed", errors: [{ code: "error", message: unsafeMessage }] }
    return {
      ...base,
      status: "completed",
      steps: [
        { type: "user_input", content: [{ type: "text", text: "a harbor" }] },
        { type: "model_output", content: [outputOf(job, request)] }
      ],
      usage: { total_input_tokens: 12, total_output_tokens: 28_960 }
    }
  }

  const submit = (request) => {
    let body
    try {
      body = JSON.parse(request.text)
    } catch {
      return invalid("Invalid JSON payload received.")
    }
    const problem = problemOf(body)
    return problem === undefined ? { body: interaction(jobs.create(body), request) } : invalid(problem)
  }

  const download = (id, request) => {
    const job = jobs.find(id)
    if (job === undefined)
      return googleError(403, "PERMISSION_DENIED", "You do not have permission to access the File.")
    // The bytes are behind a redirect, which the key must not follow.
    return { status: 302, headers: { location: jobs.link(job, request) }, body: null }
  }

  const answerTo = (request) => {
    const file = jobs.file(request)
    if (file !== undefined) return file
    const { headers, method, url } = request
    if (!accepted.has(headers["x-goog-api-key"])) return wrongKey
    const [path, query = ""] = url.split("?")
    const [, fileId] = /^\/v1beta\/files\/([\w-]+):download$/.exec(path) ?? []
    if (fileId !== undefined && query === "alt=media") return download(fileId, request)
    if (path === "/v1beta/interactions" && method === "POST") return submit(request)
    const [, id, action] = /^\/v1beta\/interactions\/([\w.-]+?)(\/cancel)?$/.exec(path) ?? []
    if (id === undefined) return googleError(404, "NOT_FOUND", "Requested entity was not found.")
    if (method === "POST" && action !== undefined) {
      const job = jobs.find(id)
      if (job === undefined) return notKnown
      if (jobs.phaseOf(job) === "done") return invalid("The interaction is not in progress.")
      job.isCanceled = true
      return { body: interaction(job, request) }
    }
    const job = method === "GET" ? jobs.poll(id) : undefined
    return job === undefined ? notKnown : { body: interaction(job, request) }
  }

  return { ...(await startDouble({ port, answerTo })), jobs, video }
}

await startByHand(import.meta.url, startGoogleDouble)
