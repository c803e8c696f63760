/**
 * A double of one resource of Azure on a loopback socket: transcriptions by deployment and by
 * `/openai/v1`, and rerank of Foundry. The doubles of OpenAI and Cohere check the requests and
 * answer, as Azure has the models of both:
 * https://learn.microsoft.com/en-us/azure/foundry/openai/reference and
 * https://docs.cohere.com/docs/cohere-on-microsoft-azure. By hand:
 *
 *     node tests/doubles/src/AzureDouble.mjs <key> [port]
 */
import { answerTo as answerOfCohere } from "./CohereDouble.mjs"
import { startByHand, startDouble } from "./Double.mjs"
import { answerTo as answerOfOpenAi, fieldsOf } from "./OpenAiDouble.mjs"
import { bearerOf, objectOf } from "./words.mjs"

const refusal = (status, code, message, headers = {}) => ({ status, headers, body: { error: { code, message } } })

/** Refusals as Azure words them. */
export const documentedErrors = {
  invalidKey: refusal(
    401,
    "401",
    "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource."
  ),
  noDeployment: refusal(
    404,
    "DeploymentNotFound",
    "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again."
  ),
  noResource: refusal(404, "404", "Resource not found"),
  rateLimit: refusal(
    429,
    "RateLimitReached",
    "Your requests to whisper for whisper in Sweden Central have exceeded the call rate limit for your current pricing tier. Please retry after 3 seconds.",
    { "retry-after": "3" }
  )
}

/** The deployments of the resource: their names, and their models. */
const transcribers = {
  ears: { verbose: true },
  "ears-4o": { verbose: false, tokens: true, maxSeconds: 1400 }
}

const rerankers = { ranks: "rerank-v3.5" }

const versions = new Set(["2024-10-21", "2025-04-01-preview"])

/** Azure takes keys in `api-key`. */
const keyOf = (request) => request.headers["api-key"] ?? bearerOf(request)

const transcribe = (request, deployment, keys) => {
  const model = transcribers[deployment]
  if (model === undefined) return documentedErrors.noDeployment
  const named = fieldsOf(request)?.find(({ name }) => name === "model")?.value ?? deployment
  const path = "/v1/audio/transcriptions"
  const headers = { ...request.headers, authorization: `Bearer ${keyOf(request)}` }
  return answerOfOpenAi({ ...request, headers, url: path }, { keys, path, models: { [named]: model } })
}

const rerank = (request, keys) => {
  const body = objectOf(request)
  const model = rerankers[body?.model]
  if (model === undefined) return documentedErrors.noDeployment
  const headers = { ...request.headers, authorization: `Bearer ${keyOf(request)}` }
  return answerOfCohere({ ...request, headers, url: "/v2/rerank", text: JSON.stringify({ ...body, model }) }, keys)
}

const answerTo = (request, keys) => {
  if (!keys.has(keyOf(request))) return documentedErrors.invalidKey
  const { pathname, searchParams } = new URL(request.url, "http://double")
  if (request.method !== "POST") return documentedErrors.noResource
  if (pathname === "/providers/cohere/v2/rerank") return rerank(request, keys)
  if (pathname === "/openai/v1/audio/transcriptions") {
    const named = fieldsOf(request)?.find(({ name }) => name === "model")?.value
    return transcribe(request, named, keys)
  }
  const [, deployment] = /^\/openai\/deployments\/([^/]+)\/audio\/transcriptions$/.exec(pathname) ?? []
  return deployment === undefined || !versions.has(searchParams.get("api-version"))
    ? documentedErrors.noResource
    : transcribe(request, decodeURIComponent(deployment), keys)
}

/** Starts the double. `keys` are the API keys that it accepts. */
export const startAzureDouble = ({ keys, port }) => {
  const accepted = new Set(keys)
  return startDouble({ port, answerTo: (request) => answerTo(request, accepted) })
}

await startByHand(import.meta.url, startAzureDouble)
