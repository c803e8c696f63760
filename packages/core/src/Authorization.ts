/**
 * Authentication: the bearer scheme, the caller that it provides to handlers, and the kind of key
 * that an operation requires. The service implements it.
 *
 * Specification: "Authentication".
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import { HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import { Forbidden, Unauthorized } from "./GatewayError.ts"

/**
 * The key that authenticated the request, as provided to handlers.
 *
 * @since 0.1.0
 */
export class Caller extends Context.Service<
  Caller,
  {
    /** SHA-256 of the key in 64 hexadecimal digits. For an ephemeral key: its parent's. */
    readonly keyHash: string
    readonly organizationId: string
    /** The workspace that applies if the request names none. */
    readonly workspaceId: string
    /** The user who created the key. Null: unknown. */
    readonly userId: string | null
    readonly isManagementKey: boolean
    readonly guardrailId: string | null
  }
>()("@model-gateway/core/Authorization/Caller") {}

/**
 * `Authorization: Bearer <API_KEY>`. A missing, malformed or unknown key is a 401.
 *
 * @since 0.1.0
 */
export class Authorization extends HttpApiMiddleware.Service<Authorization, { provides: Caller }>()(
  "@model-gateway/core/Authorization",
  { security: { bearer: HttpApiSecurity.bearer }, error: Unauthorized }
) {}

/**
 * Allows management keys only. Other keys get a 403, before the request is validated.
 *
 * @since 0.1.0
 */
export class ManagementKey extends HttpApiMiddleware.Service<ManagementKey, { requires: Caller }>()(
  "@model-gateway/core/Authorization/ManagementKey",
  { error: Forbidden }
) {}

/**
 * Allows ordinary keys only. Management keys get a 403, because they cannot spend.
 *
 * @since 0.1.0
 */
export class SpendingKey extends HttpApiMiddleware.Service<SpendingKey, { requires: Caller }>()(
  "@model-gateway/core/Authorization/SpendingKey",
  { error: Forbidden }
) {}
