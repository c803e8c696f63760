/** The error envelope as the service would write it. */
import type { Issue, Metadata } from "@model-gateway/core/GatewayError"

/** The specification's example words, with which the service's messages begin. */
export const phrases = {
  400: "invalid request parameters",
  401: "missing authentication header",
  402: "insufficient credits",
  403: "only management keys can perform this operation",
  404: "resource not found",
  413: "request payload too large",
  429: "rate limit exceeded",
  500: "internal server error",
  502: "provider returned error",
  503: "service temporarily unavailable",
  504: "the operation was aborted due to timeout",
  524: "request timed out, try again later",
  529: "provider returned error"
} as const

/** Statuses that an operation of the contract may fail with. */
export type ErrorStatus = keyof typeof phrases

/** The body of an answer that is no success. */
export const make = (
  status: number,
  message: string,
  requestId: string,
  metadata?: Metadata
): { readonly [key: string]: unknown } => ({
  error: { code: status, message, ...(metadata === undefined ? undefined : { metadata }) },
  service_metadata: { request_id: requestId },
  user_id: null
})

/** One sentence of all that is wrong with a request, with its first issue in words. */
export const summary = (issues: ReadonlyArray<Issue>): string => {
  const first = issues[0]
  if (first === undefined) return "the request does not fit"
  const more = issues.length === 1 ? "" : ` (and ${issues.length - 1} more)`
  return `${first.path === "" ? "" : `${first.path}: `}${first.message}${more}`
}
