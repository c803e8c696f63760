/** A stored workspace, its lock, and the error of a missing one. */
import { DeletionShape } from "@model-gateway/core/Files"
import { Data, Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Row } from "effect/sql/SqlConnection"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import * as Dialect from "../storage/sql/Dialect.ts"

/** A stored workspace. Times are epoch milliseconds, money is micro-credits. */
export interface Workspace {
  /** A UUID. */
  readonly id: string
  readonly organizationId: string
  readonly name: string
  /** Lower-case letters, digits and hyphens. Unique in the organization. */
  readonly slug: string
  readonly description: string | null
  /** The organization's workspace for callers that name none. */
  readonly isDefault: boolean
  /**
   * HTTPS URL that is notified of finished videos if the request names none. Null: no notification.
   */
  readonly defaultCallbackUrl: string | null
  /** Default: `native`. */
  readonly fileShape: DeletionShape
  /** The user who created it. Null: nobody known. */
  readonly createdBy: string | null
  readonly balance: MicroCredits.MicroCredits
  readonly createdAt: number
  readonly updatedAt: number
}

/** The organization has no such workspace (status 404). */
export class WorkspaceNotFound extends Data.TaggedError("WorkspaceNotFound")<{
  readonly id: string
}> {
  override readonly message = "There is no such workspace."
}

/**
 * Locks a workspace for a transaction that adds something to it. Its deletion then either waits for
 * the transaction or was there first, and the transaction fails.
 */
export const lock = Effect.fnUntraced(function* (sql: SqlClient, id: string) {
  yield* Dialect.lock(sql, sql`SELECT 1 FROM workspaces WHERE id = ${id}`)
  const rows = yield* sql`SELECT 1 FROM workspaces WHERE id = ${id} AND deleted_at IS NULL`
  if (rows.length === 0) return yield* new WorkspaceNotFound({ id })
})

/** Reads a workspace from its row. */
export const workspaceRow = (row: Row): Workspace => ({
  id: Dialect.text(row, "id"),
  organizationId: Dialect.text(row, "organization_id"),
  name: Dialect.text(row, "name"),
  slug: Dialect.text(row, "slug"),
  description: Dialect.textOrNull(row, "description"),
  createdBy: Dialect.textOrNull(row, "created_by"),
  isDefault: Dialect.bool(row, "is_default"),
  defaultCallbackUrl: Dialect.textOrNull(row, "default_callback_url"),
  fileShape: Dialect.oneOfOrNull(row, "file_shape", DeletionShape.literals) ?? "native",
  balance: MicroCredits.make(Dialect.int(row, "balance_micro")),
  createdAt: Dialect.int(row, "created_at"),
  updatedAt: Dialect.int(row, "updated_at")
})
