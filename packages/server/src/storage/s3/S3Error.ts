/** Failures of an object store that speaks the S3 API, as an operator reads them. */
import { Data, Predicate } from "effect"

/**
 * - `missing`: no object has the key.
 * - `replaced`: the object is no longer the one that was asked for.
 * - `refused`: the credentials, the bucket or the region is wrong. A later call fails, too.
 * - `full`: the store has no room.
 * - `unavailable`: the store cannot be reached, is busy or failed. A later call may succeed.
 */
export type Reason = "missing" | "replaced" | "refused" | "full" | "unavailable"

/**
 * A failed call, after its retries. Keeps nothing of the request and the response, because both may
 * contain signatures and tokens.
 */
export class S3Error extends Data.TaggedError("S3Error")<{
  readonly reason: Reason
  /** A sentence for the operator. */
  readonly message: string
}> {}

const credentials = new Set([
  "CredentialsProviderError",
  "ExpiredToken",
  "InvalidAccessKeyId",
  "InvalidToken",
  "SignatureDoesNotMatch",
  "TokenRefreshRequired"
])
const wrongRegion = new Set(["AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "PermanentRedirect"])
const full = new Set(["ENOSPC", "QuotaExceeded", "ServiceQuotaExceeded", "XMinioStorageFull"])
const busy = new Set(["SlowDown", "ServiceUnavailable", "RequestLimitExceeded", "Throttling", "TooManyRequests"])

const textOf = (error: unknown, property: "name" | "code"): string | undefined =>
  Predicate.hasProperty(error, property) && typeof error[property] === "string" ? error[property] : undefined

const statusOf = (error: unknown): number | undefined => {
  const metadata = Predicate.hasProperty(error, "$metadata") ? error.$metadata : undefined
  const status = Predicate.hasProperty(metadata, "httpStatusCode") ? metadata.httpStatusCode : undefined
  return typeof status === "number" ? status : undefined
}

/**
 * The error of a call, from what the client threw. It does not name the bucket, because `/readyz`
 * shows it to everybody.
 */
export const fromUnknown = (error: unknown): S3Error => {
  const name = textOf(error, "name") ?? "Unknown"
  const status = statusOf(error)
  const make = (reason: Reason, message: string) => new S3Error({ reason, message })

  if (name === "NoSuchBucket") return make("refused", "The bucket of the object store does not exist.")
  if (name === "NoSuchKey" || name === "NotFound" || name === "NoSuchUpload" || status === 404) {
    return make("missing", "There is no such object.")
  }
  if (status === 412) return make("replaced", "The object was replaced while it was read.")
  if (name === "CredentialsProviderError") return make("refused", "No credentials for the object store were found.")
  if (credentials.has(name)) return make("refused", `The object store does not accept the credentials (${name}).`)
  if (wrongRegion.has(name) || status === 301) {
    return make("refused", "The bucket of the object store is in another region, or behind another endpoint.")
  }
  // Its clock differs from the store's. The client corrects that with the next call.
  if (name === "RequestTimeTooSkewed") return make("unavailable", "The clock differs from the object store's.")
  if (status === 401 || status === 403)
    return make("refused", `The object store denies access to the bucket (${name}).`)
  if (full.has(name) || status === 507) return make("full", `The object store has no room left (${name}).`)
  if (busy.has(name) || status === 503 || status === 429) {
    return make("unavailable", `The object store is busy (${status ?? name}).`)
  }
  const code = textOf(error, "code")
  if (code === "ECONNRESET" || code === "EPIPE") {
    return make("unavailable", `The connection to the object store was lost (${code}).`)
  }
  if (name === "TimeoutError" || name === "AbortError") {
    return make("unavailable", "The object store did not answer in time.")
  }
  if (status !== undefined) return make("unavailable", `The object store failed with status ${status} (${name}).`)
  return name === "Error" && Predicate.hasProperty(error, "message") && error.message === "Region is missing"
    ? make("refused", "The region of the object store is not known: add ?region=… to its URL, or set AWS_REGION.")
    : make("unavailable", `The object store cannot be reached (${code ?? name}).`)
}
