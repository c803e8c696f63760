/** The workspace that a request acts in. */
import { Forbidden, phrases } from "@model-gateway/core/GatewayError"
import { Effect } from "effect"
import { currentCaller } from "./Caller.ts"
import * as Permission from "./Permission.ts"
import { WorkspaceStore } from "./WorkspaceStore.ts"
import { orUnavailable } from "../http/Failures.ts"

/** The 403 of a workspace that the caller is not a member of, or that was just deleted. */
export const notAMember = new Forbidden({
  error: { message: `${phrases[403]}: this key is not a member of the workspace` }
})

/**
 * Finds the workspace with this id (default: the caller's default workspace). Fails with a 403 if
 * the caller is not a member of it.
 */
export const make = Effect.map(WorkspaceStore, (workspaces) =>
  Effect.fnUntraced(function* (workspaceId: string | undefined) {
    const { key } = yield* currentCaller
    return yield* orUnavailable(workspaces.resolve(key, workspaceId)).pipe(
      Effect.catchTag("NotAMember", () => Effect.fail(notAMember))
    )
  })
)

/**
 * Finds a workspace of the organization of a management key, also a deleted one: what it has used
 * remains. Fails with a 403 if the organization has no such workspace.
 */
export const makeRecorded = Effect.map(WorkspaceStore, (workspaces) =>
  Effect.fnUntraced(function* (workspaceId: string) {
    const { key } = yield* currentCaller
    const workspace = yield* orUnavailable(workspaces.find(workspaceId.toLowerCase())).pipe(
      Effect.catchTag("WorkspaceNotFound", () => Effect.fail(notAMember))
    )
    return workspace.organizationId === key.organizationId && Permission.sees(key, workspace.id)
      ? workspace
      : yield* notAMember
  })
)
