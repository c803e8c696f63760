/**
 * Error sets that several operations share. The specification describes none of these operations.
 */
import {
  BadRequest,
  Forbidden,
  InternalServerError,
  NotFound,
  ServiceUnavailable,
  TooManyRequests,
  Unauthorized
} from "../GatewayError.ts"

/** Managing keys, guardrails and workspaces: 400 401 403 404 500. */
export const managementErrors = [BadRequest, Unauthorized, Forbidden, NotFound, InternalServerError] as const

/**
 * Storing and reading files, and reading videos and models, which counts against the key's rate
 * limit: 400 401 403 404 429 500 503.
 */
export const rateLimitedErrors = [
  BadRequest,
  Unauthorized,
  Forbidden,
  NotFound,
  TooManyRequests,
  InternalServerError,
  ServiceUnavailable
] as const
