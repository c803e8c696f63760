/**
 * A double of Replicate's predictions on a loopback socket. It checks requests as strictly as the
 * documentation allows, and answers as documented: https://replicate.com/docs/reference/http.
 *
 * Tests of several packages share it. By hand, it runs until it is stopped:
 *
 *     node tests/doubles/src/ReplicateDouble.mjs <token> [port]
 */
import { randomBytes } from "node:crypto"
import { startByHand, startDouble } from "./Double.mjs"
import { isBoolean, isText, isUrl, makeJobs, oneOf, unsafeMessage } from "./JobDouble.mjs"

const refusal = (status, detail, title) => ({
  status,
  headers: { "content-type": "application/problem+json" },
  body: { ...(title === undefined ? {} : { title }), detail, status }
})

/** The messages that the documentation quotes, by status. */
export const documentedMessages = {
  401: "You did not pass a valid authentication token",
  402: "You have insufficient credit to run this model. Go to https://replicate.com/account/billing#billing to purchase credit.",
  404: "The requested resource could not be found.",
  429: "Request was throttled. Your rate limit resets in ~30s."
}

const seedance = {
  prompt: isText,
  image: isUrl,
  duration: (value) => Number.isInteger(value) && value >= 2 && value <= 12,
  resolution: oneOf("480p", "720p", "1080p"),
  aspect_ratio: oneOf("16:9", "4:3", "1:1", "3:4", "9:16", "21:9", "9:21"),
  fps: oneOf(24),
  camera_fixed: isBoolean,
  seed: Number.isInteger
}

const isSeconds = (min, max) => (value) => Number.isInteger(value) && value >= min && value <= max
const areUrls = (most) => (value) => Array.isArray(value) && value.length <= most && value.every(isUrl)

const seedance2 = {
  prompt: isText,
  image: isUrl,
  last_frame_image: isUrl,
  duration: (value) => value === -1 || isSeconds(1, 15)(value),
  resolution: oneOf("480p", "720p"),
  aspect_ratio: oneOf("16:9", "4:3", "1:1", "3:4", "9:16", "21:9", "adaptive"),
  generate_audio: isBoolean,
  reference_images: areUrls(9),
  reference_videos: areUrls(3),
  reference_audios: areUrls(3),
  seed: Number.isInteger
}

/** The inputs of the models, as on their pages. `prompt` is required, or an image alone is enough. */
const models = {
  "bytedance/seedance-2.0": seedance2,
  "bytedance/seedance-2.0-fast": seedance2,
  "kwaivgi/kling-v3-video": {
    prompt: isText,
    negative_prompt: isText,
    start_image: isUrl,
    end_image: isUrl,
    duration: isSeconds(3, 15),
    mode: oneOf("standard", "pro"),
    aspect_ratio: oneOf("16:9", "9:16", "1:1"),
    generate_audio: isBoolean
  },
  "wan-video/wan-2.7-i2v": {
    prompt: isText,
    negative_prompt: isText,
    enable_prompt_expansion: isBoolean,
    first_frame: isUrl,
    last_frame: isUrl,
    first_clip: isUrl,
    audio: isUrl,
    duration: isSeconds(2, 15),
    resolution: oneOf("720p", "1080p"),
    seed: Number.isInteger
  },
  "xai/grok-imagine-video": {
    prompt: isText,
    image: isUrl,
    video: isUrl,
    duration: isSeconds(1, 15),
    resolution: oneOf("480p", "720p"),
    aspect_ratio: oneOf("auto", "16:9", "4:3", "1:1", "9:16", "3:4", "3:2", "2:3")
  },
  "google/veo-3.1-fast": {
    prompt: isText,
    negative_prompt: isText,
    image: isUrl,
    last_frame: isUrl,
    duration: oneOf(4, 6, 8),
    resolution: oneOf("720p", "1080p"),
    aspect_ratio: oneOf("16:9", "9:16"),
    generate_audio: isBoolean,
    seed: Number.isInteger
  },
  "bytedance/seedance-1-lite": {
    ...seedance,
    last_frame_image: isUrl,
    reference_images: (value) => Array.isArray(value) && value.length <= 4 && value.every(isUrl)
  },
  "bytedance/seedance-1-pro-fast": seedance
}

/** The version of a model that is not official. */
export const version = `lucataco/animate:${"0a".repeat(32)}`

const versions = {
  [version]: models["bytedance/seedance-1-lite"],
  [version.split(":")[1]]: models["bytedance/seedance-1-lite"]
}

const invalid = (...problems) =>
  refusal(422, problems.map((problem) => `- ${problem}\n`).join(""), "Input validation failed")

const problemsOf = (input, fields) => {
  if (typeof input !== "object" || input === null) return ["input is required"]
  return [
    ...(input.prompt === undefined && fields.first_clip === undefined ? ["input: prompt is required"] : []),
    ...Object.entries(input).flatMap(([name, value]) => {
      if (!Object.hasOwn(fields, name)) return [`input: Additional property ${name} is not allowed`]
      return fields[name](value) ? [] : [`input.${name}: Does not match the schema`]
    })
  ]
}

/** Prediction ids are lower-case letters and digits. */
const newId = () => randomBytes(13).toString("hex")

export const startReplicateDouble = async ({ keys, port }) => {
  const accepted = new Set(keys)
  const jobs = makeJobs({ newId })
  const shapes = []

  const statusOf = (job) => {
    if (job.isCanceled) return "canceled"
    const phase = jobs.phaseOf(job)
    if (phase === "done") return job.outcome === "fail" ? "failed" : "succeeded"
    return phase === "queued" ? "starting" : "processing"
  }

  /** A string for official models, and a list for the others. */
  const outputOf = (job, request) => {
    if (job.outcome === "empty") return null
    const link = jobs.link(job, request)
    if (job.shape === undefined && shapes.length > 0) job.shape = shapes.shift()
    if (job.shape !== undefined) return job.shape(link)
    return Object.hasOwn(models, job.model) ? link : [link]
  }

  const prediction = (job, request) => {
    const status = statusOf(job)
    const url = `http://${request.headers.host}/v1/predictions/${job.id}`
    return {
      id: job.id,
      model: job.model,
      version: "hidden",
      input: job.input,
      logs: "",
      output: status === "succeeded" ? outputOf(job, request) : null,
      data_removed: false,
      error: status === "failed" ? unsafeMessage : null,
      status,
      created_at: "2026-11-22T00:00:00.000Z",
      urls: { get: url, cancel: `${url}/cancel`, web: `https://replicate.com/p/${job.id}` },
      metrics: {}
    }
  }

  const submit = (body, fields, model, names, request) => {
    const unknown = Object.keys(body).filter((name) => !names.has(name))
    const problems = [
      ...unknown.map((name) => `Additional property ${name} is not allowed`),
      ...problemsOf(body.input, fields)
    ]
    if (problems.length > 0) return invalid(...problems)
    const job = Object.assign(jobs.create(body.input), { model })
    return { status: 201, body: prediction(job, request) }
  }

  const optional = ["input", "webhook", "webhook_events_filter", "stream"]

  const answerTo = (request) => {
    const file = jobs.file(request)
    if (file !== undefined) return file
    const [, token] = /^bearer ([\x21-\x7e]+)$/i.exec(request.headers.authorization ?? "") ?? []
    if (!accepted.has(token)) return refusal(401, documentedMessages[401], "Unauthenticated")
    const [path] = request.url.split("?")
    const [, model] = /^\/v1\/models\/([^/]+\/[^/]+)\/predictions$/.exec(path) ?? []
    const [, id, action] = /^\/v1\/predictions\/([^/]+)(\/cancel)?$/.exec(path) ?? []
    if (request.method === "POST" && (model !== undefined || path === "/v1/predictions")) {
      let body
      try {
        body = JSON.parse(request.text)
      } catch {
        return refusal(400, "The request body is not valid JSON.", "Bad Request")
      }
      if (model !== undefined) {
        const fields = models[model]
        return fields === undefined
          ? refusal(404, documentedMessages[404])
          : submit(body, fields, model, new Set(optional), request)
      }
      if (body.version === undefined) return invalid("version is required")
      const fields = versions[body.version] ?? models[body.version]
      if (fields === undefined) return invalid("version: Invalid version or not permitted")
      return submit(body, fields, body.version, new Set(["version", ...optional]), request)
    }
    if (id !== undefined && request.method === "GET" && action === undefined) {
      const job = jobs.poll(id)
      return job === undefined ? refusal(404, "Prediction not found") : { body: prediction(job, request) }
    }
    if (id !== undefined && request.method === "POST" && action !== undefined) {
      const job = jobs.find(id)
      if (job === undefined) return refusal(404, "Prediction not found")
      if (jobs.phaseOf(job) !== "done") job.isCanceled = true
      return { body: prediction(job, request) }
    }
    return refusal(404, documentedMessages[404])
  }

  return { ...(await startDouble({ port, answerTo })), jobs, outputAs: (...next) => shapes.push(...next) }
}

await startByHand(import.meta.url, startReplicateDouble)
