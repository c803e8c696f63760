/**
 * A double of Runway's tasks on a loopback socket. It checks requests as strictly as the
 * documentation allows, and answers as documented: https://docs.dev.runwayml.com/api/.
 *
 * Tests of several packages share it. By hand, it runs until it is stopped:
 *
 *     node tests/doubles/src/RunwayDouble.mjs <key> [port]
 */
import { startByHand, startDouble } from "./Double.mjs"
import { isBoolean, makeJobs, oneOf, unsafeMessage } from "./JobDouble.mjs"

export const documentedMessages = {
  401: "The provided API key is not valid.",
  404: "Task not found.",
  429: "You have reached the daily limit of generations for this model.",
  503: "Runway is shedding load."
}

export const emptyAccount = "You do not have enough credits to run this task."

const refusal = (status, error = documentedMessages[status]) => ({ status, body: { error } })

const isInteger = (min, max) => (value) => Number.isInteger(value) && value >= min && value <= max
const isTextOf =
  (most = 1000) =>
  (value) =>
    typeof value === "string" && value.length >= 1 && value.length <= most
const isFileOf = (type) => (value) =>
  typeof value === "string" &&
  ((/^https:\/\/[a-z]/.test(value) && value.length <= 2048) ||
    (new RegExp(`^data:${type}/[\\w+.-]+;base64,`).test(value) && value.length <= 5 * 1024 * 1024))
const isUri = isFileOf("image")
const isFrame = (...positions) => {
  const known = oneOf(...positions)
  return ({ position, uri, ...rest }) => known(position) && isUri(uri) && Object.keys(rest).length === 0
}
const isFrames =
  (...positions) =>
  (value) =>
    isUri(value) ||
    (Array.isArray(value) &&
      value.length >= 1 &&
      value.length <= positions.length &&
      value.some(({ position }) => position === "first") &&
      value.every(isFrame(...positions)))
const isModeration = (value) => typeof value === "object" && value !== null
const isReferences = (most) => (value) =>
  Array.isArray(value) && value.length >= 1 && value.length <= most && value.every(({ uri }) => isUri(uri))
const isAudios = (value) =>
  Array.isArray(value) && value.every(({ type, uri }) => type === "audio" && isFileOf("audio")(uri))

const seed = { seed: isInteger(0, 4_294_967_295) }
const allRatios = ["1280:720", "720:1280", "1104:832", "960:960", "832:1104", "1584:672"]
const gen4 = { ...seed, contentModeration: isModeration, duration: isInteger(2, 10), promptText: isTextOf() }
const gen4Image = { ...gen4, promptImage: isFrames("first"), ratio: oneOf(...allRatios) }
const veo = {
  ...seed,
  promptText: isTextOf(),
  negativePrompt: isTextOf(),
  audio: isBoolean,
  duration: oneOf(4, 6, 8),
  ratio: oneOf("1280:720", "720:1280", "1080:1920", "1920:1080")
}

const pixels480 = ["992:432", "864:496", "752:560", "640:640", "560:752", "496:864"]
const pixels720 = ["1470:630", "1280:720", "1112:834", "960:960", "834:1112", "720:1280"]
const pixels1080 = ["2206:946", "1920:1080", "1664:1248", "1440:1440", "1248:1664", "1080:1920"]
const pixels4K = ["3840:1646", "3840:2160", "3840:2880", "3840:3840", "2880:3840", "2160:3840"]
const seedance = (ratios, seconds = 15, length = 3500) => ({
  ...seed,
  promptText: isTextOf(length),
  audio: isBoolean,
  duration: (value) => value === "auto" || isInteger(4, seconds)(value),
  ratio: oneOf(...ratios),
  referenceAudio: isAudios
})

const hailuo = {
  promptText: isTextOf(Infinity),
  duration: isInteger(5, 15),
  ratio: oneOf("adaptive", "21:9", "16:9", "4:3", "1:1", "3:4", "9:16"),
  resolution: oneOf("768p", "2k"),
  referenceAudio: isAudios
}

const wanPixels = [
  "832:480 720:544 624:624 544:720 480:832",
  "1280:720 1104:832 960:960 832:1104 720:1280",
  "1920:1080 1648:1248 1440:1440 1248:1648 1080:1920"
].flatMap((row) => row.split(" "))
const wan = { promptText: isTextOf(Infinity), audio: isBoolean, duration: isInteger(2, 30), referenceAudio: isAudios }

const grok = {
  promptText: isTextOf(Infinity),
  duration: isInteger(1, 15),
  resolution: oneOf("480p", "720p", "1080p")
}

/** What a model takes from text and references, and from frames. */
const both = (fields, references, ratio = {}) => ({
  text: { fields: { ...fields, ...ratio.text, references: isReferences(references) }, required: ["promptText"] },
  image: { fields: { ...fields, ...ratio.image, promptImage: isFrames("first", "last") }, required: ["promptImage"] }
})

const wanForms = both(wan, 10, {
  text: { ratio: oneOf(...wanPixels) },
  image: { ratio: oneOf("auto_480p", "auto_720p", "auto_1080p") }
})

const models = {
  "gen4.5": {
    text: {
      fields: { ...gen4, ratio: oneOf("1280:720", "720:1280") },
      required: ["promptText", "duration", "ratio"]
    },
    image: { fields: gen4Image, required: ["promptImage", "promptText", "duration", "ratio"] },
    credits: () => 12
  },
  gen4_turbo: { image: { fields: gen4Image, required: ["promptImage", "ratio"] }, credits: () => 5 },
  "veo3.1": {
    text: { fields: veo, required: ["promptText", "ratio"] },
    image: { fields: { ...veo, promptImage: isFrames("first", "last") }, required: ["promptImage", "ratio"] },
    credits: ({ audio = true }) => (audio ? 40 : 20)
  },
  "veo3.1_fast": {
    text: { fields: veo, required: ["promptText", "ratio"] },
    image: { fields: { ...veo, promptImage: isFrames("first", "last") }, required: ["promptImage", "ratio"] },
    credits: ({ audio = true }) => (audio ? 15 : 10)
  },
  seedance2: {
    ...both(seedance([...pixels480, ...pixels720, ...pixels1080, ...pixels4K]), 9),
    credits: ({ ratio }) => (pixels4K.includes(ratio) ? 150 : pixels1080.includes(ratio) ? 40 : 36)
  },
  seedance2_fast: { ...both(seedance([...pixels480, ...pixels720]), 9), credits: () => 29 },
  seedance2_mini: { ...both(seedance([...pixels480, ...pixels720]), 9), credits: () => 16 },
  seedance2_5: {
    ...both(seedance(["854:480", "480:854", ...pixels480, ...pixels720, ...pixels1080], 30, 15_000), 30),
    credits: ({ ratio }) => (pixels1080.includes(ratio) ? 68 : pixels720.includes(ratio) ? 30 : 20)
  },
  hailuo3: {
    ...both(hailuo, 9),
    credits: ({ resolution }) => (resolution === "2k" ? 15 : 10),
    creditsForImage: 2
  },
  wan3: { ...wanForms, credits: ({ ratio }) => wanCredits(ratio, [5, 10, 20]) },
  wan3_prime: { ...wanForms, credits: ({ ratio }) => wanCredits(ratio, [6.8, 14, 28]) },
  grok_imagine_1_5: {
    text: {
      fields: {
        ...grok,
        ratio: oneOf("1:1", "16:9", "9:16", "4:3", "3:4", "3:2", "2:3"),
        references: isReferences(7),
        referenceAudio: isAudios
      },
      required: ["promptText"]
    },
    image: { fields: { ...grok, promptImage: isFrames("first") }, required: ["promptImage"] },
    credits: ({ resolution }) => ({ "480p": 10, "720p": 16, "1080p": 29 })[resolution],
    creditsForImage: 1,
    creditsForAudio: 1
  }
}

const wanCredits = (ratio, [at480, at720, at1080]) =>
  /480|544|624/.test(ratio) ? at480 : /1080|1248|1440/.test(ratio) ? at1080 : at720

const endpoints = { "/v1/text_to_video": "text", "/v1/image_to_video": "image" }

/** The final cost of a task. A duration that the model chooses is 6 seconds here. */
const creditsOf = ({ duration = 5, model, promptImage = [], referenceAudio = [], references = [], ...body }) => {
  const { credits, creditsForAudio = 0, creditsForImage = 0 } = models[model]
  const images = references.length + (Array.isArray(promptImage) ? promptImage.length : 1)
  return (
    credits(body) * (duration === "auto" ? 6 : duration) +
    creditsForImage * images +
    creditsForAudio * referenceAudio.length
  )
}

const problemOf = (path, { model, ...body }) => {
  const known = models[model]?.[endpoints[path]]
  if (known === undefined) return `model: not available at ${path}`
  const missing = known.required.find((name) => body[name] === undefined)
  if (missing !== undefined) return `${missing}: Required`
  const wrong = Object.entries(body).find(
    ([name, value]) => !Object.hasOwn(known.fields, name) || !known.fields[name](value)
  )
  if (wrong !== undefined) return `${wrong[0]}: Invalid value`
  // Of Grok Imagine 1.5: "Requests with image references are capped at 720p."
  return model === "grok_imagine_1_5" && body.references !== undefined && body.resolution === "1080p"
    ? "resolution: Invalid value"
    : undefined
}

export const startRunwayDouble = async ({ keys, polls, port }) => {
  const accepted = new Set(keys)
  const jobs = makeJobs({ polls })
  const codes = []
  const bills = []

  const task = (job, request) => {
    const credits = creditsOf(job.input)
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
    if (job.billed === undefined && bills.length > 0) job.billed = bills.shift()
    const cost = job.billed === undefined ? { cost: { credits } } : job.billed
    return { ...base, status: "SUCCEEDED", output, ...cost }
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
    return { body: { id: jobs.create(body).id, estimatedCost: { credits: creditsOf(body) } } }
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

  return {
    ...(await startDouble({ port, answerTo })),
    jobs,
    failWith: (...next) => codes.push(...next),
    billAs: (...next) => bills.push(...next)
  }
}

await startByHand(import.meta.url, startRunwayDouble)
