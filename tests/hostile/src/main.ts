/** `pnpm hostile`: hostile callers, upstreams and networks. `--help` lists the commands. */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Console, Data, Effect, Option, Runtime } from "effect"
import { Argument, CliConfig, Command, Flag, GlobalFlag, TerminalCapabilities } from "effect/cli"
import * as FuzzedAnswers from "./answers/index.ts"
import * as Attacks from "./attacks/index.ts"
import * as Bodies from "./bodies.ts"
import * as Database from "./database.ts"
import * as Fuzz from "./fuzz/index.ts"
import * as FuzzSettings from "./fuzz/settings.ts"
import * as Soak from "./soak/index.ts"

/** The report, which is printed already, has problems. */
class ProblemsFound extends Data.TaggedError("ProblemsFound") {
  override readonly [Runtime.errorReported] = false
}

/** Prints the report of a run. Fails if there are problems. */
const reporting = <A>(run: () => Promise<A>, report: (result: A) => string, isBad: (result: A) => boolean) =>
  Effect.gen(function* () {
    const result = yield* Effect.promise(run)
    yield* Console.log(report(result))
    if (isBad(result)) return yield* new ProblemsFound()
  })

const main = Flag.File("main", { mustExist: true }).pipe(
  Flag.withDescription("The main.js of the gateway to attack. Default: the one of this checkout."),
  Flag.optional,
  Flag.map(Option.getOrUndefined)
)

const bounds = Flag.Boolean("busy").pipe(
  Flag.withDescription("Wider bounds of time, for a machine that does other work, too."),
  Flag.withDefault(false),
  Flag.map((isBusy) => (isBusy ? Attacks.lenient : Attacks.strict))
)

const seed = Flag.Int("seed").pipe(
  Flag.withDescription("The seed of the random choices. Default: a different one each time."),
  Flag.optional,
  Flag.map(Option.getOrElse(() => Date.now() % 1_000_000))
)

const only = Flag.Int("only").pipe(
  Flag.withDescription("The number of the one request or run to repeat."),
  Flag.optional,
  Flag.map(Option.getOrUndefined)
)

const requests = Flag.Int("requests").pipe(
  Flag.withDescription("How many requests to send. Default: 100000."),
  Flag.withDefault(100_000)
)

/** A figure of an attack. NaN: the attack skips its check. */
const orNotChecked = (figure: number, unit: string): string =>
  Number.isNaN(figure) ? "not checked" : `${figure.toFixed(0)} ${unit}`

const attacks = Command.make(
  "attacks",
  {
    names: Argument.Literals(
      "attack",
      Attacks.attacks.map(({ name }) => name)
    ).pipe(Argument.withDescription("The attacks to run. Default: all."), Argument.variadic()),
    main,
    bounds,
    store: Flag.Literals("store", Database.stores).pipe(
      Flag.withDescription("The database of the gateway. On Postgres, the attacks on the database run."),
      Flag.withDefault("sqlite")
    ),
    all: Flag.Boolean("all").pipe(Flag.withDescription("Run every attack on Postgres."), Flag.withDefault(false))
  },
  ({ all, bounds, main, names, store }) => {
    const chosen = Attacks.attacks.filter(({ name, storage = false }) =>
      names.length === 0 ? store === "sqlite" || storage || all : names.includes(name)
    )
    const run = async () => {
      const postgres = store === "postgres" ? await Database.startServer() : undefined
      const results: Array<Attacks.Result> = []
      for (const attack of chosen) {
        const result = await Attacks.carryOut(attack, bounds, { main, postgres })
        results.push(result)
        const { figure, memoryAfter, memoryBefore, neighbor, problems } = result
        console.error(
          `${problems.length === 0 ? "pass" : "FAIL"} ${attack.name}: ${figure} (another key ${orNotChecked(neighbor, "ms")}, ` +
            `memory ${memoryBefore.toFixed(0)} MiB to ${orNotChecked(memoryAfter, "MiB")})`
        )
        for (const problem of problems) console.error(`     ${problem}`)
      }
      await postgres?.stop()
      return results
    }
    return reporting(
      run,
      (results) => Attacks.report(results, bounds, store),
      (results) => results.some(({ problems }) => problems.length > 0)
    )
  }
).pipe(Command.withDescription("Attacks the gateway and prints a row for each attack."))

const fuzz = Command.make("fuzz", { bounds, main, only, requests, seed }, ({ bounds, ...options }) => {
  const isBad = ({ problems, violations }: Fuzz.Result) => problems.length + violations.length > 0
  const run = async () => {
    const answer = bounds === Attacks.lenient ? 30_000 : 1000
    const result = await Fuzz.run({ ...options, bounds, concurrency: 16, answer })
    if (isBad(result)) console.error(result.errors)
    return result
  }
  return reporting(run, Fuzz.report, isBad)
}).pipe(Command.withDescription("Sends random requests to every operation and checks each response."))

const fuzzAnswers = Command.make("fuzz-answers", { bounds, main, only, requests, seed }, (options) =>
  reporting(
    () => FuzzedAnswers.run({ ...options, concurrency: 16, lifetime: 30 }),
    FuzzedAnswers.report,
    ({ violations }) => violations.length > 0
  )
).pipe(
  Command.withDescription(
    "Asks for paid work of upstreams whose answers are random, and checks each response, the ledger and the lists."
  )
)

const runs = Flag.Int("runs").pipe(
  Flag.withDescription("How many times to start the gateway. Default: 500."),
  Flag.withDefault(500)
)

const fuzzSettings = Command.make("fuzz-settings", { main, only, runs, seed }, (options) =>
  reporting(
    () => FuzzSettings.run({ ...options, concurrency: 2, patience: 60_000 }),
    FuzzSettings.report,
    (result) => FuzzSettings.problemsOf(result).length > 0
  )
).pipe(Command.withDescription("Starts the gateway with random flags, variables and settings files."))

const bodies = Command.make(
  "bodies",
  {
    operations: Argument.String("operation").pipe(
      Argument.withDescription("The operations to measure. Default: all."),
      Argument.variadic()
    ),
    main
  },
  ({ main, operations }) =>
    reporting(
      () => Bodies.measure(operations, main),
      Bodies.report,
      (costs) => costs.some(({ stall }) => stall > Bodies.bound)
    )
).pipe(Command.withDescription("Searches for the 1 MiB body that blocks the event loop the longest."))

const minutes = Flag.Finite("minutes").pipe(
  Flag.withDescription("How long the client makes calls. Default: 30."),
  Flag.withDefault(30)
)

const soak = Command.make("soak", { minutes, seed }, (options) =>
  reporting(
    () => Soak.run({ ...Soak.defaults, ...options }),
    Soak.report,
    ({ problems }) => problems.length > 0
  )
).pipe(
  Command.withDescription(
    "Runs the Node client against a server whose connections and answers fail at random, and checks every call and charge."
  )
)

const hostile = Command.make("hostile").pipe(
  Command.withDescription("Hostile callers, upstreams and networks"),
  Command.withSubcommands([attacks, fuzz, fuzzSettings, fuzzAnswers, bodies, soak])
)

Command.run(hostile, { version: "0.0.0" }).pipe(
  Effect.provide([
    TerminalCapabilities.layer,
    CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })
  ]),
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)
