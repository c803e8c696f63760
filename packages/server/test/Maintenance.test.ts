/** The tools of an operator, on both databases. */
import { NodeServices } from "@effect/platform-node"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { dirname } from "node:path"
import { Accounting } from "../src/accounting/Accounting.ts"
import * as Maintenance from "../src/Maintenance.ts"
import { outcome, payerWith, reserve } from "./accounting/TestPayer.ts"
import { databases } from "./TestDatabases.ts"
import { layerAt } from "./TestStorage.ts"

/** Where the tools find the database of this location. */
const optionsOf = (location: string) =>
  location.startsWith("postgres://")
    ? { dataDir: "unused", databaseUrl: Redacted.make(location) }
    : { dataDir: dirname(location) }

describe.each(databases)("the tools on $name", ({ create, name }) => {
  it.live("read schema, sums, balances and clock of a database, and write a probe", () =>
    Effect.gen(function* () {
      const location = yield* create
      const options = optionsOf(location)
      yield* Maintenance.migrate(options)
      const before = yield* Maintenance.contents(options)
      expect(before.sums["credit_ledger.rows"]).toBe("0")
      yield* Effect.gen(function* () {
        const { payer } = yield* payerWith(5_000_000)
        yield* reserve("a", payer, 3000)
        yield* (yield* Accounting).settle({ id: "a" }, outcome(2000))
      }).pipe(Effect.provide(layerAt(location)))
      yield* Maintenance.probeDatabase(options)
      const found = yield* Maintenance.contents(options)
      expect(found).toMatchObject({ damages: [], wrongBalances: [], abandoned: 0, masterKeyIds: [] })
      expect(found.schema).toMatchObject({ pending: [] })
      expect(found.sums).toMatchObject({
        "credit_ledger.rows": "1",
        "credit_ledger.amount_micro": "5000000",
        "usage_ledger.rows": "1",
        "usage_ledger.cost_micro": "2000",
        "workspaces.balance_micro": "4998000",
        "reservations.rows": "0"
      })
      expect(yield* Maintenance.migrate(options)).toEqual([])
      if (name === "postgres") expect(Math.abs((found.now ?? 0) - Date.now())).toBeLessThan(60_000)
    }).pipe(Effect.provide(NodeServices.layer), Effect.scoped)
  )
})
