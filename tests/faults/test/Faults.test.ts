/** A few seeds of the fault test. `pnpm chaos --seeds 200` runs more. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as TestPostgres from "../../../packages/server/test/TestPostgres.ts"
import * as Plan from "../src/Plan.ts"
import * as Report from "../src/Report.ts"
import * as Run from "../src/Run.ts"

/** Describes what a seed breaks. Undefined if nothing. */
const broken = async (seed: number, store: Plan.Store): Promise<string | undefined> => {
  const location = store === "sqlite" ? store : () => Effect.runPromise(TestPostgres.admin)
  const plan = Plan.make(seed, store)
  const result = await Run.run(plan, location)
  expect(result.counts.faults).toBeGreaterThan(0)
  if (result.violations.length === 0) return undefined
  return Report.describe({ plan, result }, store, (shorter) => Run.run(shorter, location), 10)
}

describe("The service on SQLite", () => {
  it.each([4, 6, 9, 10])("keeps every promise under the faults of seed %i", { timeout: 60_000 }, async (seed) => {
    expect(await broken(seed, "sqlite")).toBeUndefined()
  })

  it("does the same in every run of a seed", { timeout: 60_000 }, async () => {
    const plan = Plan.make(19, "sqlite")
    const first: Array<string> = []
    const second: Array<string> = []
    const { digest } = await Run.run(plan, "sqlite", first)
    const again = await Run.run(plan, "sqlite", second)
    expect(first.length).toBeGreaterThan(1000)
    // The first line in which they differ says more than two hashes.
    const parted = first.findIndex((line, at) => line !== second[at])
    expect([first[parted], again.digest]).toEqual([second[parted], digest])
  })
})

describe.runIf(TestPostgres.isInstalled)("Two processes of the service on Postgres", () => {
  it.each([2, 7])("keep every promise under the faults of seed %i", { timeout: 240_000 }, async (seed) => {
    expect(await broken(seed, "postgres")).toBeUndefined()
  })
})
