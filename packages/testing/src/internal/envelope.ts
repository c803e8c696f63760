/** Builds the error envelope in the same way as the service. */
import type { Issue, Metadata, phrases } from "@model-gateway/core/GatewayError"

/** The error statuses of the contract. */
export type ErrorStatus = keyof typeof phrases

/** The body of an error response. */
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

/** One sentence with the first issue and the number of the others. */
export const summary = (issues: ReadonlyArray<Issue>): string => {
  const first = issues[0]
  if (first === undefined) return "the request is invalid"
  const more = issues.length === 1 ? "" : ` (and ${issues.length - 1} more)`
  return `${first.path === "" ? "" : `${first.path}: `}${first.message}${more}`
}
