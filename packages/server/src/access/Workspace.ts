/** A stored workspace, its lock, and the error of a missing one. */
import { DeletionShape } from "@model-gateway/core/Files"
import { Data, Effect, Schema } from "effect"
import { Model } from "effect/schema"
import type { SqlClient } from "effect/sql/SqlClient"
import * as Dialect from "../storage/sql/Dialect.ts"
import * as Table from "../storage/sql/Table.ts"

/** The table `workspaces`. Times are epoch milliseconds. */
class StoredWorkspace extends Model.Class<StoredWorkspace>("Workspace")({
  /** A UUID. */
  id: Table.constant(Schema.String),
  organizationId: Table.constant(Schema.String),
  name: Schema.String,
  /** Lower-case letters, digits and hyphens. Unique in the organization. */
  slug: Schema.String,
  description: Table.nullable(Schema.String),
  /** The organization's workspace for callers that name none. */
  isDefault: Table.constant(Table.Bit),
  /**
   * HTTPS URL that is notified of finished videos if the request names none. Null: no notification.
   */
  defaultCallbackUrl: Table.nullable(Schema.String),
  /** Default: `native`. */
  fileShape: Table.oneOf(DeletionShape, "native"),
  /** The user who created it. Null: unknown. */
  createdBy: Table.constantOrNull(Schema.String),
  /** Written by `accounting/`, as is what is reserved of it. */
  balance: Table.constant(Table.MicroCredits),
  reserved: Model.Field({ insert: Table.MicroCredits }),
  createdAt: Table.constant(Table.Whole),
  updatedAt: Table.Whole,
  deletedAt: Table.nullable(Table.Whole),
  /** When nothing but ledgers and deleted keys referred to the deleted workspace any more. */
  emptiedAt: Table.nullable(Table.Whole)
}) {}

/** A stored workspace. */
export interface Workspace extends StoredWorkspace {}

/** The table. */
export const table = Table.make(StoredWorkspace, { balance: "balance_micro", reserved: "reserved_micro" })

/** The organization has no such workspace (status 404). */
export class WorkspaceNotFound extends Data.TaggedError("WorkspaceNotFound")<{
  readonly id: string
}> {
  override readonly message = "There is no such workspace."
}

/** Joins the workspace with this id, if the organization has it and it is not deleted. */
export const joinOf = (sql: SqlClient, id: string, organizationId: string) =>
  sql`JOIN workspaces w ON w.id = ${sql.literal(id)} AND w.organization_id = ${organizationId} AND w.deleted_at IS NULL`

/**
 * Locks a workspace for a transaction that adds something to it. Its deletion then either waits for
 * the transaction or was there first, and the transaction fails.
 */
export const lock = Effect.fnUntraced(function* (sql: SqlClient, id: string) {
  yield* Dialect.lock(sql, sql`SELECT 1 FROM workspaces WHERE id = ${id}`)
  const rows = yield* sql`SELECT 1 FROM workspaces WHERE id = ${id} AND deleted_at IS NULL`
  if (rows.length === 0) return yield* new WorkspaceNotFound({ id })
})
