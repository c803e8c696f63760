/**
 * On SQLite, adds what requests have used to the sums of their days: once before each commit, for
 * all requests that end in it. So requests of one key for one model update two rows together.
 *
 * The result is as if the trigger of the ledger had added the entries one after the other, for each
 * model those that cost something first. `UsageDays.ts` has the rules. The trigger adds only
 * entries whose `is_summed` is 0. `daySumsFunction.ts` is the same for Postgres.
 */
import * as Periods from "../internal/Periods.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import { maxTokens } from "../storage/sql/migrations/UsageDays.ts"
import type { LocalTransactions } from "../storage/sql/Transactions.ts"
import type { Reservation, Result } from "./Ledger.ts"
import * as Statements from "./LedgerStatements.ts"

/** What the sums need of an entry. */
export interface Entry {
  readonly reservation: Pick<Reservation, "workspaceId" | "keyHash" | "model" | "reservedAt">
  readonly result: Pick<Result, "status" | "provider" | "cost" | "usage">
  readonly isByok: boolean
}

/** A count of tokens, or 0 if it is no sensible number. */
const tokens = (count = 0): number => (count >= 0 && count <= maxTokens ? Math.trunc(count) : 0)

/** What a result adds to the counters of tokens. */
export const tokensOf = ({ usage }: Pick<Result, "usage">) => ({
  prompt_tokens: tokens(usage?.["input_tokens"] ?? usage?.["total_tokens"]),
  completion_tokens: tokens(usage?.["output_tokens"])
})

const sum = (entries: ReadonlyArray<Entry>, value: (entry: Entry) => number): number =>
  entries.reduce((total, entry) => total + value(entry), 0)

const sumsOf = (entries: ReadonlyArray<Entry>) => ({
  requests: entries.length,
  failed: sum(entries, ({ result }) => (result.status === "completed" ? 0 : 1)),
  cost_micro: sum(entries, ({ isByok, result }) => (isByok ? 0 : result.cost)),
  byok_micro: sum(entries, ({ isByok, result }) => (isByok ? result.cost : 0)),
  prompt_tokens: sum(entries, ({ result }) => tokensOf(result).prompt_tokens),
  completion_tokens: sum(entries, ({ result }) => tokensOf(result).completion_tokens)
})

/** What entries that have the same rows, apart from the key, have in common. */
const rowsOf = ({ reservation: { model, reservedAt, workspaceId }, result: { provider } }: Entry): string =>
  `${Periods.startOfDay(reservedAt)} ${workspaceId.length} ${model.length} ${workspaceId}${model}${provider ?? ""}`

/** Returns a function that adds an entry in the transaction that writes it. */
export const make = ({ collect, prepare }: Pick<LocalTransactions, "collect" | "prepare">) => {
  const update = prepare(Statements.addToDay)
  const insert = prepare(Statements.insertDay)
  const insertBounded = prepare(Statements.insertBoundedDay)

  /** Adds entries that have the same rows. */
  const add = (entries: ReadonlyArray<Entry>): void => {
    const [first] = entries
    if (first === undefined) return
    const { model, reservedAt, workspaceId } = first.reservation
    const provider = first.result.provider ?? ""
    const day = { workspace_id: workspaceId, day_start: Periods.startOfDay(reservedAt), provider }
    const ofWorkspace = { ...day, key_hash: "", model, ...sumsOf(entries) }
    let counted = model
    if (update.change(ofWorkspace) === 0) {
      const [row] = insertBounded.rows(ofWorkspace)
      if (row === undefined) return
      counted = Dialect.text(row, "model")
    }
    for (const [keyHash, own] of Map.groupBy(entries, ({ reservation }) => reservation.keyHash)) {
      const ofKey = { ...day, key_hash: keyHash, model: counted, ...sumsOf(own) }
      if (update.change(ofKey) === 0) insert.change(ofKey)
    }
  }

  return collect<Entry>((entries) => {
    for (const own of Map.groupBy(entries, rowsOf).values()) add(own)
  })
}
