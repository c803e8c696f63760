/** What a request may want of a key, and which key it names. */
import { type BadRequest, Forbidden, NotFound, phrases } from "@model-gateway/core/GatewayError"
import type * as Keys from "@model-gateway/core/Keys"
import { Clock, Effect } from "effect"
import type { Key } from "../access/Key.ts"
import type { KeyStore, ManagementKeyOfFreeTier } from "../access/KeyStore.ts"
import * as Permission from "../access/Permission.ts"
import { orUnavailable } from "../http/Failures.ts"
import { invalid } from "../internal/Issues.ts"
import * as Timestamp from "../internal/Timestamp.ts"

export const invalidField = (path: string, message: string) => invalid([{ path, message }])

export const missing = () => new NotFound({ error: { message: `${phrases[404]}: there is no such key` } })

/** A key of the organization, also of a workspace that the caller may not see. */
export const found = (keys: KeyStore["Service"], organizationId: string, hash: string) =>
  orUnavailable(keys.get(organizationId, hash)).pipe(Effect.catchTag("KeyNotFound", () => Effect.fail(missing())))

/** Parses an expiry time. It must be in the future: creating an expired key is a mistake. */
export const expiryOf = Effect.fnUntraced(function* (expiresAt: string | null) {
  if (expiresAt === null) return null
  const millis = yield* Timestamp.toMillis("expires_at", expiresAt)
  if (millis <= (yield* Clock.currentTimeMillis))
    return yield* invalidField("expires_at", "Expected a time in the future")
  return millis
})

export const ownText = invalidField("external.api_key", "Expected no key: the service makes the text of every key")

/**
 * The user who creates a key. A management key acts for its user and for nobody else. One without a
 * user may name any: its holder knows the users.
 */
export const creatorOf = (
  { creatorUserId }: Key,
  named: string | null | undefined
): Effect.Effect<string | null, BadRequest> =>
  creatorUserId === null
    ? Effect.succeed(named ?? null)
    : named === undefined || named === creatorUserId
      ? Effect.succeed(creatorUserId)
      : Effect.fail(
          invalidField("creator_user_id", "Expected the user of the management key that makes the request, or nothing")
        )

export const ofFreeTier = ({ message }: ManagementKeyOfFreeTier) => Effect.fail(invalidField("is_free_tier", message))

/** What a key that is made or changed is to be allowed. */
type Wanted = Pick<typeof Keys.UpdateRequest.Type, "role" | "workspace_ids">

export const ofOrdinary = ({ role, workspace_ids }: Wanted): Effect.Effect<void, BadRequest> =>
  role !== undefined
    ? Effect.fail(invalidField("role", "Expected no role: only a management key has one"))
    : workspace_ids === undefined || workspace_ids === null
      ? Effect.void
      : Effect.fail(invalidField("workspace_ids", "Expected nothing: only a management key can have such a list"))

const ofAdmin = invalidField(
  "workspace_ids",
  "Expected null: an admin manages all workspaces. The roles viewer and operator can be restricted to some"
)

const notGiven = new Forbidden({
  error: {
    message: `${phrases[403]}: this key is restricted to some workspaces. A management key that it creates or changes needs some of these in workspace_ids`
  }
})

/** Fails if the caller may not give the permission, or change a management key that has it. */
export const checkPermission = (
  caller: Key,
  permission: Permission.Permission
): Effect.Effect<void, BadRequest | Forbidden> =>
  permission.role === "admin" && permission.workspaceIds !== null
    ? Effect.fail(ofAdmin)
    : Permission.includes(caller, permission)
      ? Effect.void
      : Effect.fail(
          Permission.includesRole(caller.role, permission.role)
            ? notGiven
            : Permission.roleNeeded(permission.role, caller.role)
        )
