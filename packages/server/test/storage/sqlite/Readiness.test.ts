import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as Parts from "../../../src/observability/Readiness.ts"
import * as Readiness from "../../../src/storage/sql/DatabaseReadiness.ts"
import { whileLocked } from "../../Processes.ts"
import { layer, layerAt, temporaryFolder } from "../../TestStorage.ts"

describe("Readiness of a database", () => {
  it.effect("detects a missing table, a read-only database and a full disk, and their recovery", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const check = yield* Readiness.check
      const result = Effect.match(check, { onSuccess: () => "ready", onFailure: ({ message }) => message })
      expect(yield* result).toBe("ready")

      yield* sql`ALTER TABLE usage_ledger RENAME TO elsewhere`
      expect(yield* result).toBe("The database did not answer as expected.")
      yield* sql`ALTER TABLE elsewhere RENAME TO usage_ledger`
      expect(yield* result).toBe("ready")

      yield* sql`PRAGMA query_only = 1`
      expect(yield* result).toBe("The database is read-only.")
      yield* sql`PRAGMA query_only = 0`
      expect(yield* result).toBe("ready")

      // SQLite uses free pages before the file grows.
      yield* sql`VACUUM`
      yield* sql`PRAGMA max_page_count = 1`
      expect(yield* result).toBe("The disk holding the database is full.")
      yield* sql`PRAGMA max_page_count = 1000000`
      expect(yield* result).toBe("ready")
      expect(yield* sql`SELECT name FROM milestones`).toEqual([])
    }).pipe(Effect.provide(layer))
  )

  it.live("detects a lock of another process, and its release", () =>
    Effect.gen(function* () {
      const filename = `${yield* temporaryFolder}/gateway.db`
      yield* Effect.gen(function* () {
        const { report } = yield* Parts.Readiness
        const late = { status: "unavailable", message: "The database did not answer within 300 milliseconds." }
        expect(yield* whileLocked(filename, () => report)).toEqual({ status: "unavailable", parts: { database: late } })
        yield* Effect.repeat(report, { until: ({ status }) => status === "ready" })
      }).pipe(
        Effect.provide(
          Readiness.layer({ every: 0, limit: "300 millis" }).pipe(
            Layer.provideMerge(Layer.merge(layerAt(filename), Parts.layer))
          )
        )
      )
    })
  )
})
