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

const range = (min, max) => Array.from({ length: max - min + 1 }, (_, index) => index + min)
const texts = (values) => oneOf(...values.map(String))
const urls = (most) => (value) => Array.isArray(value) && value.length <= most && value.every(isUrl)

/** The fields of each family, as on the pages of its models. */
const veo = (resolutions, aspects = ["auto", "16:9", "9:16"]) => ({
  prompt: isText,
  negative_prompt: isText,
  duration: oneOf("4s", "6s", "8s"),
  resolution: oneOf(...resolutions),
  aspect_ratio: oneOf(...aspects),
  generate_audio: isBoolean,
  auto_fix: isBoolean,
  safety_tolerance: texts(range(1, 6)),
  seed: Number.isInteger
})

/** The forms of Veo 3.1 at a path. `references` is served for the full model only. */
const veoAt = (path, resolutions, hasReferences = false) => ({
  [path]: { required: ["prompt"], fields: veo(resolutions, ["16:9", "9:16"]) },
  [`${path}/image-to-video`]: {
    required: ["prompt", "image_url"],
    fields: { ...veo(resolutions), image_url: isUrl }
  },
  [`${path}/first-last-frame-to-video`]: {
    required: ["prompt", "first_frame_url", "last_frame_url"],
    fields: { ...veo(resolutions), first_frame_url: isUrl, last_frame_url: isUrl }
  },
  ...(hasReferences
    ? {
        [`${path}/reference-to-video`]: {
          required: ["prompt", "image_urls"],
          fields: { ...veo(resolutions, ["16:9", "9:16"]), duration: oneOf("8s"), image_urls: urls(3) }
        }
      }
    : {})
})

const kling = {
  prompt: isText,
  negative_prompt: isText,
  duration: texts(range(3, 15)),
  generate_audio: isBoolean,
  cfg_scale: isFraction
}

const klingAt = (path) => ({
  [`${path}/text-to-video`]: { required: [], fields: { ...kling, aspect_ratio: oneOf("16:9", "9:16", "1:1") } },
  [`${path}/image-to-video`]: {
    required: ["start_image_url"],
    fields: { ...kling, start_image_url: isUrl, end_image_url: isUrl }
  }
})

const klingTurbo = { prompt: isText, duration: texts(range(3, 15)) }

const seedance = (most, resolutions) => ({
  prompt: isText,
  duration: oneOf("auto", ...range(4, most).map(String)),
  resolution: oneOf(...resolutions),
  aspect_ratio: oneOf("auto", "21:9", "16:9", "4:3", "1:1", "3:4", "9:16"),
  generate_audio: isBoolean
})

/** Seedance 2.0 takes a seed, and 2.5 does not. */
const seedanceAt = (path, fields) => ({
  [`${path}/text-to-video`]: { required: ["prompt"], fields },
  [`${path}/image-to-video`]: {
    required: ["prompt", "image_url"],
    fields: { ...fields, aspect_ratio: oneOf("auto"), image_url: isUrl, end_image_url: isUrl }
  },
  [`${path}/reference-to-video`]: {
    required: ["prompt"],
    fields: { ...fields, image_urls: urls(9), video_urls: urls(3), audio_urls: urls(3) }
  }
})

const hailuo3 = {
  prompt: isText,
  duration: oneOf(...range(5, 15)),
  resolution: oneOf("480P", "768P", "2K", "4K"),
  prompt_expansion_mode: isText,
  enable_safety_checker: isBoolean,
  seed: Number.isInteger
}

const wan3 = {
  prompt: isText,
  duration: oneOf(...range(2, 30)),
  resolution: oneOf("480p", "720p", "1080p"),
  aspect_ratio: oneOf("adaptive", "16:9", "4:3", "1:1", "3:4", "9:16"),
  audio: isBoolean,
  enable_prompt_expansion: isBoolean,
  enable_safety_checker: isBoolean,
  enable_thinking: isBoolean,
  seed: Number.isInteger
}

const grok = {
  prompt: isText,
  duration: oneOf(...range(1, 15)),
  resolution: oneOf("480p", "720p"),
  aspect_ratio: oneOf("auto", "16:9", "4:3", "3:2", "1:1", "2:3", "3:4", "9:16")
}

/** The inputs of the models, and the fields that they require. */
const models = {
  ...veoAt("fal-ai/veo3.1", ["720p", "1080p", "4k"], true),
  ...veoAt("fal-ai/veo3.1/fast", ["720p", "1080p", "4k"]),
  ...veoAt("fal-ai/veo3.1/lite", ["720p", "1080p"]),
  ...klingAt("fal-ai/kling-video/v3/pro"),
  ...klingAt("fal-ai/kling-video/v3/standard"),
  "fal-ai/kling-video/v3/turbo/pro/text-to-video": {
    required: [],
    fields: { ...klingTurbo, aspect_ratio: oneOf("16:9", "9:16", "1:1") }
  },
  "fal-ai/kling-video/v3/turbo/pro/image-to-video": {
    required: ["image_url"],
    fields: { ...klingTurbo, image_url: isUrl }
  },
  "fal-ai/kling-video/v2.5-turbo/pro/image-to-video": {
    required: ["prompt", "image_url"],
    fields: {
      prompt: isText,
      negative_prompt: isText,
      image_url: isUrl,
      tail_image_url: isUrl,
      duration: oneOf("5", "10"),
      cfg_scale: isFraction
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
  "minimax/h3/text-to-video": {
    required: ["prompt"],
    fields: { ...hailuo3, aspect_ratio: oneOf("21:9", "16:9", "4:3", "1:1", "3:4", "9:16") }
  },
  "minimax/h3/image-to-video": {
    required: ["prompt"],
    fields: { ...hailuo3, image_url: isUrl, end_image_url: isUrl }
  },
  "minimax/h3/reference-to-video": {
    required: ["prompt"],
    fields: {
      ...hailuo3,
      aspect_ratio: oneOf("adaptive", "21:9", "16:9", "4:3", "1:1", "3:4", "9:16"),
      reference_image_urls: urls(9),
      reference_video_urls: urls(3),
      reference_audio_urls: urls(3)
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
  ...seedanceAt("bytedance/seedance-2.0", { ...seedance(15, ["480p", "720p", "1080p"]), seed: Number.isInteger }),
  ...seedanceAt("bytedance/seedance-2.0/fast", { ...seedance(15, ["480p", "720p"]), seed: Number.isInteger }),
  ...seedanceAt("bytedance/seedance-2.5", seedance(30, ["480p", "720p", "1080p"])),
  "alibaba/wan-3.0/text-to-video": { required: ["prompt"], fields: wan3 },
  "alibaba/wan-3.0/image-to-video": {
    required: ["start_image_url"],
    fields: { ...wan3, start_image_url: isUrl, end_image_url: isUrl }
  },
  "alibaba/wan-3.0/reference-to-video": {
    required: ["prompt"],
    fields: { ...wan3, reference_image_urls: urls(10), reference_audio_urls: urls(5), reference_video_urls: urls(5) }
  },
  "xai/grok-imagine-video/text-to-video": { required: ["prompt"], fields: grok },
  "xai/grok-imagine-video/image-to-video": {
    required: ["prompt", "image_url"],
    fields: { ...grok, image_url: isUrl }
  },
  "xai/grok-imagine-video/reference-to-video": {
    required: ["prompt", "reference_image_urls"],
    fields: { ...grok, duration: oneOf(...range(1, 10)), reference_image_urls: urls(7) }
  },
  "xai/grok-imagine-video/v1.5/image-to-video": {
    required: ["prompt", "image_url"],
    fields: { prompt: isText, duration: grok.duration, resolution: grok.resolution, image_url: isUrl }
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
  }
}

const errorsOf = (input, { fields, required }) => [
  ...required
    .filter((name) => input[name] === undefined)
    .map((name) => ({ loc: ["body", name], msg: "Field required", type: "missing", input })),
  ...Object.entries(input).flatMap(([name, value]) =>
    // Models ignore the fields that they do not know. A test may ask for them.
    fields[name]?.(value) === false
      ? [{ loc: ["body", name], msg: "unexpected value; permitted values differ", type: "literal_error", input: value }]
      : []
  )
]

export const startFalDouble = async ({ keys, port }) => {
  const accepted = new Set(keys)
  const jobs = makeJobs()
  const unknown = []

  /** The URLs of a job have the owner and the name of the app, and not the rest of the path. */
  const linksTo = (job, { headers }) => {
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
    unknown.push(...Object.keys(input).filter((name) => !Object.hasOwn(model.fields, name)))
    const job = Object.assign(jobs.create(input), { app, model })
    return {
      body: {
        status: "IN_QUEUE",
        request_id: job.id,
        queue_position: 0,
        logs: null,
        metrics: {},
        ...linksTo(job, request)
      }
    }
  }

  const isInvalid = (job) => errorsOf(job.input, job.model).length > 0
  const isFailed = (job) => job.outcome === "fail" || isInvalid(job)

  const status = (job, request) => {
    const common = { request_id: job.id, logs: null, ...linksTo(job, request) }
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

  return { ...(await startDouble({ port, answerTo })), jobs, unknown }
}

await startByHand(import.meta.url, startFalDouble)
