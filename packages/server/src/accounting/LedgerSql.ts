/** The ledger in the database in the context, whichever it is. */
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { EventLog } from "../storage/sql/EventLog.ts"
import type { GroupCommit } from "../storage/sql/GroupCommit.ts"
import type { StorageError } from "../storage/sql/StorageError.ts"
import type { LedgerStore } from "./LedgerStore.ts"
import * as PostgresLedger from "./PostgresLedger.ts"
import * as SqliteLedger from "./SqliteLedger.ts"

/** The ledger over the database in the context. */
export const layer: Layer.Layer<LedgerStore, StorageError, SqlClient | GroupCommit | EventLog> = Layer.unwrap(
  Effect.map(SqlClient, (sql): Layer.Layer<LedgerStore, StorageError, SqlClient | GroupCommit | EventLog> =>
    sql.onDialectOrElse({ pg: () => PostgresLedger.layer, orElse: () => SqliteLedger.layer })
  )
)
