/**
 * Authentication: the bearer scheme, and the kind of key that an operation requires. The service
 * implements it.
 *
 * Specification: "Authentication".
 *
 * @since 0.1.0
 */
import { HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import { Forbidden, Unauthorized } from "./GatewayError.ts"

/**
 * `Authorization: Bearer <API_KEY>`. A missing, malformed or unknown key is a 401.
 *
 * @since 0.1.0
 */
export class Authorization extends HttpApiMiddleware.Service<Authorization>()("@model-gateway/core/Authorization", {
  security: { bearer: HttpApiSecurity.bearer },
  error: Unauthorized
}) {}

/**
 * Allows management keys only. Other keys get a 403, before the request is validated.
 *
 * @since 0.1.0
 */
export class ManagementKey extends HttpApiMiddleware.Service<ManagementKey>()(
  "@model-gateway/core/Authorization/ManagementKey",
  { error: Forbidden }
) {}

/**
 * Allows ordinary keys only. Management keys get a 403, because they cannot spend.
 *
 * @since 0.1.0
 */
export class SpendingKey extends HttpApiMiddleware.Service<SpendingKey>()(
  "@model-gateway/core/Authorization/SpendingKey",
  { error: Forbidden }
) {}
