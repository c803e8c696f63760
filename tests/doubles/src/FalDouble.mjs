/**
 * A double of fal's queue on a loopback socket. It checks requests as strictly as the documentation
 * allows, and answers as documented: https://fal.ai/docs/api-reference/inference-api and
 * https://fal.ai/docs/documentation/model-apis/errors.
 *
 * Tests of several packages share it. By hand, it runs until it is stopped:
 *
 *     node tests/doubles/src/FalDouble.mjs <key> [port]
 */
import { startByHand, startDouble } from "./Double.mjs"
import { isBoolean, isText, isUrl, makeJobs, oneOf, unsafeMessage } from "./JobDouble.mjs"

/** The messages by status. */
export const documentedMessages = {
  401: "Authentication is required to access this application. Provide a valid API key in the Authorization header.",
  403: "User is locked. Reason: Exhausted balance. Top up your balance at fal.ai/dashboard/billing.",
  404: "Application not found"
}

const refusal = (status, detail) => ({ status, body: { detail } })

const isFraction = (value) => typeof value === "number" && value >= 0 && value <= 1

/** The inputs of the models, as on their pages, and the fields that they require. */
const models = {
  "fal-ai/veo3.1": {
    required: ["prompt"],
    fields: {
      prompt: isText,
      negative_prompt: isText,
      duration: oneOf("4s", "6s", "8s"),
      resolution: oneOf("720p", "1080p", "4k"),
      aspect_ratio: oneOf("16:9", "9:16"),
      generate_audio: isBoolean,
      auto_fix: isBoolean,
      safety_tolerance: oneOf("1", "2", "3", "4", "5", "6"),
      seed: Number.isInteger
    }
  },
  "fal-ai/kling-video/v2.5-turbo/pro/image-to-video": {
    required: ["prompt", "image_url"],
    fields: {
      prompt: isText,
      negative_prompt: isText,
      image_url: isUrl,
      tail_image_url: isUrl,
      duration: oneOf("5", "10"),
      cfg_scale: (value) => typeof value === "number" && value >= 0 && value <= 1
    }
  },
  "fal-ai/minimax/hailuo-02/standard/image-to-video": {
    required: ["prompt", "image_url"],
    fields: {
      prompt: isText,
      image_url: isUrl,
      end_image_url: isUrl,
      duration: oneOf("6", "10"),
      resolution: oneOf("512P", "768P"),
      prompt_optimizer: isBoolean
    }
  },
  "fal-ai/ltx-2.3/text-to-video": {
    required: ["prompt"],
    fields: {
      prompt: isText,
      duration: oneOf(6, 8, 10),
      resolution: oneOf("1080p", "1440p", "2160p"),
      aspect_ratio: oneOf("16:9", "9:16"),
      fps: oneOf(24, 25, 48, 50),
      generate_audio: isBoolean
    }
  },
  "bytedance/seedance-2.0/reference-to-video": {
    required: ["prompt"],
    fields: {
      prompt: isText,
      image_urls: (value) => Array.isArray(value) && value.length <= 9 && value.every(isUrl),
      video_urls: (value) => Array.isArray(value) && value.length <= 3 && value.every(isUrl),
      audio_urls: (value) => Array.isArray(value) && value.length <= 3 && value.every(isUrl),
      duration: oneOf("auto", ...Array.from({ length: 12 }, (_, index) => String(index + 4))),
      resolution: oneOf("480p", "720p", "1080p"),
      aspect_ratio: oneOf("auto", "21:9", "16:9", "4:3", "1:1", "3:4", "9:16"),
      generate_audio: isBoolean,
      seed: Number.isInteger
    }
  },
  "topaz/upscale/video/creative": {
    required: ["video_url"],
    fields: {
      video_url: isUrl,
      prompt: (value) => isText(value) && value.length <= 1024,
      creativity: isFraction,
      realism: isFraction,
      sharp: isFraction,
      upscale_factor: (value) => typeof value === "number" && value >= 1 && value <= 4,
      target_fps: (value) => Number.isInteger(value) && value >= 16 && value <= 60,
      H264_output: isBoolean
    }
  },
  "fal-ai/kling-video/v3/turbo/pro/text-to-video": {
    required: [],
    fields: {
      prompt: isText,
      aspect_ratio: oneOf("16:9", "9:16", "1:1"),
      duration: oneOf(...Array.from({ length: 13 }, (_, index) => String(index + 3)))
    }
  }
}

const errorsOf = (input, { fields, required }) => [
  ...required
    .filter((name) => input[name] === undefined)
    .map((name) => ({ loc: ["body", name], msg: "Field required", type: "missing", input })),
  ...Object.entries(input).flatMap(([name, value]) =>
    // Models ignore the fields that they do not know.
    fields[name]?.(value) === false
      ? [{ loc: ["body", name], msg: "unexpected value; permitted values differ", type: "literal_error", input: value }]
      : []
  )
]

export const startFalDouble = async ({ keys, port }) => {
  const accepted = new Set(keys)
  const jobs = makeJobs()

  /** The URLs of a job have the owner and the name of the app, and not the rest of the path. */
  const urls = (job, { headers }) => {
    const base = `http://${headers.host}/${job.app}/requests/${job.id}`
    return { response_url: base, status_url: `${base}/status`, cancel_url: `${base}/cancel` }
  }

  const submit = (path, request) => {
    const model = models[path]
    if (model === undefined) return refusal(404, documentedMessages[404])
    let input
    try {
      input = JSON.parse(request.text)
    } catch {
      return refusal(400, "The request body is not valid JSON.")
    }
    const app = path.split("/").slice(0, 2).join("/")
    const job = Object.assign(jobs.create(input), { app, model })
    return {
      body: {
        status: "IN_QUEUE",
        request_id: job.id,
        queue_position: 0,
        logs: null,
        metrics: {},
        ...urls(job, request)
      }
    }
  }

  const isInvalid = (job) => errorsOf(job.input, job.model).length > 0
  const isFailed = (job) => job.outcome === "fail" || isInvalid(job)

  const status = (job, request) => {
    const common = { request_id: job.id, logs: null, ...urls(job, request) }
    if (job.isCanceled) return refusal(404, "Request not found")
    const phase = jobs.phaseOf(job)
    if (phase === "queued") return { status: 202, body: { status: "IN_QUEUE", queue_position: 1, ...common } }
    if (phase === "running") return { status: 202, body: { status: "IN_PROGRESS", ...common } }
    return { body: { status: "COMPLETED", ...common, metrics: { inference_time: 12.3 } } }
  }

  const result = (job, request) => {
    if (job.isCanceled) return refusal(404, "Request not found")
    if (jobs.phaseOf(job) !== "done") return refusal(400, "Request is still in progress")
    // The input is checked when the job runs, so that the error is the job's result.
    if (isInvalid(job)) return refusal(422, errorsOf(job.input, job.model))
    if (isFailed(job)) {
      return refusal(422, [{ loc: ["body", "prompt"], msg: unsafeMessage, type: "content_policy_violation" }])
    }
    if (job.outcome === "empty") return { body: { seed: 1 } }
    const url = jobs.link(job, request)
    return { body: { video: { url, content_type: "video/mp4", file_name: "output.mp4", file_size: 32 }, seed: 1 } }
  }

  const cancel = (job) => {
    if (jobs.phaseOf(job) === "done") return { status: 400, body: { status: "ALREADY_COMPLETED" } }
    job.isCanceled = true
    return { status: 202, body: { status: "CANCELLATION_REQUESTED" } }
  }

  const answerTo = (request) => {
    const file = jobs.file(request)
    if (file !== undefined) return file
    const [, key] = /^key ([\x21-\x7e]+)$/i.exec(request.headers.authorization ?? "") ?? []
    if (!accepted.has(key)) return refusal(401, documentedMessages[401])
    const [path] = request.url.slice(1).split("?")
    const [, app, id, action] = /^([^/]+\/[^/]+)\/requests\/([^/]+)(?:\/(status|cancel))?$/.exec(path) ?? []
    if (id === undefined) return request.method === "POST" ? submit(path, request) : refusal(405, "Method Not Allowed")
    const isPoll = action === "status"
    const job = isPoll ? jobs.poll(id) : jobs.find(id)
    if (job === undefined || job.app !== app) {
      return action === "cancel" ? { status: 404, body: { status: "NOT_FOUND" } } : refusal(404, "Request not found")
    }
    if (action === "cancel") return request.method === "PUT" ? cancel(job) : refusal(405, "Method Not Allowed")
    return isPoll ? status(job, request) : result(job, request)
  }

  return { ...(await startDouble({ port, answerTo })), jobs }
}

await startByHand(import.meta.url, startFalDouble)
