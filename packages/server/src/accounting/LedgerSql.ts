/** The ledger in the database in the context, whichever it is. */
import { Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import { Transactions } from "../storage/sql/Transactions.ts"
import type { StorageError } from "../storage/sql/StorageError.ts"
import type { LedgerStore } from "./LedgerStore.ts"
import * as PostgresLedger from "./PostgresLedger.ts"
import * as SqliteLedger from "./SqliteLedger.ts"

/** The ledger over the database in the context. */
export const layer: Layer.Layer<LedgerStore, StorageError, SqlClient | Transactions> = Layer.unwrap(
  Effect.map(Transactions, ({ local }): Layer.Layer<LedgerStore, StorageError, SqlClient> =>
    local === undefined ? PostgresLedger.layer : SqliteLedger.layer(local)
  )
)
