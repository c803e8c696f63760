import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { Transactions } from "../../../src/storage/sql/Transactions.ts"
import { databases } from "../../TestDatabases.ts"

describe.each(databases.filter(({ name }) => name === "postgres"))("transactions on $name", ({ layer }) => {
  it.live("are run again when they wait for each other in a circle", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const transactions = yield* Transactions
      yield* sql`INSERT INTO milestones (name, reached_at) VALUES ('a', 0), ('b', 0)`
      const increment = (name: string) => sql`UPDATE milestones SET reached_at = reached_at + 1 WHERE name = ${name}`
      const attempts = { first: 0, second: 0 }
      const both = [yield* Deferred.make<void>(), yield* Deferred.make<void>()] as const
      const locking = (who: keyof typeof attempts, names: readonly [string, string], turn: 0 | 1) =>
        transactions.run(
          Effect.gen(function* () {
            attempts[who]++
            yield* increment(names[0])
            // Each has its first row before one of them asks for its second.
            yield* Deferred.succeed(both[turn], undefined)
            yield* Deferred.await(both[turn === 0 ? 1 : 0])
            yield* increment(names[1])
          })
        )
      yield* Effect.all([locking("first", ["a", "b"], 0), locking("second", ["b", "a"], 1)], {
        concurrency: "unbounded"
      })
      expect(yield* sql`SELECT reached_at FROM milestones`).toMatchObject([{ reached_at: 2 }, { reached_at: 2 }])
      // Postgres may end both, if both notice the circle at the same time.
      expect(attempts.first + attempts.second).toBeGreaterThan(2)
    }).pipe(Effect.provide(layer))
  )

  it.live("of one statement take part in the caller's transaction", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const transactions = yield* Transactions
      const insert = transactions.prepare("INSERT INTO milestones (name, reached_at) VALUES (?1, ?2) RETURNING name")
      expect(yield* insert("alone", 1)).toMatchObject([{ name: "alone" }])
      const broken = sql.withTransaction(Effect.andThen(insert("undone", 2), Effect.fail("no")))
      expect(yield* Effect.flip(broken)).toBe("no")
      expect(yield* sql`SELECT name FROM milestones`).toMatchObject([{ name: "alone" }])
    }).pipe(Effect.provide(layer))
  )
})
