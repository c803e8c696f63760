/** The error envelope as the service would write it. */
import type { Issue, Metadata, phrases } from "@model-gateway/core/GatewayError"

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
