/**
 * Who calls: the bearer scheme, what it provides to a handler, and which kind of
 * key an operation asks for. No implementation.
 *
 * Specification: "Authentication".
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import { HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import { Forbidden, Unauthorized } from "./GatewayError.ts"

/**
 * The key that authenticated the request, as handlers see it.
 *
 * @since 0.1.0
 */
export class Caller extends Context.Service<
  Caller,
  {
    /** SHA-256 of the key, in 64 hexadecimal digits; for an ephemeral key, of the key that it was made from. */
    readonly keyHash: string
    readonly organizationId: string
    /** The workspace that applies where a request names none. */
    readonly workspaceId: string
    /** Who made the key; null where nobody is on record. */
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
 * Lets management keys pass and answers any other with a 403. Looked at before
 * the request's form is.
 *
 * @since 0.1.0
 */
export class ManagementKey extends HttpApiMiddleware.Service<ManagementKey, { requires: Caller }>()(
  "@model-gateway/core/Authorization/ManagementKey",
  { error: Forbidden }
) {}

/**
 * Lets ordinary keys pass and answers a management key with a 403: it manages,
 * it does not spend.
 *
 * @since 0.1.0
 */
export class SpendingKey extends HttpApiMiddleware.Service<SpendingKey, { requires: Caller }>()(
  "@model-gateway/core/Authorization/SpendingKey",
  { error: Forbidden }
) {}
