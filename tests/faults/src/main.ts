/** `pnpm chaos`: runs seeds against the service, and describes the first one that fails. */
import { parseArgs } from "node:util"
import { type Postgres, startPostgres } from "@model-gateway/test-services/Postgres"
import * as Plan from "./Plan.ts"
import * as Report from "./Report.ts"
import * as Run from "./Run.ts"

const usage = `pnpm chaos [--seeds N] [--seed S] [--store sqlite|postgres]

  --seeds N   how many seeds to run (default: 20)
  --seed S    the first seed (default: 1). Alone, only this one runs
  --store     the database (default: sqlite)
`

const integer = (name: string, text: string): number => {
  const value = Number(text)
  if (Number.isSafeInteger(value) && value >= 1) return value
  throw new Error(`--${name}: expected a whole number of at least 1`)
}

const options = () => {
  const { values } = parseArgs({
    options: {
      seeds: { type: "string" },
      seed: { type: "string" },
      store: { type: "string", default: "sqlite" },
      help: { type: "boolean", default: false }
    }
  })
  const { help, seed, seeds, store } = values
  if (store !== "sqlite" && store !== "postgres") throw new Error("--store: expected sqlite or postgres")
  return {
    help,
    store,
    first: seed === undefined ? 1 : integer("seed", seed),
    count: seeds === undefined ? (seed === undefined ? 20 : 1) : integer("seeds", seeds)
  } as const
}

const print = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

let server: Promise<Postgres> | undefined

const main = async (): Promise<void> => {
  const { count, first, help, store } = options()
  if (help) return print(usage)
  const startedAt = performance.now()
  const location = store === "sqlite" ? store : async () => (await (server ??= startPostgres())).url
  const total = { operations: 0, faults: 0, kills: 0, starts: 0 }
  const summary = (seeds: number) =>
    `${seeds} seeds on ${store}: ${total.operations} operations, ${total.faults} faults, ${total.kills} kills, ` +
    `${total.starts} starts, ${Math.round((performance.now() - startedAt) / 1000)} s`
  for (let seed = first; seed < first + count; seed++) {
    const plan = Plan.make(seed, store)
    const result = await Run.run(plan, location)
    for (const name of ["operations", "faults", "kills", "starts"] as const) total[name] += result.counts[name]
    if (result.violations.length > 0) {
      print(`Seed ${seed} breaks an invariant. Looking for a shorter plan …`)
      const tries = store === "sqlite" ? 80 : 15
      print(await Report.describe({ plan, result }, store, (shorter) => Run.run(shorter, location), tries))
      process.exitCode = 1
      return
    }
    const done = seed - first + 1
    if (done % 20 === 0 && done < count) print(summary(done))
  }
  print(`${summary(count)}. Every invariant held.`)
}

try {
  await main()
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`)
  process.exitCode = 2
} finally {
  await (await server)?.remove()
  // The fibers of a process that was killed wait for ever.
  process.exit()
}
