/**
 * The credits of workspaces. Only this module and the ledger write `balance_micro`, and only this
 * module writes `credit_ledger`.
 */
import { LedgerKind } from "@model-gateway/core/Credits"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { Clock, Data, Effect, Schema } from "effect"
import type { SecureRandom } from "effect/crypto/SecureRandom"
import { Model } from "effect/schema"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Row } from "effect/sql/SqlConnection"
import type { SqlError } from "effect/sql/SqlError"
import * as Dialect from "../storage/sql/Dialect.ts"
import * as Page from "../storage/sql/Page.ts"
import * as Table from "../storage/sql/Table.ts"

/** All credits that were ever added, and those of them that were used. */
export interface CreditTotals {
  readonly added: MicroCredits.MicroCredits
  readonly used: MicroCredits.MicroCredits
}

/** A workspace's money: `available` is `balance` minus the reserved amount. */
export interface Balance {
  readonly balance: MicroCredits.MicroCredits
  readonly reserved: MicroCredits.MicroCredits
  readonly available: MicroCredits.MicroCredits
}

/**
 * The new balance would be too large to count (about nine billion credits). Nothing was changed.
 */
export class BalanceOutOfRange extends Data.TaggedError("BalanceOutOfRange")<{
  readonly workspaceId: string
}> {
  override readonly message = "The balance would be larger than can be counted."
}

/** The table `credit_ledger`. Times are epoch milliseconds. */
class StoredEntry extends Model.Class<StoredEntry>("CreditEntry")({
  id: Table.constant(Schema.String),
  workspaceId: Table.constant(Schema.String),
  kind: Table.constant(Table.oneOf(LedgerKind, "added")),
  amount: Table.constant(Table.MicroCredits),
  /** The workspace's balance after the entry. */
  balance: Table.constant(Table.MicroCredits),
  note: Table.constantOrNull(Schema.String),
  /** The hash of the management key. Null: the service itself, or not known. */
  actor: Table.constantOrNull(Schema.String),
  createdAt: Table.constant(Table.Whole)
}) {}

/** An entry of the credit ledger. */
export interface CreditEntry extends StoredEntry {}

/** Why credits are added, and who does it. Absent fields are null. */
export type Reason = Pick<CreditEntry, "kind"> & Table.Change<Pick<CreditEntry, "note" | "actor">>

const entries = Table.make(StoredEntry, { amount: "amount_micro", balance: "balance_micro" })

const balanceRow = (row: Row): Balance => {
  const total = Dialect.int(row, "balance_micro")
  const reserved = Dialect.int(row, "reserved_micro")
  return {
    balance: MicroCredits.make(total),
    reserved: MicroCredits.make(reserved),
    available: MicroCredits.subtract(total, reserved)
  }
}

/** Reads and changes the credits in the database. */
export const make = (sql: SqlClient, random: SecureRandom["Service"]) => {
  /** A workspace's money, or null if the workspace does not exist. */
  const balanceOf = (workspaceId: string) =>
    Effect.map(
      sql`SELECT balance_micro, reserved_micro FROM workspaces WHERE id = ${workspaceId} AND deleted_at IS NULL`,
      ([row]) => (row === undefined ? null : balanceRow(row))
    )

  /** The credits that were added and used, in some workspaces or in all of an organization. */
  const totalsOf = Effect.fnUntraced(function* (
    scope: { readonly workspaceIds: ReadonlyArray<string> } | { readonly organizationId: string }
  ): Effect.fn.Return<CreditTotals, SqlError> {
    const counted =
      "workspaceIds" in scope ? sql.in("w.id", scope.workspaceIds) : sql`w.organization_id = ${scope.organizationId}`
    const rows = yield* sql`SELECT w.balance_micro,
        (SELECT CAST(SUM(c.amount_micro) AS BIGINT) FROM credit_ledger c WHERE c.workspace_id = w.id) AS added
      FROM workspaces w WHERE ${counted}`
    let added = 0
    let balance = 0
    for (const row of rows) {
      added += Dialect.intOrNull(row, "added") ?? 0
      balance += Dialect.int(row, "balance_micro")
    }
    return { added: MicroCredits.make(added), used: MicroCredits.make(added - balance) }
  })

  /**
   * Adds to a workspace's balance, or subtracts a negative amount, with an entry in the credit
   * ledger. Returns null and changes nothing if the workspace does not exist. Run it in a
   * transaction.
   */
  const add = Effect.fnUntraced(function* (
    workspaceId: string,
    amount: MicroCredits.MicroCredits,
    reason: Reason
  ): Effect.fn.Return<Balance | null, BalanceOutOfRange | SqlError> {
    const now = yield* Clock.currentTimeMillis
    const [row] = yield* sql`UPDATE workspaces SET balance_micro = balance_micro + ${amount}, updated_at = ${now}
      WHERE id = ${workspaceId} AND deleted_at IS NULL AND ABS(balance_micro + ${amount}) <= ${Number.MAX_SAFE_INTEGER}
      RETURNING balance_micro, reserved_micro`
    if (row === undefined) {
      return (yield* balanceOf(workspaceId)) === null ? null : yield* new BalanceOutOfRange({ workspaceId })
    }
    const after = balanceRow(row)
    const entry = entries.insert({
      ...reason,
      id: yield* random.uuidV7(),
      workspaceId,
      amount,
      balance: after.balance,
      // Once the row of the workspace is locked, so that entries are in the order of their
      // balances.
      createdAt: yield* Clock.currentTimeMillis
    })
    yield* sql`INSERT INTO credit_ledger ${sql.insert(entry)}`
    return after
  })

  /** The ledger of a workspace, newest first. */
  const list = (workspaceId: string, page: Page.Request) =>
    Page.read(
      {
        start: Page.newestFirst,
        createdAt: (after) =>
          Page.createdAt(
            sql`SELECT created_at FROM credit_ledger WHERE id = ${after} AND workspace_id = ${workspaceId}`
          ),
        rows: ({ createdAt, name }, limit) => sql`SELECT * FROM credit_ledger
          WHERE workspace_id = ${workspaceId} AND (created_at, id) < (${createdAt}, ${name})
          ORDER BY created_at DESC, id DESC LIMIT ${limit}`,
        item: entries.read
      },
      page
    )

  return { balanceOf, totalsOf, add, list }
}
