/**
 * A double of Google Cloud on a loopback socket: access tokens of service accounts and of the
 * metadata server, the ranking API, Veo and Speech-to-Text. It checks requests as strictly as the
 * documentation allows, and answers as documented:
 * https://developers.google.com/identity/protocols/oauth2/service-account,
 * https://docs.cloud.google.com/generative-ai-app-builder/docs/ranking,
 * https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/veo-video-generation and
 * https://docs.cloud.google.com/speech-to-text/docs/reference/rest/v2/projects.locations.recognizers/recognize.
 *
 * It hears what a text file says, as the double of OpenAI does. Tests of several packages share it.
 * By hand, it runs until it is stopped, and takes the key as an access token:
 *
 *     node tests/doubles/src/VertexDouble.mjs <key> [port]
 */
import { createPublicKey, generateKeyPairSync, randomUUID, verify } from "node:crypto"
import { startByHand, startDouble } from "./Double.mjs"
import { isBoolean, makeJobs, oneOf, unsafeMessage, video } from "./JobDouble.mjs"
import { bearerOf, isCount, objectOf, rank } from "./words.mjs"

export const googleError = (code, status, message, details = []) => ({
  status: code,
  body: { error: { code, message, status, details } }
})

const invalid = (message) => googleError(400, "INVALID_ARGUMENT", message)

export const documentedErrors = {
  unauthenticated: googleError(
    401,
    "UNAUTHENTICATED",
    "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential."
  ),
  denied: googleError(403, "PERMISSION_DENIED", "Permission 'aiplatform.endpoints.predict' denied on resource."),
  noBilling: googleError(403, "PERMISSION_DENIED", "This API method requires billing to be enabled.", [
    { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "BILLING_DISABLED", domain: "googleapis.com" }
  ]),
  noModel: googleError(404, "NOT_FOUND", "Publisher Model was not found or your project does not have access to it."),
  exhausted: googleError(429, "RESOURCE_EXHAUSTED", "Quota exceeded for aiplatform.googleapis.com."),
  internal: googleError(500, "INTERNAL", "Internal error encountered.")
}

export const project = "my-project"

const google = "https://oauth2.googleapis.com/token"
const lifetime = 3599

const wordOf = (text) => {
  try {
    return JSON.parse(Buffer.from(text, "base64url").toString("utf8"))
  } catch {
    return undefined
  }
}

/** What is wrong with a claim, if anything. */
const problemOfClaim = (assertion, email, publicKey, url) => {
  const [head = "", body = "", signature = ""] = assertion.split(".")
  const header = wordOf(head)
  const claims = wordOf(body)
  const now = Date.now() / 1000
  if (header?.alg !== "RS256") return "Invalid JWT header."
  if (!verify("RSA-SHA256", Buffer.from(`${head}.${body}`), publicKey, Buffer.from(signature, "base64url")))
    return "Invalid JWT Signature."
  if (claims.iss !== email) return "Invalid grant: account not found"
  if (![`${url}/token`, google].includes(claims.aud)) return "Invalid JWT: aud"
  if (claims.scope !== "https://www.googleapis.com/auth/cloud-platform") return "Invalid scope"
  return claims.iat > now + 60 || claims.exp < now || claims.exp - claims.iat > 3600 ? "Invalid JWT: times" : undefined
}

const isInlineImage = (image) =>
  typeof image === "object" &&
  image !== null &&
  String(image.mimeType).startsWith("image/") &&
  /^[A-Za-z0-9+/]+={0,2}$/.test(image.bytesBase64Encoded)

const models = {
  "veo-3.1-generate-001": { resolutions: ["720p", "1080p", "4k"], references: 3 },
  "veo-3.1-fast-generate-001": { resolutions: ["720p", "1080p", "4k"], references: 3 },
  "veo-3.1-lite-generate-001": { resolutions: ["720p", "1080p"], references: 0 }
}

const instanceFields = new Set(["prompt", "image", "lastFrame", "referenceImages"])

const parameterFields = ({ resolutions }) => ({
  aspectRatio: oneOf("16:9", "9:16"),
  durationSeconds: oneOf(4, 6, 8),
  resolution: oneOf(...resolutions),
  generateAudio: isBoolean,
  sampleCount: oneOf(1, 2, 3, 4),
  seed: (value) => Number.isInteger(value) && value >= 0 && value <= 4_294_967_295,
  negativePrompt: (value) => typeof value === "string",
  personGeneration: oneOf("allow_adult", "dont_allow", "allow_all"),
  enhancePrompt: isBoolean,
  compressionQuality: oneOf("optimized", "lossless")
})

const problemOfVideo = (model, { instances, parameters = {}, ...rest }) => {
  const unknown = Object.keys(rest)[0]
  if (unknown !== undefined) return `Invalid JSON payload received. Unknown name "${unknown}"`
  if (!Array.isArray(instances) || instances.length !== 1) return "Exactly one instance is expected."
  const [instance] = instances
  const { image, lastFrame, prompt, referenceImages } = instance
  const wrong = Object.keys(instance).find((name) => !instanceFields.has(name))
  if (wrong !== undefined) return `Unknown name "${wrong}"`
  if (prompt === undefined && image === undefined) return "Prompt is required."
  if ([image, lastFrame].some((each) => each !== undefined && !isInlineImage(each))) return "Image is invalid."
  if (lastFrame !== undefined && image === undefined) return "lastFrame needs image."
  if (referenceImages !== undefined) {
    const isValid = (each) => each.referenceType?.toLowerCase() === "asset" && isInlineImage(each.image)
    if (image !== undefined || referenceImages.length > model.references || !referenceImages.every(isValid))
      return "referenceImages is invalid."
    if (parameters.durationSeconds !== 8) return "Reference images need a duration of 8 seconds."
  }
  const fields = parameterFields(model)
  const bad = Object.entries(parameters).find(([name, value]) => !Object.hasOwn(fields, name) || !fields[name](value))
  return bad === undefined ? undefined : `The value of ${bad[0]} is invalid.`
}

const rankers = new Set(["semantic-ranker-default-004", "semantic-ranker-fast-004", "semantic-ranker-default@latest"])

const rankRecords = ({ ignoreRecordDetailsInResponse = false, model, query, records, topN, ...rest }) => {
  const unknown = Object.keys(rest).find((name) => name !== "userLabels")
  if (unknown !== undefined) return invalid(`Invalid JSON payload received. Unknown name "${unknown}"`)
  if (!rankers.has(model)) return invalid(`Unknown model: ${model}`)
  if (typeof query !== "string" || !Array.isArray(records)) return invalid("query and records are required.")
  if (records.length === 0 || records.length > 200) return invalid("At most 200 records can be ranked.")
  if (!records.every(({ content, id }) => typeof content === "string" && content !== "" && typeof id === "string"))
    return invalid("At least one of title or content should be set.")
  if (topN !== undefined && !isCount(topN)) return invalid("topN is invalid.")
  const ranked = rank({ query, documents: records.map(({ content }) => content) })
  return {
    body: {
      records: ranked.slice(0, topN).map(({ index, relevance_score }) => ({
        ...(ignoreRecordDetailsInResponse ? { id: records[index].id } : records[index]),
        score: Math.round(relevance_score * 100) / 100
      }))
    }
  }
}

const recognize = ({ config = {}, content, ...rest }) => {
  const unknown = Object.keys(rest)[0]
  if (unknown !== undefined) return invalid(`Invalid JSON payload received. Unknown name "${unknown}"`)
  const { autoDecodingConfig, features = {}, languageCodes, model } = config
  if (model !== "chirp_2") return invalid(`The model "${model}" does not exist in the location.`)
  if (autoDecodingConfig === undefined || !Array.isArray(languageCodes) || languageCodes.length === 0)
    return invalid("config is invalid.")
  if (!languageCodes.every((code) => /^(?:auto|[a-z]{2,3}(?:-[A-Z][a-z]{3})?-[A-Z]{2})$/.test(code)))
    return invalid("languageCodes is invalid.")
  const [, said] = /^speech: (.*)$/.exec(Buffer.from(String(content), "base64").toString("utf8")) ?? []
  if (said === undefined) return invalid("Audio data does not appear to be in a supported encoding.")
  const words = said.split(" ")
  const timed = words.map((word, at) => ({
    // Google leaves out what is zero.
    ...(at === 0 ? {} : { startOffset: `${at}s` }),
    endOffset: `${at}.500s`,
    word
  }))
  return {
    body: {
      results: [
        {
          alternatives: [
            {
              transcript: words.join(" "),
              confidence: 0.9,
              ...(features.enableWordTimeOffsets === true ? { words: timed } : {})
            }
          ],
          resultEndOffset: `${words.length}s`,
          languageCode: languageCodes[0] === "auto" ? "en-us" : languageCodes[0].toLowerCase()
        }
      ],
      metadata: { totalBilledDuration: `${words.length}s` }
    }
  }
}

export const startVertexDouble = async ({ keys, polls, port }) => {
  const tokens = new Set(keys)
  const email = "gateway@my-project.iam.gserviceaccount.com"
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
  const pem = privateKey.export({ type: "pkcs8", format: "pem" })
  const jobs = makeJobs({ polls })
  const failures = []
  let url = ""

  const newToken = () => {
    const token = `ya29.${randomUUID()}`
    tokens.add(token)
    return { body: { access_token: token, expires_in: lifetime, token_type: "Bearer" } }
  }

  const grant = ({ text }) => {
    const form = new URLSearchParams(text)
    if (form.get("grant_type") !== "urn:ietf:params:oauth:grant-type:jwt-bearer")
      return { status: 400, body: { error: "unsupported_grant_type" } }
    const problem = problemOfClaim(
      form.get("assertion") ?? "",
      email,
      createPublicKey(publicKey.export({ type: "spki", format: "pem" })),
      url
    )
    return problem === undefined
      ? newToken()
      : { status: 400, body: { error: "invalid_grant", error_description: problem } }
  }

  const fromMachine = ({ headers }, path) => {
    if (headers["metadata-flavor"] !== "Google") return { status: 403, body: "Missing Metadata-Flavor:Google header." }
    if (path === "project/project-id")
      return { headers: { "content-type": "application/text", "metadata-flavor": "Google" }, body: project }
    return path === "instance/service-accounts/default/token" ? newToken() : { status: 404, body: "not found" }
  }

  const operation = (job) => {
    const { name } = job.input
    const base = { name }
    if (jobs.phaseOf(job) !== "done") return base
    if (job.outcome === "fail") {
      const failure = (job.failure ??= failures.shift() ?? { code: 3, message: unsafeMessage })
      return failure.code === "filtered"
        ? {
            ...base,
            done: true,
            response: {
              raiMediaFilteredCount: 1,
              raiMediaFilteredReasons: ["Veo could not generate the video. Support codes: 58061214"]
            }
          }
        : { ...base, done: true, error: failure }
    }
    const videos =
      job.outcome === "empty"
        ? []
        : [{ bytesBase64Encoded: Buffer.from(video).toString("base64"), mimeType: "video/mp4" }]
    return {
      ...base,
      done: true,
      response: {
        "@type": "type.googleapis.com/cloud.ai.large_models.vision.GenerateVideoResponse",
        raiMediaFilteredCount: 0,
        videos
      }
    }
  }

  const veo = (path, action, body) => {
    const name = path.split("/").at(-1)
    const model = models[name]
    if (model === undefined) return documentedErrors.noModel
    if (action === "predictLongRunning") {
      const problem = problemOfVideo(model, body)
      if (problem !== undefined) return invalid(problem)
      const job = jobs.create({ body })
      job.input.name = `${path}/operations/${job.id}`
      return { body: { name: job.input.name } }
    }
    const [, id] = /\/operations\/([\w-]+)$/.exec(body.operationName ?? "") ?? []
    if (!String(body.operationName).startsWith(`${path}/`)) return invalid("operationName is invalid.")
    const job = jobs.poll(id)
    return job === undefined ? googleError(404, "NOT_FOUND", "Operation not found.") : { body: operation(job) }
  }

  const answerTo = (request) => {
    const { method } = request
    const path = request.url.split("?")[0]
    if (path === "/token" && method === "POST") return grant(request)
    const [, machine] = /^\/computeMetadata\/v1\/(.+)$/.exec(path) ?? []
    if (machine !== undefined && method === "GET") return fromMachine(request, machine)
    if (!tokens.has(bearerOf(request))) return documentedErrors.unauthenticated
    const body = objectOf(request)
    if (method !== "POST" || body === undefined) return invalid("Invalid JSON payload received.")
    const [, resource, action] = /^\/v[12]\/(projects\/my-project\/locations\/.+):(\w+)$/.exec(path) ?? []
    if (resource === undefined) return googleError(404, "NOT_FOUND", "The requested URL was not found on this server.")
    if (path === `/v1/projects/${project}/locations/global/rankingConfigs/default_ranking_config:rank`)
      return rankRecords(body)
    if (
      /\/publishers\/google\/models\/[\w.-]+$/.test(resource) &&
      /^(?:predictLongRunning|fetchPredictOperation)$/.test(action)
    )
      return veo(resource, action, body)
    if (path.startsWith("/v2/") && resource.endsWith("/recognizers/_") && action === "recognize") return recognize(body)
    return googleError(404, "NOT_FOUND", "Method not found.")
  }

  const double = await startDouble({ port, answerTo })
  url = double.url
  return {
    ...double,
    jobs,
    failWith: (...next) => failures.push(...next),
    revoke: () => tokens.clear(),
    serviceAccount: (more = {}) => ({
      type: "service_account",
      project_id: project,
      private_key_id: "0123456789abcdef",
      private_key: pem,
      client_email: email,
      token_uri: `${url}/token`,
      ...more
    })
  }
}

await startByHand(import.meta.url, startVertexDouble)
