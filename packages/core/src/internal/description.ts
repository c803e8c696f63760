/** How errors describe themselves: on one line, without stack frames. */

interface Described extends Error {
  readonly _tag?: string
  readonly operation?: string | undefined
  readonly status?: number | undefined
  readonly requestId?: string | undefined
  readonly attempts: number
  readonly idempotencyKey?: string | undefined
  readonly retryAfter?: number | undefined
  readonly isRetryable: boolean
}

/** The phrase of a 400. A page that needs no other one does not bundle them all. */
export const invalidRequest = "invalid request parameters"

/** The longest text of a service or of a platform that a message contains. */
const maxLength = 1000

/** Replaces line breaks and other control characters, and shortens long text. */
export const oneLine = (text: string): string =>
  (text.length > maxLength ? `${text.slice(0, maxLength)}…` : text).replace(/[\p{Cc}\u2028\u2029]+/gu, " ").trim()

/** `3 attempts` */
export const times = (attempts: number): string => `${attempts} attempt${attempts === 1 ? "" : "s"}`

/** `rerank: 429 rate limit exceeded (request req_…, 3 attempts)` */
export const line = ({ attempts, operation, requestId }: Omit<Described, keyof Error>, text: string): string =>
  `${operation}: ${oneLine(text)} (${requestId === undefined ? "" : `request ${oneLine(requestId)}, `}${times(attempts)})`

/** The fields of all errors, for `toJSON`. */
export const fields = ({
  _tag,
  attempts,
  idempotencyKey,
  isRetryable,
  message,
  operation,
  requestId,
  retryAfter,
  status
}: Described) => ({
  _tag,
  operation,
  status,
  message,
  requestId,
  attempts,
  idempotencyKey,
  retryAfter,
  isRetryable
})

/**
 * Replaces the frames of the stack, which all lie in this package and in `effect`. As in any other
 * error, a program can set the stack.
 */
export const removeFrames = (error: Error): void => {
  Object.defineProperty(error, "stack", {
    get: () => String(error),
    set: (value: unknown) => {
      Object.defineProperty(error, "stack", { value, writable: true })
    },
    configurable: true
  })
}
