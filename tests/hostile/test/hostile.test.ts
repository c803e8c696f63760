// A short run of `pnpm hostile fuzz` and of the quick attacks, against the real executable. The
// commands hold the strict bounds on time; here a machine may be slow, so that only what no slow
// machine explains is a failure.
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { describe, expect, it } from "vitest"
import * as FuzzedAnswers from "../src/answers/index.ts"
import * as Attacks from "../src/attacks/index.ts"
import * as Fuzz from "../src/fuzz/index.ts"
import * as FuzzSettings from "../src/fuzz/settings.ts"
import { operations } from "../src/fuzz/operations.ts"

describe("the gateway", () => {
  it("answers 5,000 random requests over all operations as the contract allows", { timeout: 300_000 }, async () => {
    const result = await Fuzz.run({
      requests: 5000,
      seed: 20_261_121,
      concurrency: 16,
      bounds: Attacks.lenient,
      answer: 20_000,
      only: undefined
    })
    expect(result.violations.map((violation) => Fuzz.reproduce(result, violation))).toEqual([])
    expect(result.problems).toEqual([])
    expect(operations.length).toBeGreaterThanOrEqual(60)
    // Every operation was asked, and nearly all of them answered a success too. The others are for
    // reservations that a crash leaves.
    expect(operations.filter(({ name }) => !result.tallies.has(name))).toEqual([])
    expect(Fuzz.unreached(result).length).toBeLessThanOrEqual(2)
  })

  it("starts with random settings, or refuses them and names one", { timeout: 300_000 }, async () => {
    const result = await FuzzSettings.run({ runs: 10, seed: 1, concurrency: 2, patience: 60_000 })
    expect(FuzzSettings.problemsOf(result)).toEqual([])
    expect(new Set(result.outcomes.map(({ result }) => result))).toEqual(new Set(["served", "refused"]))
  })

  it("withstands the random answers of upstreams of every kind to 400 requests", { timeout: 240_000 }, async () => {
    const result = await FuzzedAnswers.run({
      requests: 400,
      seed: 20_261_123,
      concurrency: 16,
      bounds: Attacks.lenient,
      lifetime: 10
    })
    expect(result.violations).toEqual([])
    // Every upstream served some requests, and failed some.
    for (const [name, statuses] of result.tallies) {
      expect([name, [...statuses.keys()].some((status) => status.startsWith("2"))]).toEqual([name, true])
    }
    expect(result.tallies.size).toBeGreaterThanOrEqual(14)
    expect(result.jobs.get("completed")).toBeGreaterThan(0)
  })

  it.each(Attacks.attacks.filter(({ quick }) => quick === true))(
    "withstands: $title",
    { timeout: 300_000 },
    async (attack) => {
      const { figure, problems } = await Attacks.carryOut(attack, Attacks.lenient)
      expect({ figure, problems }).toEqual({ figure, problems: [] })
    }
  )

  it("is reported when its ledger is wrong after an attack", { timeout: 300_000 }, async () => {
    const attack: Attacks.Attack = {
      name: "wrong-ledger",
      title: "somebody changes a balance",
      bound: "none",
      run: async ({ gateway }) => {
        const database = new DatabaseSync(join(gateway.dataDir, "gateway.db"), { timeout: 10_000 })
        database.exec("UPDATE workspaces SET balance_micro = balance_micro + 1")
        database.close()
        return { figure: "", problems: [] }
      }
    }
    const { problems } = await Attacks.carryOut(attack, Attacks.lenient, { patience: 0 })
    expect(problems.map((problem) => problem.replace(/ \(.*/, ""))).toEqual([
      "the balance of a workspace is not what its ledgers say",
      "after a restart: the balance of a workspace is not what its ledgers say"
    ])
  })
})
