import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { isSqlError } from "effect/sql/SqlError"
import { Transactions } from "../../../src/storage/sql/Transactions.ts"
import { databases } from "../../TestDatabases.ts"
import { layerAt } from "../../TestStorage.ts"
import * as TestProxy from "./TestProxy.ts"

describe.each(databases.filter(({ name }) => name === "postgres"))("transactions on $name", ({ create }) => {
  it.live("fail, and work again, when their connection is lost in the middle, also inside another one", () =>
    Effect.gen(function* () {
      const proxy = yield* TestProxy.make(yield* create)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient
        const transactions = yield* Transactions
        const insert = sql`INSERT INTO milestones (name, reached_at) VALUES ('lost', 1)`
        for (const body of [
          transactions.run(insert),
          sql.withTransaction(insert),
          sql.withTransaction(Effect.andThen(sql`SELECT 1`, transactions.run(insert)))
        ]) {
          yield* proxy.loseAnswerTo("INSERT INTO milestones")
          const exit = yield* Effect.exit(body)
          expect(Exit.hasDies(exit)).toBe(false)
          expect(isSqlError(yield* Effect.flip(exit))).toBe(true)
          expect(yield* sql`SELECT * FROM milestones`).toEqual([])
        }
        yield* transactions.run(insert)
        expect(yield* sql`SELECT * FROM milestones`).toMatchObject([{ name: "lost" }])
      }).pipe(Effect.provide(layerAt(proxy.url)))
    })
  )
})
