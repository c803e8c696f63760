/** The error responses and the headers of the OpenAPI document. */
import * as GatewayError from "@model-gateway/core/GatewayError"
import type { Operation } from "@model-gateway/core/Operation"
import { descriptions } from "./Descriptions.ts"
import { type Node, refer } from "./JsonSchema.ts"

const text = { type: "string" } as const

/** The request id that the examples show. */
const requestId = "req_019a9c3e7d1b"

/** The headers of responses. */
export const headers: Node = {
  "x-request-id": {
    description:
      "Identifies the request in the service's logs. Quote it when you ask for support. It is also `service_metadata.request_id` of an error.",
    schema: text,
    example: requestId
  },
  RateLimit: {
    description:
      "What is left of the key's rate limit: `r` requests now, and `t` seconds until the whole quota is available again.",
    schema: text,
    example: '"default";r=59;t=1'
  },
  "RateLimit-Policy": {
    description: "The key's rate limit: `q` requests in `w` seconds.",
    schema: text,
    example: '"default";q=60;w=60'
  },
  "Retry-After": {
    description: "Seconds to wait before the next attempt. Present if the delay is known.",
    schema: { type: "integer", minimum: 1 },
    example: 2
  },
  "idempotent-replayed": {
    description:
      "`true` if this is the stored response to an earlier request with the same `Idempotency-Key`. Otherwise absent.",
    schema: { type: "string", enum: ["true"] }
  },
  "Accept-Ranges": {
    description: "`bytes`: the content can be requested in ranges.",
    schema: { type: "string", enum: ["bytes"] }
  },
  "Content-Range": {
    description: "The range that the body has, and the size of the whole content in bytes.",
    schema: text,
    example: "bytes 0-1023/146515"
  },
  ETag: { description: "Identifies the content. Send it as `If-Range` to continue a download.", schema: text }
}

export const headersOf = (...names: ReadonlyArray<string>): Node =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

/** A parameter that asks for a range of bytes. */
export const rangeParameters: ReadonlyArray<Node> = [
  {
    name: "Range",
    in: "header",
    description: "One range of bytes to return, such as `bytes=0-1023`. Default: the whole content.",
    required: false,
    schema: text
  },
  {
    name: "If-Range",
    in: "header",
    description:
      "An `ETag`. The range is returned only if it is still that of the content; otherwise the whole content.",
    required: false,
    schema: text
  }
]

/** What the service puts into `error.metadata`, by status. */
const providerDetails: Node = {
  provider: { ...text, description: "The provider that failed last." },
  attempts: {
    type: "array",
    description: "The attempts at providers, in the order in which they were made.",
    items: refer("ProviderAttempt")
  }
}

const retryAfter: Node = {
  retry_after: {
    type: "number",
    minimum: 0,
    description: "Seconds to wait before the next attempt, as in the `Retry-After` header."
  }
}

const metadata: { readonly [status: number]: Node } = {
  400: {
    issues: { type: "array", description: "The invalid fields, at most 20.", items: refer("Issue") },
    issues_truncated: { type: "boolean", description: "True if there are more issues than listed." }
  },
  429: retryAfter,
  502: providerDetails,
  503: retryAfter,
  524: providerDetails,
  529: { ...providerDetails, ...retryAfter }
}

const details: { readonly [status: number]: Node } = {
  400: { issues: [{ path: "model", message: "Required" }] },
  429: { retry_after: 2 },
  503: { retry_after: 5 },
  529: { provider: "cohere", retry_after: 5 }
}

interface ErrorResponse {
  readonly name: string
  readonly description: string
  readonly status: number
  readonly phrase: string
  /** Whether the message is at the top level too. */
  readonly hasTopLevelMessage: boolean
}

/** The comment of the error's class without the number that it begins with. */
const descriptionOf = (name: string): string => {
  const described = (descriptions[`GatewayError.${name}`] ?? name).replace(/^\d{3}: /, "")
  return described.charAt(0).toUpperCase() + described.slice(1)
}

const errors: ReadonlyArray<ErrorResponse> = Object.entries(GatewayError.phrases).flatMap(([code, phrase]) => {
  const status = Number(code)
  const found = Object.entries(GatewayError).find(
    ([, value]) => typeof value === "function" && "ast" in value && GatewayError.statusOf(value) === status
  )
  if (found === undefined) return []
  const [name] = found
  return [{ name, description: descriptionOf(name), status, phrase, hasTopLevelMessage: false }]
})

const withTopLevelMessage = (error: ErrorResponse): ErrorResponse => ({
  ...error,
  name: `${error.name}WithMessage`,
  hasTopLevelMessage: true
})

/** The error of an operation for a status. Undefined for a status of success. */
const errorOf = (status: number, { topLevelMessage }: Operation): ErrorResponse | undefined => {
  const error = errors.find((each) => each.status === status)
  return error !== undefined && topLevelMessage === true ? withTopLevelMessage(error) : error
}

/** The response of an operation for the status of an error. Undefined for a status of success. */
export const errorReferenceOf = (status: number, operation: Operation): Node | undefined => {
  const error = errorOf(status, operation)
  return error && { $ref: `#/components/responses/${error.name}` }
}

const envelopeOf = (error: ErrorResponse): Node => ({
  type: "object",
  description: error.description,
  properties: {
    ...(error.hasTopLevelMessage ? { message: { ...text, description: "The same as `error.message`." } } : {}),
    error: {
      type: "object",
      description: "What went wrong.",
      properties: {
        code: { type: "integer", enum: [error.status], description: "The HTTP status." },
        message: { ...text, description: "For people. The words may change." },
        metadata: {
          type: ["object", "null"],
          description: "Details for programs. Other keys may be added.",
          ...(metadata[error.status] === undefined ? {} : { properties: metadata[error.status] }),
          additionalProperties: true
        }
      },
      required: ["code", "message"]
    },
    service_metadata: {
      type: ["object", "null"],
      description: "About the request.",
      properties: { request_id: { ...text, description: "Quote it when you ask for support." } },
      additionalProperties: true
    },
    user_id: {
      type: ["string", "null"],
      description: "The creator of the key. Null before authentication, and for a key without a creator."
    }
  },
  required: error.hasTopLevelMessage ? ["message", "error"] : ["error"]
})

const responseOf = ({ description, hasTopLevelMessage, name, phrase, status }: ErrorResponse): Node => ({
  description,
  headers: headersOf(
    "x-request-id",
    ...(GatewayError.retryAfterStatuses.has(status) ? ["Retry-After"] : []),
    ...(status === 429 ? ["RateLimit", "RateLimit-Policy"] : [])
  ),
  content: {
    "application/json": {
      schema: refer(name),
      example: {
        ...(hasTopLevelMessage ? { message: phrase } : {}),
        error: {
          code: status,
          message: phrase,
          ...(details[status] === undefined ? {} : { metadata: details[status] })
        },
        service_metadata: { request_id: requestId },
        user_id: status === 401 ? null : "user_1"
      }
    }
  }
})

/** The errors of the operations: the envelope of each, and its response. */
export const errorComponents = (
  operations: ReadonlyArray<Operation>
): { readonly schemas: Node; readonly responses: Node } => {
  const names = new Set(
    operations.flatMap((operation) =>
      operation.error.map((error) => errorOf(GatewayError.statusOf(error) ?? 0, operation)?.name)
    )
  )
  const used = [...errors, ...errors.map(withTopLevelMessage)].filter(({ name }) => names.has(name))
  return {
    schemas: Object.fromEntries(used.map((error) => [error.name, envelopeOf(error)])),
    responses: Object.fromEntries(used.map((error) => [error.name, responseOf(error)]))
  }
}
