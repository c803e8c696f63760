/**
 * On SQLite, counts the bytes of the answers that an API key has stored: once before each commit,
 * for all answers in it.
 */
import * as Dialect from "../storage/sql/Dialect.ts"
import type { LocalTransactions } from "../storage/sql/Transactions.ts"
import * as Statements from "./LedgerStatements.ts"
import type { AnswerRow } from "./LedgerStore.ts"

/** An answer that was stored. */
export interface Stored extends Pick<AnswerRow, "keyHash" | "bytes"> {
  /** All stored bytes of the API key. 0 until the answer is counted. */
  bytesOfKey: number
}

/** Returns a function that counts an answer in the transaction that stores it. */
export const make = ({ collect, prepare }: Pick<LocalTransactions, "collect" | "prepare">) => {
  const countBytes = prepare(Statements.countBytes)

  return collect<Stored>((answers) => {
    for (const [keyHash, own] of Map.groupBy(answers, (answer) => answer.keyHash)) {
      const bytes = own.reduce((total, answer) => total + answer.bytes, 0)
      const [row] = countBytes.rows({ answer_key_hash: keyHash, bytes })
      for (const answer of own) answer.bytesOfKey = row === undefined ? bytes : Dialect.int(row, "bytes")
    }
  })
}
