/**
 * A double of Runway's tasks on a loopback socket. It checks requests as strictly as the
 * documentation allows, and answers as documented: https://docs.dev.runwayml.com/api/.
 *
 * Tests of several packages share it. By hand, it runs until it is stopped:
 *
 *     node tests/doubles/src/RunwayDouble.mjs <key> [port]
 */
import { startByHand, startDouble } from "./Double.mjs"
import { makeJobs, oneOf, unsafeMessage } from "./JobDouble.mjs"

export const documentedMessages = {
  401: "The provided API key is not valid.",
  404: "Task not found.",
  429: "You have reached the daily limit of generations for this model.",
  503: "Runway is shedding load."
}

export const emptyAccount = "You do not have enough credits to run this task."

const refusal = (status, error = documentedMessages[status]) => ({ status, body: { error } })

const isInteger = (min, max) => (value) => Number.isInteger(value) && value >= min && value <= max
const isText = (value) => typeof value === "string" && value.length >= 1 && value.length <= 1000
const isUri = (value) =>
  typeof value === "string" &&
  ((/^https:\/\/[a-z]/.test(value) && value.length <= 2048) ||
    (/^data:image\/[\w+.-]+;base64,/.test(value) && value.length <= 5 * 1024 * 1024))
const isImage = (value) =>
  isUri(value) ||
  (Array.isArray(value) &&
    value.length === 1 &&
    value.every((image) => image.position === "first" && isUri(image.uri) && Object.keys(image).length === 2))
const isModeration = (value) => typeof value === "object" && value !== null

const allRatios = ["1280:720", "720:1280", "1104:832", "960:960", "832:1104", "1584:672"]
const common = { seed: isInteger(0, 4_294_967_295), contentModeration: isModeration }
const fromImage = {
  ...common,
  promptImage: isImage,
  promptText: isText,
  duration: isInteger(2, 10),
  ratio: oneOf(...allRatios)
}

/** The fields of each model at each endpoint, and those that are required. */
const endpoints = {
  "/v1/text_to_video": {
    "gen4.5": {
      fields: { ...common, promptText: isText, duration: isInteger(2, 10), ratio: oneOf("1280:720", "720:1280") },
      required: ["promptText", "duration", "ratio"]
    }
  },
  "/v1/image_to_video": {
    "gen4.5": {
      fields: fromImage,
      required: ["promptImage", "promptText", "duration", "ratio"]
    },
    gen4_turbo: {
      fields: fromImage,
      required: ["promptImage", "ratio"]
    }
  }
}

const creditsPerSecond = { "gen4.5": 12, gen4_turbo: 5 }

const problemOf = (path, { model, ...body }) => {
  const known = endpoints[path][model]
  if (known === undefined) return `model: not available at ${path}`
  const missing = known.required.find((name) => body[name] === undefined)
  if (missing !== undefined) return `${missing}: Required`
  const wrong = Object.entries(body).find(
    ([name, value]) => !Object.hasOwn(known.fields, name) || !known.fields[name](value)
  )
  return wrong === undefined ? undefined : `${wrong[0]}: Invalid value`
}

export const startRunwayDouble = async ({ keys, polls, port }) => {
  const accepted = new Set(keys)
  const jobs = makeJobs({ polls })
  const codes = []

  const task = (job, request) => {
    const { duration = 5, model } = job.input
    const credits = creditsPerSecond[model] * duration
    const base = { id: job.id, createdAt: "2026-11-22T00:00:00.000Z" }
    if (job.isCanceled) return { ...base, status: "CANCELLED", cost: { credits: 0 } }
    const phase = jobs.phaseOf(job)
    if (phase === "queued") return { ...base, status: "PENDING", estimatedCost: { credits } }
    if (phase === "running") return { ...base, status: "RUNNING", progress: 0.5, estimatedCost: { credits } }
    if (job.outcome === "fail") {
      job.code ??= codes.shift() ?? null
      const failureCode = job.code === null ? {} : { failureCode: job.code }
      return { ...base, status: "FAILED", failure: unsafeMessage, ...failureCode, cost: { credits: 0 } }
    }
    const output = job.outcome === "empty" ? [] : [jobs.link(job, request)]
    return { ...base, status: "SUCCEEDED", output, cost: { credits } }
  }

  const submit = (path, text) => {
    let body
    try {
      body = JSON.parse(text)
    } catch {
      return refusal(400, "The body of the request is not valid JSON.")
    }
    const problem = problemOf(path, body)
    if (problem !== undefined) return refusal(400, `Validation of body failed: ${problem}`)
    const { duration = 5, model } = body
    return {
      body: { id: jobs.create(body).id, estimatedCost: { credits: creditsPerSecond[model] * duration } }
    }
  }

  const answerTo = (request) => {
    const file = jobs.file(request)
    if (file !== undefined) return file
    const { headers, method, text, url } = request
    const [, key] = /^bearer ([\x21-\x7e]+)$/i.exec(headers.authorization ?? "") ?? []
    if (!accepted.has(key)) return refusal(401)
    if (headers["x-runway-version"] !== "2024-11-06") return refusal(400, "The X-Runway-Version header is not valid.")
    if (Object.hasOwn(endpoints, url)) return method === "POST" ? submit(url, text) : refusal(405, "Method not allowed")
    const [, id] = /^\/v1\/tasks\/([\w-]+)$/.exec(url) ?? []
    if (id === undefined) return refusal(404, "Not found")
    if (method === "GET") {
      const job = jobs.poll(id)
      return job === undefined ? refusal(404) : { body: task(job, request) }
    }
    if (method !== "DELETE") return refusal(405, "Method not allowed")
    const job = jobs.find(id)
    if (job === undefined) return refusal(404)
    job.isCanceled = true
    return { status: 204, body: null }
  }

  return { ...(await startDouble({ port, answerTo })), jobs, failWith: (...next) => codes.push(...next) }
}

await startByHand(import.meta.url, startRunwayDouble)
