/**
 * A double of Amazon Bedrock's InvokeModel for rerank models, on a loopback socket. It recomputes
 * the signature of each request (Signature Version 4), or checks its API key, and answers as
 * documented: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html and
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html. By
 * hand, with an API key:
 *
 *     node tests/doubles/src/BedrockDouble.mjs <key> [port]
 */
import { createHash, createHmac, timingSafeEqual } from "node:crypto"
import { startByHand, startDouble } from "./Double.mjs"
import { bearerOf, isCount, objectOf, rank } from "./words.mjs"

const sha256 = (data) => createHash("sha256").update(data).digest("hex")
const hmac = (key, text) => createHmac("sha256", key).update(text).digest()

/** How long a signature is good. */
const maxAgeMillis = 5 * 60 * 1000

const refusal = (status, type, message) => ({
  status,
  headers: { "x-amzn-errortype": type, "x-amzn-requestid": "0a1b2c3d" },
  body: { message }
})

/** Refusals as AWS words them. */
export const documentedErrors = {
  wrongSignature: refusal(
    403,
    "InvalidSignatureException",
    "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details."
  ),
  wrongToken: refusal(403, "UnrecognizedClientException", "The security token included in the request is invalid."),
  wrongKey: refusal(403, "AccessDeniedException", "Authentication failed: Please make sure your API Key is valid."),
  noAccess: refusal(403, "AccessDeniedException", "You don't have access to the model with the specified model ID."),
  noModel: refusal(400, "ValidationException", "The provided model identifier is invalid."),
  throttled: refusal(429, "ThrottlingException", "Too many requests, please wait before trying again."),
  notReady: refusal(429, "ModelNotReadyException", "The model is not ready for inference"),
  timeout: refusal(408, "ModelTimeoutException", "Model has timed out in processing the request."),
  unavailable: refusal(503, "ServiceUnavailableException", "Bedrock is unable to process your request."),
  server: refusal(500, "InternalServerException", "The system encountered an unexpected error during processing.")
}

const form =
  /^AWS4-HMAC-SHA256 Credential=([A-Z0-9]+)\/(\d{8})\/([\w-]+)\/([\w-]+)\/aws4_request, ?SignedHeaders=([\w;-]+), ?Signature=([0-9a-f]{64})$/

/** A name or value as AWS encodes it in canonical requests. */
const encode = (text) =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`)

/** What is wrong with the signature, or undefined. */
const signatureIssue = ({ bytes, headers, method, url }, { keys, now, region, service }) => {
  const [, id, day, signedRegion, signedService, names = "", signature] = form.exec(headers.authorization ?? "") ?? []
  const pair = keys.find(({ accessKeyId }) => accessKeyId === id)
  if (pair === undefined || signedRegion !== region || signedService !== service) return documentedErrors.wrongToken
  if (pair.sessionToken !== headers["x-amz-security-token"]) return documentedErrors.wrongToken
  const date = headers["x-amz-date"] ?? ""
  const at = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"))
  const isFresh = date.startsWith(day) && Math.abs(now() - at) <= maxAgeMillis
  const signed = names.split(";")
  // Headers of AWS and the host have to be signed.
  const missing = ["host", ...Object.keys(headers).filter((name) => name.startsWith("x-amz-"))].some(
    (name) => !signed.includes(name)
  )
  if (!isFresh || missing) return documentedErrors.wrongSignature
  const [path, query = ""] = url.split("?")
  const canonical = [
    method,
    // All services but S3 encode the path of the request once more.
    path.split("/").map(encode).join("/"),
    [...new URLSearchParams(query)]
      .map(([name, value]) => `${encode(name)}=${encode(value)}`)
      .toSorted()
      .join("&"),
    ...signed.map((name) => `${name}:${(headers[name] ?? "").trim().replaceAll(/ +/g, " ")}`),
    "",
    names,
    sha256(bytes)
  ].join("\n")
  const scope = `${day}/${region}/${service}/aws4_request`
  const text = ["AWS4-HMAC-SHA256", date, scope, sha256(canonical)].join("\n")
  const key = [day, region, service, "aws4_request"].reduce(hmac, `AWS4${pair.secretAccessKey}`)
  const expected = hmac(key, text)
  return timingSafeEqual(expected, Buffer.from(signature, "hex")) ? undefined : documentedErrors.wrongSignature
}

const invalid = (message) => refusal(400, "ValidationException", `Malformed input request: ${message}`)

const models = {
  "cohere.rerank-v3-5:0": new Set(["query", "documents", "top_n", "api_version", "max_tokens_per_doc"]),
  "amazon.rerank-v1:0": new Set(["query", "documents", "top_n"])
}

const invoke = (id, request) => {
  const fields = models[id]
  if (fields === undefined) return documentedErrors.noModel
  const body = objectOf(request)
  if (body === undefined) return invalid("the body is not valid JSON")
  const { api_version = 1, documents, query, top_n } = body
  const unknown = Object.keys(body).find((name) => !fields.has(name))
  if (unknown !== undefined) return invalid(`#: extraneous key [${unknown}] is not permitted`)
  if (fields.has("api_version") && api_version < 2) {
    return invalid("#/api_version: 1 is not greater or equal to 2, please reformat your input and try again.")
  }
  if (typeof query !== "string" || query === "") return invalid("#/query: expected minLength: 1, actual: 0")
  if (!Array.isArray(documents) || documents.length === 0) return invalid("#/documents: expected minimum item count: 1")
  if (documents.length > 1000) return invalid("#/documents: expected maximum item count: 1000")
  if (!documents.every((each) => typeof each === "string")) return invalid("#/documents: expected type: String")
  if (top_n !== undefined && !(isCount(top_n) && top_n <= documents.length)) return invalid("#/top_n: is out of range")
  return { body: { results: rank({ query, documents }).slice(0, top_n) } }
}

/**
 * Starts the double. `keys` are the API keys that it accepts, `pairs` the access keys. `now` is its
 * clock.
 */
export const startBedrockDouble = ({ keys, now = Date.now, pairs = [], port, region = "us-west-2" }) => {
  const accepted = new Set(keys)
  const answerTo = (request) => {
    const bearer = bearerOf(request)
    if (bearer !== undefined && !accepted.has(bearer)) return documentedErrors.wrongKey
    const issue =
      bearer === undefined ? signatureIssue(request, { keys: pairs, now, region, service: "bedrock" }) : undefined
    if (issue !== undefined) return issue
    const [, id] = /^\/model\/([^/]+)\/invoke$/.exec(request.url) ?? []
    if (id === undefined) return refusal(404, "UnknownOperationException", "")
    if (request.method !== "POST") return refusal(405, "MethodNotAllowedException", "")
    return invoke(decodeURIComponent(id), request)
  }
  return startDouble({ port, answerTo })
}

await startByHand(import.meta.url, startBedrockDouble)
