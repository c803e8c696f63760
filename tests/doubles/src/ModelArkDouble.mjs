/**
 * A double of the video tasks of BytePlus ModelArk on a loopback socket. It checks requests as
 * strictly as the documentation allows, and answers as documented:
 * https://docs.byteplus.com/en/docs/ModelArk/1520757 and
 * https://docs.byteplus.com/en/docs/ModelArk/1299023.
 *
 * Tests of several packages share it. By hand, it runs until it is stopped:
 *
 *     node tests/doubles/src/ModelArkDouble.mjs <key> [port]
 */
import { startByHand, startDouble } from "./Double.mjs"
import { isBoolean, isText, isUrl, makeJobs, oneOf } from "./JobDouble.mjs"
import { bearerOf, objectOf } from "./words.mjs"

const error = (status, type, code, message) => ({
  status,
  body: { error: { code, message: `${message} Request id: 021700000000`, param: "", type } }
})

const refuse = (message) => error(400, "BadRequest", "InvalidParameter", message)

export const documentedErrors = {
  sensitive: error(
    400,
    "BadRequest",
    "InputTextSensitiveContentDetected",
    "The request failed because the input text may contain sensitive information."
  ),
  invalidKey: error(401, "Unauthorized", "AuthenticationError", "The API key in the request is missing or invalid."),
  overdue: error(
    403,
    "Forbidden",
    "AccountOverdueError",
    "The request failed because your account has an overdue balance."
  ),
  notOpen: error(404, "NotFound", "ModelNotOpen", "Your account has not activated the model."),
  noTask: error(404, "NotFound", "ResourceNotFound", "The specified task is not found."),
  rateLimit: error(
    429,
    "TooManyRequests",
    "RateLimitExceeded.EndpointRPMExceeded",
    "The requests per minute limit of the endpoint is exceeded."
  ),
  server: error(500, "InternalServerError", "InternalServiceError", "The service encountered an internal error.")
}

const ratios = ["16:9", "4:3", "1:1", "3:4", "9:16", "21:9"]

/** Width and height at 16:9, of which the other ratios have about as many pixels. */
const sizes = {
  "480p": {
    "16:9": [864, 496],
    "4:3": [752, 560],
    "1:1": [640, 640],
    "3:4": [560, 752],
    "9:16": [496, 864],
    "21:9": [992, 432]
  },
  "720p": {
    "16:9": [1280, 720],
    "4:3": [1112, 834],
    "1:1": [960, 960],
    "3:4": [834, 1112],
    "9:16": [720, 1280],
    "21:9": [1470, 630]
  },
  "1080p": {
    "16:9": [1920, 1080],
    "4:3": [1664, 1248],
    "1:1": [1440, 1440],
    "3:4": [1248, 1664],
    "9:16": [1080, 1920],
    "21:9": [2206, 946]
  }
}

const seedance2 = { max: 15, images: 9, audios: 3, resolutions: ["480p", "720p"], seed: false }

const models = {
  "dreamina-seedance-2-0-260128": { ...seedance2, resolutions: ["480p", "720p", "1080p"] },
  "dreamina-seedance-2-0-fast-260128": seedance2,
  "dreamina-seedance-2-0-mini-260615": seedance2,
  "dreamina-seedance-2-5-260628": { ...seedance2, max: 30, images: 30, audios: 10 },
  "seedance-1-5-pro-251215": { max: 12, images: 0, audios: 0, resolutions: ["480p", "720p"], seed: true }
}

const isInteger = (min, max) => (value) => Number.isInteger(value) && value >= min && value <= max

const fieldsOf = ({ max, resolutions, seed }) => ({
  model: isText,
  content: Array.isArray,
  resolution: oneOf(...resolutions),
  ratio: oneOf("adaptive", ...ratios),
  duration: isInteger(4, max),
  generate_audio: isBoolean,
  watermark: isBoolean,
  return_last_frame: isBoolean,
  safety_identifier: isText,
  ...(seed ? { seed: isInteger(-1, 4_294_967_295), camera_fixed: isBoolean } : {})
})

const roleOf = ({ role, type }) => (type === "text" ? "text" : (role ?? "first_frame"))

const isItem = (item) =>
  item.type === "text"
    ? isText(item.text)
    : ["image_url", "audio_url"].includes(item.type) && isUrl(item[item.type]?.url)

const problemOf = (body) => {
  const model = models[body.model]
  if (model === undefined) return documentedErrors.notOpen
  const fields = fieldsOf(model)
  const wrong = Object.entries(body).find(([name, value]) => !Object.hasOwn(fields, name) || !fields[name](value))
  if (wrong !== undefined) return refuse(`The parameter ${wrong[0]} specified in the request is not valid.`)
  if (!Array.isArray(body.content) || body.content.length === 0 || !body.content.every(isItem))
    return refuse("The parameter content specified in the request is not valid.")
  const roles = body.content.map(roleOf)
  const count = (role) => roles.filter((each) => each === role).length
  const frames = count("first_frame") + count("last_frame")
  const references = count("reference_image") + count("reference_audio")
  if (frames > 0 && references > 0)
    return refuse("first/last frame content cannot be mixed with reference media content.")
  if (count("first_frame") > 1 || count("last_frame") > 1) return refuse("too many frames")
  if (count("last_frame") > count("first_frame")) return refuse("last_frame needs first_frame")
  if (count("reference_image") > model.images || count("reference_audio") > model.audios)
    return refuse("too many references")
  if (count("reference_audio") > 0 && count("reference_image") === 0)
    return refuse("audio cannot be the only reference.")
  return undefined
}

/** A video has one frame more than its seconds have. */
const tokensOf = ({ duration = 5, ratio = "adaptive", resolution = "720p" }) => {
  const [width, height] = sizes[resolution][ratio === "adaptive" ? "16:9" : ratio]
  return Math.round((width * height * (24 * duration + 1)) / 1024)
}

export const startModelArkDouble = async ({ keys, polls, port }) => {
  const accepted = new Set(keys)
  const jobs = makeJobs({ newId: () => `cgt-${crypto.randomUUID()}`, polls })
  const codes = []

  const submit = (request) => {
    const body = objectOf(request)
    if (body === undefined) return refuse("The body is not valid JSON.")
    return problemOf(body) ?? { body: { id: jobs.create(body).id } }
  }

  const task = (job, request) => {
    const { duration = 5, model, ratio = "adaptive", resolution = "720p" } = job.input
    const base = { id: job.id, model, created_at: 1_779_348_818, updated_at: 1_779_348_874, error: null }
    if (job.isCanceled) return { ...base, status: "cancelled" }
    if (jobs.phaseOf(job) !== "done") return { ...base, status: job.polls === 1 ? "queued" : "running" }
    if (job.outcome === "fail") {
      const code = (job.code ??= codes.shift() ?? "InternalServiceError")
      return code === "expired"
        ? { ...base, status: "expired" }
        : { ...base, status: "failed", error: { code, message: "The request failed. Request id: 021700000000" } }
    }
    const tokens = tokensOf(job.input)
    return {
      ...base,
      status: "succeeded",
      content: job.outcome === "empty" ? {} : { video_url: jobs.link(job, request) },
      usage: { completion_tokens: tokens, total_tokens: tokens },
      resolution,
      ratio: ratio === "adaptive" ? "16:9" : ratio,
      duration,
      framespersecond: 24,
      service_tier: "default",
      execution_expires_after: 172_800
    }
  }

  /** A task that waits is canceled, one that is over is deleted. */
  const remove = (id) => {
    const job = jobs.find(id)
    if (job === undefined) return documentedErrors.noTask
    const phase = jobs.phaseOf(job)
    if (phase === "running") return error(409, "Conflict", "InvalidAction.RunningTaskDeletion", "The task is running.")
    if (phase === "queued") job.isCanceled = true
    else job.outcome = "lose"
    return { body: {} }
  }

  const answerTo = (request) => {
    const file = jobs.file(request)
    if (file !== undefined) return file
    if (!accepted.has(bearerOf(request))) return documentedErrors.invalidKey
    const { method, url } = request
    const root = "/api/v3/contents/generations/tasks"
    if (url === root && method === "POST") return submit(request)
    const id = url.startsWith(`${root}/`) ? url.slice(root.length + 1) : undefined
    if (id === undefined) return error(404, "NotFound", "NotFound", "The path does not exist.")
    if (method === "DELETE") return remove(id)
    const job = method === "GET" ? jobs.poll(id) : undefined
    return job === undefined ? documentedErrors.noTask : { body: task(job, request) }
  }

  return { ...(await startDouble({ port, answerTo })), jobs, failWith: (...next) => codes.push(...next) }
}

await startByHand(import.meta.url, startModelArkDouble)
