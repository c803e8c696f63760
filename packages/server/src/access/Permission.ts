/**
 * What a management key may do: its role, and the workspaces that it is restricted to.
 *
 * An operation declares the least role that may call it. Its handler asks here for what belongs to
 * a workspace: what a key does not see is answered as what does not exist.
 */
import { Forbidden, phrases } from "@model-gateway/core/GatewayError"
import { Role } from "@model-gateway/core/Identifiers"
import type { Operation } from "@model-gateway/core/Operation"
import { Effect } from "effect"
import { currentCaller } from "./Caller.ts"
import type { Key } from "./Key.ts"

/** What limits a management key. */
export type Permission = Pick<Key, "role" | "workspaceIds">

const rankOf = (role: Role): number => Role.literals.indexOf(role)

/** Whether the role includes the other one. */
export const includesRole = (role: Role, other: Role): boolean => rankOf(role) >= rankOf(other)

/** Whether a management key sees what belongs to a workspace. Null: to none. */
export const sees = ({ workspaceIds }: Permission, workspaceId: string | null): boolean =>
  workspaceIds === null || (workspaceId !== null && workspaceIds.includes(workspaceId))

/**
 * Whether a key with the permission may give the other one to a key, or change a key that has it.
 */
export const includes = (permission: Permission, other: Permission): boolean =>
  includesRole(permission.role, other.role) &&
  (permission.workspaceIds === null ||
    (other.workspaceIds !== null && other.workspaceIds.every((id) => sees(permission, id))))

/** The 403 of a management key with too low a role. */
export const roleNeeded = (needed: Role, role: Role): Forbidden =>
  new Forbidden({
    error: { message: `${phrases[403]}: this needs the role ${needed}, and the key has the role ${role}` }
  })

const allNeeded = new Forbidden({
  error: {
    message: `${phrases[403]}: this key is restricted to some workspaces, and the operation is about all of them`
  }
})

/** Why a management key may not call the operation. Undefined: it may. */
export const refusalOf = (
  { role, workspaceIds }: Permission,
  operation: Pick<Operation, "role" | "scope">
): Forbidden | undefined =>
  !includesRole(role, operation.role)
    ? roleNeeded(operation.role, role)
    : workspaceIds !== null && operation.scope === "organization"
      ? allNeeded
      : undefined

/** The workspaces that the caller is restricted to. Undefined: it sees all of its organization. */
export const callerWorkspaces: Effect.Effect<ReadonlyArray<string> | undefined> = Effect.map(
  currentCaller,
  ({ key }) => key.workspaceIds ?? undefined
)

/**
 * Fails with `missing` if the calling management key does not see what belongs to the workspace.
 */
export const check = <E>(workspaceId: string | null, missing: () => E): Effect.Effect<void, E> =>
  Effect.flatMap(currentCaller, ({ key }) => (sees(key, workspaceId) ? Effect.void : Effect.fail(missing())))
