/**
 * Authentication: the bearer scheme. The service implements it.
 *
 * Specification: "Authentication".
 *
 * @since 0.1.0
 */
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import * as HttpApiSecurity from "effect/http-api/HttpApiSecurity"
import { Unauthorized } from "../GatewayError.ts"

/**
 * `Authorization: Bearer <API_KEY>`. A missing, malformed or unknown key is a 401. A key that is
 * not of the kind that the operation requires is a 403, before the request is read.
 *
 * @category middleware
 * @since 0.1.0
 */
export class Authorization extends HttpApiMiddleware.Service<Authorization>()(
  "@model-gateway/core/unstable/Authorization",
  {
    security: { bearer: HttpApiSecurity.bearer },
    error: Unauthorized
  }
) {}
