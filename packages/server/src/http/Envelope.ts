/**
 * The error envelope: the wire format of every error response.
 *
 * Specification: "Error envelope".
 */
import { type Metadata, retryAfterStatuses } from "@model-gateway/core/GatewayError"
import { HttpServerResponse } from "effect/http"
import * as Routes from "./Routes.ts"
import type { RequestRecord } from "./RequestContext.ts"
import * as WireWords from "../dialect/WireWords.ts"

/** A failure as the caller sees it. */
export interface Failure {
  readonly status: number
  readonly message: string
  readonly metadata?: Metadata | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Further fields of the body. Only for routes that are not in the contract. */
  readonly fields?: Readonly<Record<string, unknown>> | undefined
}

const hasTopLevelMessage = ({ endpoint }: RequestRecord): boolean =>
  endpoint !== undefined && Routes.of(endpoint)?.topLevelMessage === true

/** The response for a failure. */
export const respond = (record: RequestRecord, failure: Failure): HttpServerResponse.HttpServerResponse => {
  const retryAfter = failure.metadata?.["retry_after"]
  const headers: Record<string, string> = { ...record.headers, ...failure.headers, "x-request-id": record.id }
  if (retryAfterStatuses.has(failure.status) && typeof retryAfter === "number") {
    headers["retry-after"] = String(Math.max(1, Math.ceil(retryAfter)))
  }
  if (failure.status === 401) headers["www-authenticate"] = "Bearer"
  return HttpServerResponse.jsonUnsafe(
    WireWords.errorOnWire(record, {
      ...failure.fields,
      ...(hasTopLevelMessage(record) ? { message: failure.message } : {}),
      error: {
        code: failure.status,
        message: failure.message,
        ...(failure.metadata === undefined ? {} : { metadata: failure.metadata })
      },
      service_metadata: { request_id: record.id },
      user_id: record.userId
    }),
    { status: failure.status, headers }
  )
}
