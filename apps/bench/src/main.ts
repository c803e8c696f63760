/**
 * The commands of `pnpm bench`:
 *
 * - `pnpm bench`: prints the comparisons with peers. `--quick` runs fewer rounds, to check that it
 *   works.
 * - `pnpm bench databases`: measures paid requests on SQLite, and on Postgres with one process and
 *   with two. `--quick` as above.
 * - `pnpm bench usage`: measures the activity and the request log with 1,000,000 requests in the
 *   ledger, and what the sums of each day cost a paid request. `--quick` as above.
 * - `pnpm bench objects`: measures uploads and downloads of files on a local folder and on S3.
 * - `pnpm bench attacks [name…] [--main FILE] [--store postgres [--all]]`: attacks the gateway and
 *   prints a row for each attack. On Postgres, it runs the attacks that concern the database, and
 *   all of them with `--all`.
 * - `pnpm bench fuzz [--requests N] [--seed S]`: sends random requests to every operation and
 *   checks each response. For `attacks` and `fuzz`, `--busy` widens the bounds of time, for a
 *   machine that does other work, too.
 * - `pnpm bench fuzz-settings [--runs N] [--seed S]`: starts the gateway with random flags,
 *   variables and settings files.
 * - `pnpm bench fuzz-answers [--requests N] [--seed S]`: asks for paid work of upstreams whose
 *   answers are random, and checks each response, the books and the lists.
 * - `pnpm bench bodies [operation…]`: searches for the 1 MiB body that blocks the event loop the
 *   longest.
 * - `pnpm bench soak [--minutes 30] [--seed S]`: runs the Node client against a server whose
 *   connections and answers fail at random, and checks every call and every charge.
 */
import { parseArgs } from "node:util"
import * as Bundle from "./bundle/index.ts"
import * as Client from "./client/index.ts"
import * as Databases from "./databases/index.ts"
import * as FuzzedAnswers from "./hostile/answers/index.ts"
import * as Attacks from "./hostile/attacks/index.ts"
import * as Bodies from "./hostile/bodies.ts"
import * as Database from "./hostile/database.ts"
import * as Fuzz from "./hostile/fuzz/index.ts"
import * as FuzzSettings from "./hostile/fuzz/settings.ts"
import * as Objects from "./objects/index.ts"
import * as Rendering from "./rendering/index.ts"
import * as Service from "./service/index.ts"
import * as Soak from "./soak/index.ts"
import * as Upstream from "./upstream/index.ts"
import * as Usage from "./usage/index.ts"

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: "boolean", default: false },
    /** The `main.js` of the gateway to attack. Default: the one of this checkout. */
    main: { type: "string" },
    /** Wider bounds of time, for a machine that does other work, too. */
    busy: { type: "boolean", default: false },
    /** The database of the attacked gateway. */
    store: { type: "string", default: "sqlite" },
    /** Run every attack on Postgres, not only those that concern the database. */
    all: { type: "boolean", default: false },
    requests: { type: "string", default: "100000" },
    runs: { type: "string", default: "500" },
    minutes: { type: "string", default: "30" },
    /** Default: a different one each time. */
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    /** The number of the one request to send. */
    only: { type: "string" }
  }
})

const compareWithPeers = async (): Promise<void> => {
  for (const { run } of [Client, Service, Rendering, Bundle, Upstream]) {
    for (const text of await run(values.quick)) console.log(text)
  }
}

const bounds = values.busy ? Attacks.lenient : Attacks.strict

const attack = async (names: ReadonlyArray<string>): Promise<void> => {
  const store = Database.stores.find((name) => name === values.store)
  if (store === undefined) throw new Error(`--store is one of ${Database.stores.join(", ")}`)
  const isChosen = ({ name, storage = false }: Attacks.Attack): boolean =>
    names.length === 0 ? store === "sqlite" || storage || values.all : names.includes(name)
  const chosen = Attacks.attacks.filter(isChosen)
  if (chosen.length < names.length) throw new Error(`Attacks: ${Attacks.attacks.map(({ name }) => name).join(", ")}`)
  const postgres = store === "postgres" ? await Database.startServer() : undefined
  const results: Array<Attacks.Result> = []
  for (const one of chosen) {
    const result = await Attacks.carryOut(one, bounds, { main: values.main, postgres })
    results.push(result)
    const { figure, memoryAfter, memoryBefore, neighbor, problems } = result
    console.error(
      `${problems.length === 0 ? "pass" : "FAIL"} ${one.name}: ${figure} (another key ${neighbor.toFixed(0)} ms, ` +
        `memory ${memoryBefore.toFixed(0)} to ${memoryAfter.toFixed(0)} MiB)`
    )
    for (const problem of problems) console.error(`     ${problem}`)
  }
  await postgres?.stop()
  console.log(Attacks.report(results, bounds, store))
  if (results.some(({ problems }) => problems.length > 0)) process.exitCode = 1
}

const fuzz = async (): Promise<void> => {
  const result = await Fuzz.run({
    requests: Number(values.requests),
    seed: Number(values.seed),
    only: values.only === undefined ? undefined : Number(values.only),
    concurrency: 16,
    bounds,
    answer: values.busy ? 30_000 : 1000,
    main: values.main
  })
  console.log(Fuzz.report(result))
  if (result.problems.length + result.violations.length > 0) {
    console.error(result.errors)
    process.exitCode = 1
  }
}

const fuzzAnswers = async (): Promise<void> => {
  const result = await FuzzedAnswers.run({
    requests: Number(values.requests),
    seed: Number(values.seed),
    only: values.only === undefined ? undefined : Number(values.only),
    concurrency: 16,
    bounds,
    lifetime: 30,
    main: values.main
  })
  console.log(FuzzedAnswers.report(result))
  if (result.violations.length > 0) process.exitCode = 1
}

const fuzzSettings = async (): Promise<void> => {
  const result = await FuzzSettings.run({
    runs: Number(values.runs),
    seed: Number(values.seed),
    only: values.only === undefined ? undefined : Number(values.only),
    concurrency: 2,
    patience: 60_000,
    main: values.main
  })
  console.log(FuzzSettings.report(result))
  if (FuzzSettings.problemsOf(result).length > 0) process.exitCode = 1
}

const bodies = async (names: ReadonlyArray<string>): Promise<void> => {
  const costs = await Bodies.measure(names, values.main)
  console.log(Bodies.report(costs))
  if (costs.some(({ stall }) => stall > Bodies.bound)) process.exitCode = 1
}

const soak = async (): Promise<void> => {
  const result = await Soak.run({ ...Soak.defaults, minutes: Number(values.minutes), seed: Number(values.seed) })
  console.log(Soak.report(result))
  if (result.problems.length > 0) process.exitCode = 1
}

const usage = async (): Promise<void> => {
  for (const database of Usage.databases) {
    const { problems, texts } = await Usage.run(database, values.quick)
    for (const text of texts) console.log(text)
    for (const problem of problems) console.error(problem)
    if (problems.length > 0) process.exitCode = 1
  }
}

const [command, ...rest] = positionals
if (command === undefined) await compareWithPeers()
else if (command === "databases") for (const text of await Databases.run(values.quick)) console.log(text)
else if (command === "usage") await usage()
else if (command === "objects") for (const text of await Objects.run(values.quick)) console.log(text)
else if (command === "attacks") await attack(rest)
else if (command === "fuzz") await fuzz()
else if (command === "fuzz-answers") await fuzzAnswers()
else if (command === "fuzz-settings") await fuzzSettings()
else if (command === "bodies") await bodies(rest)
else if (command === "soak") await soak()
else throw new Error(`Unknown command "${command}".`)
