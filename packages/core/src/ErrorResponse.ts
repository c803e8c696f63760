/**
 * What a server answers its own caller after a call of the gateway failed, for the error handler of
 * a web framework.
 *
 * The status of the gateway is not always the answer. A 401 says that the key of the server is
 * wrong, and a 402 that its credits are used up: its caller can do nothing about either. And 524
 * and 529 are unknown to most clients.
 *
 * @since 0.1.0
 */
import { InvalidResponse, TimeoutError, TransportError } from "./ClientError.ts"
import { EnvelopeError } from "./GatewayError.ts"
import { oneLine } from "./internal/description.ts"
import { WebhookError } from "./Webhook.ts"

/**
 * The answer.
 *
 * @category models
 * @since 0.1.0
 */
export interface ErrorResponse {
  /**
   * - 400, 404, 413, 429: what the gateway said.
   * - 503: a 503 or 529 of the gateway, or no connection to it.
   * - 504: a 504 or 524 of the gateway, or a time limit of the client.
   * - 502: a 502 or 500 of the gateway, or a response that violates the contract.
   * - 500: everything else, such as a wrong key or too few credits. Log the error.
   */
  readonly status: 400 | 404 | 413 | 429 | 500 | 502 | 503 | 504
  /** One sentence for the caller. That of the gateway for a 400, 404, 413 and 429. */
  readonly message: string
  /**
   * `retry-after` if the gateway said when to try again, and `x-request-id`, which finds the
   * request in its log.
   */
  readonly headers: Readonly<Record<string, string>>
}

/** What the gateway says about these is not meant for the caller. */
const sentences: { readonly [Status in ErrorResponse["status"]]?: string } = {
  500: "The request failed.",
  502: "A service that is needed for this request failed.",
  503: "A service that is needed for this request is not available. Try again later.",
  504: "A service that is needed for this request took too long. Try again later."
}

const statusOf = (error: EnvelopeError): ErrorResponse["status"] => {
  switch (error.status) {
    case 400:
    case 404:
    case 413:
    case 429:
      return error.status
    case 503:
    case 529:
      return 503
    case 504:
    case 524:
      return 504
    case 500:
    case 502:
      return 502
    default:
      return 500
  }
}

/**
 * The answer to an error of a call of the gateway, or of `Webhook`. Undefined for any other error,
 * which the framework handles.
 *
 * @example
 * ```ts
 * import { ErrorResponse } from "@model-gateway/core"
 *
 * const respond = (error: unknown): Response => {
 *   const answer = ErrorResponse.fromError(error)
 *   if (answer === undefined) throw error
 *   const { headers, message, status } = answer
 *   return Response.json({ error: message }, { status, headers })
 * }
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromError = (error: unknown): ErrorResponse | undefined => {
  if (error instanceof EnvelopeError) return respond(statusOf(error), error, oneLine(error.error.message))
  if (error instanceof InvalidResponse) return respond(502, error)
  if (error instanceof TimeoutError) return respond(504, error)
  if (error instanceof TransportError) return respond(error.reason === "connection" ? 503 : 500, error)
  if (error instanceof WebhookError) {
    return respond(error.reason === "secret" ? 500 : 400, {}, error.message)
  }
  return undefined
}

/** The gateway's values, since a server throws on a header that is not valid. */
const headersOf = (requestId: string | undefined, retryAfter: number | undefined) => {
  const seconds = Math.min(Math.max(Math.ceil(retryAfter ?? 0), 0), Number.MAX_SAFE_INTEGER)
  return {
    ...(retryAfter === undefined ? {} : { "retry-after": String(seconds) }),
    ...(requestId !== undefined && /^[\x21-\x7e]{1,200}$/.test(requestId) ? { "x-request-id": requestId } : {})
  }
}

const respond = (
  status: ErrorResponse["status"],
  { requestId, retryAfter }: { readonly requestId?: string | undefined; readonly retryAfter?: number | undefined },
  text = ""
): ErrorResponse => ({
  status,
  message: sentences[status] ?? text,
  headers: headersOf(requestId, retryAfter)
})
