/** The workspace that a request acts in. */
import { Forbidden, phrases } from "@model-gateway/core/GatewayError"
import { Effect } from "effect"
import { currentCaller } from "../access/Caller.ts"
import { WorkspaceStore } from "../access/WorkspaceStore.ts"
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
