/**
 * What a folder stores of workspaces. Each folder deletes its own part of a deleted workspace;
 * `access/WorkspaceRemoval` asks them in the order of the list.
 */
import { Context, type Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"

/** A deleted workspace. */
export interface DeletedWorkspace {
  readonly id: string
  readonly organizationId: string
}

/** The part of one folder. What a folder does not need is absent. */
export interface WorkspacePart {
  /** Why the workspace cannot be deleted now. Undefined if nothing of this folder is in use. */
  readonly inUse?: (workspace: DeletedWorkspace) => Effect.Effect<string | undefined, SqlError>
  /**
   * Deletes rows of which there are few, in the transaction that deletes the workspace, and again
   * later for what a request that ran at the same time has added.
   */
  readonly remove?: (workspace: DeletedWorkspace, now: number) => Effect.Effect<void, SqlError>
  /**
   * Deletes the many rows, in small batches, as far as they ended before `end`. A worker may still
   * be busy with later ones. Returns the number of deleted rows.
   */
  readonly purge?: (workspaceId: string, end: number) => Effect.Effect<number, SqlError>
  /** Whether nothing is left to purge. */
  readonly isEmpty?: (workspaceId: string) => Effect.Effect<boolean, SqlError>
}

/** The parts of all folders. */
export class WorkspaceParts extends Context.Service<WorkspaceParts, ReadonlyArray<WorkspacePart>>()(
  "@model-gateway/server/storage/sql/WorkspacePart/WorkspaceParts"
) {}
