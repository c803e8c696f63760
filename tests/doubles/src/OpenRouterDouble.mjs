/**
 * A double of OpenRouter on a loopback socket: its lists of models, rerank, transcriptions and
 * videos. It checks requests as strictly as its SDK describes them, and answers as described:
 * https://openrouter.ai/docs/guides/overview/multimodal/stt and
 * https://openrouter.ai/docs/api/api-reference/video-generation/get-videos. It ignores an
 * `Idempotency-Key`. By hand:
 *
 *     node tests/doubles/src/OpenRouterDouble.mjs <key> [port]
 */
import { randomUUID } from "node:crypto"
import { startByHand, startDouble } from "./Double.mjs"
import { isText, makeJobs, oneOf, unsafeMessage, video } from "./JobDouble.mjs"
import { fieldsOf } from "./OpenAiDouble.mjs"
import { bearerOf, isCount, objectOf, rank, tokensOfPairs } from "./words.mjs"

/** The maximum size of a file in a form, in bytes. */
const maxFile = 25_000_000

const pricePerToken = 0.000_000_05
const pricePerSecond = 0.0001
const creditsPerSecond = { "720p": 0.1, "1080p": 0.2 }

const listed = (id, input, output, pricing) => ({
  id,
  canonical_slug: id,
  name: `Model ${id}`,
  created: 1_790_000_000,
  description: "",
  context_length: null,
  architecture: { input_modalities: input, output_modalities: [output], modality: null, tokenizer: "Other" },
  pricing: { prompt: "0", completion: "0", ...pricing },
  top_provider: { is_moderated: false },
  per_request_limits: null,
  supported_parameters: [],
  default_parameters: null,
  supported_voices: null,
  links: { details: `/api/v1/models/${id}/endpoints` }
})

const models = [
  listed("some/chat", ["text"], "text", { prompt: "0.000001", completion: "0.000002" }),
  listed("cohere/rerank-4-pro", ["text"], "rerank", { request: "0.0025" }),
  listed("vendor/rerank", ["text", "image"], "rerank", { prompt: String(pricePerToken) }),
  listed("openai/whisper-1", ["audio"], "transcription", { prompt: String(pricePerSecond) }),
  listed("vendor/video", ["text", "image"], "video", {})
]

const videoModels = [
  {
    id: "vendor/video",
    canonical_slug: "vendor/video",
    name: "Video",
    created: 1_790_000_000,
    supported_resolutions: ["720p", "1080p"],
    supported_aspect_ratios: ["16:9", "9:16"],
    supported_sizes: null,
    supported_durations: [4, 6, 8],
    supported_frame_images: ["first_frame"],
    generate_audio: false,
    seed: true,
    creativity: null,
    upscale_factor: null,
    allowed_passthrough_parameters: ["negative_prompt"],
    pricing_skus: Object.fromEntries(
      Object.entries(creditsPerSecond).map(([resolution, price]) => [`duration_seconds_${resolution}`, String(price)])
    )
  }
]

const has = (id, output) =>
  models.some((model) => model.id === id && model.architecture.output_modalities.includes(output))

const refusal = (code, message, metadata = {}) => ({
  status: code,
  body: { error: { code, message, metadata }, user_id: null, openrouter_metadata: { request_id: randomUUID() } }
})

/** The messages of refusals. */
export const documentedMessages = {
  401: "No auth credentials found",
  402: "Insufficient credits. Add more using https://openrouter.ai/settings/credits",
  404: "No endpoints found for this model"
}

const isOptions = (value) => typeof value === "object" && value !== null && !Array.isArray(value)

/** The fields of a body, each with a check. `provider` has `options` alone, except of rerank. */
const fields = {
  rerank: {
    model: isText,
    query: isText,
    documents: (value) => Array.isArray(value) && value.length > 0,
    top_n: isCount,
    provider: isOptions
  },
  transcription: {
    model: isText,
    input_audio: (value) => isText(value?.data) && isText(value.format),
    language: isText,
    temperature: Number.isFinite,
    response_format: oneOf("json", "verbose_json"),
    timestamp_granularities: Array.isArray,
    provider: (value) => isOptions(value) && Object.keys(value).every((name) => name === "options")
  },
  video: {
    model: isText,
    prompt: isText,
    duration: isCount,
    resolution: oneOf("360p", "480p", "720p", "768p", "1080p", "1K", "2K", "4K"),
    aspect_ratio: isText,
    size: isText,
    seed: Number.isSafeInteger,
    generate_audio: (value) => typeof value === "boolean",
    frame_images: Array.isArray,
    input_references: Array.isArray,
    provider: (value) => isOptions(value) && Object.keys(value).every((name) => name === "options")
  }
}

const issueOf = (kind, body) => {
  if (body === undefined) return refusal(400, "Invalid JSON")
  const wrong = Object.entries(body).find(([name, value]) => fields[kind][name]?.(value) !== true)
  if (wrong !== undefined) return refusal(400, `Invalid input: ${wrong[0]}`)
  return has(body.model, kind) ? undefined : refusal(404, documentedMessages[404])
}

const rerank = (request) => {
  const body = objectOf(request)
  const issue = issueOf("rerank", body)
  if (issue !== undefined) return issue
  const documents = body.documents.map((document) => (isText(document) ? { text: document } : document))
  const texts = documents.map(({ text = "" }) => text)
  const total_tokens = tokensOfPairs({ query: body.query, documents: texts })
  const perToken = body.model === "vendor/rerank"
  return {
    body: {
      id: `gen-rerank-${randomUUID()}`,
      model: body.model,
      provider: "Vendor",
      results: rank({ query: body.query, documents: texts })
        .slice(0, body.top_n)
        .map((result) => ({ ...result, document: documents[result.index] })),
      usage: perToken ? { total_tokens, cost: total_tokens * pricePerToken } : { search_units: 1, cost: 0.0025 }
    }
  }
}

/** Audio of the bytes "speech: hello world" is the words "hello world", one a second. */
const hear = (audio, { model, response_format, timestamp_granularities = [] }) => {
  const said = /^speech: (.*)$/.exec(audio)?.[1] ?? "…"
  const words = said.split(" ").map((word, index) => ({ word, start: index, end: index + 1, confidence: 0.9 }))
  const duration = words.length
  const verbose = {
    task: "transcribe",
    language: "english",
    duration,
    segments: [{ id: 0, start: 0, end: duration, text: said, speaker: 0 }],
    ...(timestamp_granularities.includes("word") ? { words } : {})
  }
  return {
    headers: { "x-generation-id": `gen-stt-${model}` },
    body: {
      text: said,
      usage: { seconds: duration, cost: duration * pricePerSecond },
      ...(response_format === "verbose_json" ? verbose : {})
    }
  }
}

const formFields = [
  "file",
  "model",
  "language",
  "temperature",
  "response_format",
  "timestamp_granularities[]",
  "trace",
  "user",
  "session_id"
]

const transcribeForm = (request) => {
  const parts = fieldsOf(request)
  const file = parts?.find(({ name }) => name === "file")
  if (file?.filename === undefined) return refusal(400, "Invalid input: file")
  if (Buffer.byteLength(file.value, "latin1") > maxFile) return refusal(413, "The file is larger than 25 MB")
  const unknown = parts.find(({ name }) => !formFields.includes(name))
  if (unknown !== undefined) return refusal(400, `Invalid input: ${unknown.name}`)
  const of = (name) => parts.filter((part) => part.name === name).map(({ value }) => value)
  const [model] = of("model")
  if (!has(model, "transcription")) return refusal(404, documentedMessages[404])
  return hear(file.value, {
    model,
    response_format: of("response_format")[0],
    timestamp_granularities: of("timestamp_granularities[]")
  })
}

const transcribe = (request) => {
  if (request.headers["content-type"]?.startsWith("multipart/form-data") === true) return transcribeForm(request)
  const body = objectOf(request)
  const issue = issueOf("transcription", body)
  return issue ?? hear(Buffer.from(body.input_audio.data, "base64").toString("utf8"), body)
}

/** Starts the double. `keys` are the API keys that it accepts. */
export const startOpenRouterDouble = async ({ keys, polls, port }) => {
  const accepted = new Set(keys)
  const jobs = makeJobs({ polls })

  const jobOf = (job) => {
    const base = { id: job.id, polling_url: `/api/v1/videos/${job.id}` }
    const phase = jobs.phaseOf(job)
    if (phase === "queued") return { ...base, status: "pending" }
    if (phase === "running") return { ...base, status: "in_progress", generation_id: `gen-vid-${job.id}` }
    if (job.outcome === "fail") return { ...base, status: "failed", error: unsafeMessage }
    const { duration = 4, resolution = "720p" } = job.input
    return {
      ...base,
      status: "completed",
      generation_id: `gen-vid-${job.id}`,
      unsigned_urls: job.outcome === "empty" ? [] : [`https://openrouter.ai/api/v1/videos/${job.id}/content?index=0`],
      usage: { cost: duration * creditsPerSecond[resolution], is_byok: false }
    }
  }

  const submit = (request) => {
    const body = objectOf(request)
    const issue = issueOf("video", body)
    if (issue !== undefined) return issue
    if (![undefined, 4, 6, 8].includes(body.duration)) return refusal(400, "Invalid input: duration")
    return { status: 202, body: jobOf(jobs.create(body)) }
  }

  const ofJob = (method, id, part) => {
    if (method !== "GET") return { status: 405, headers: { "content-type": "text/plain" }, body: "Method Not Allowed" }
    const job = part === undefined ? jobs.poll(id) : jobs.find(id)
    if (job === undefined) return refusal(404, "Job not found")
    if (part === undefined) return { body: jobOf(job) }
    return jobs.phaseOf(job) === "done"
      ? { headers: { "content-type": "video/mp4" }, body: video }
      : refusal(409, "The video generation job is not completed yet")
  }

  const answerTo = (request) => {
    const { method, url } = request
    if (!accepted.has(bearerOf(request))) return refusal(401, documentedMessages[401])
    const { pathname, searchParams } = new URL(url, "http://double")
    const wanted = searchParams.get("output_modalities")?.split(",") ?? ["text"]
    switch (`${method} ${pathname}`) {
      case "GET /api/v1/models": {
        const data = models.filter(({ architecture }) => wanted.includes(architecture.output_modalities[0]))
        return { body: { data, links: { next: null }, total_count: data.length } }
      }
      case "GET /api/v1/videos/models":
        return { body: { data: videoModels } }
      case "POST /api/v1/rerank":
        return rerank(request)
      case "POST /api/v1/audio/transcriptions":
        return transcribe(request)
      case "POST /api/v1/videos":
        return submit(request)
      default: {
        const [, id, part] = /^\/api\/v1\/videos\/([\w-]+)(\/content)?$/.exec(pathname) ?? []
        return id === undefined
          ? { status: 404, headers: { "content-type": "text/html" }, body: "<html>Not Found</html>" }
          : ofJob(method, id, part)
      }
    }
  }

  return { ...(await startDouble({ port, answerTo })), jobs }
}

await startByHand(import.meta.url, startOpenRouterDouble)
