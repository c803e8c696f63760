/** `pnpm chaos`: runs seeds against the service, and describes the first one that fails. */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { type Postgres, startPostgres } from "@model-gateway/test-services/Postgres"
import { Console, Data, Effect, Option, Runtime } from "effect"
import { CliConfig, Command, Flag, GlobalFlag, TerminalCapabilities } from "effect/cli"
import * as Plan from "./Plan.ts"
import * as Report from "./Report.ts"
import * as Run from "./Run.ts"

/** A seed, which is described already, breaks an invariant. */
class InvariantBroken extends Data.TaggedError("InvariantBroken") {
  override readonly [Runtime.errorReported] = false
}

/** A whole number of at least 1. */
const natural = (name: string) =>
  Flag.Int(name).pipe(
    Flag.filter(
      (value) => value >= 1,
      () => "Expected a whole number of at least 1"
    ),
    Flag.optional
  )

/** Starts the server of Postgres when its address is first asked for. */
const postgres = Effect.gen(function* () {
  let server: Promise<Postgres> | undefined
  yield* Effect.addFinalizer(() => Effect.promise(async () => (await server)?.remove()))
  return async () => (await (server ??= startPostgres())).url
})

const chaos = Command.make(
  "chaos",
  {
    seeds: natural("seeds").pipe(Flag.withDescription("How many seeds to run. Default: 20, or 1 with --seed.")),
    seed: natural("seed").pipe(Flag.withDescription("The first seed. Default: 1.")),
    store: Flag.Literals("store", ["sqlite", "postgres"]).pipe(
      Flag.withDescription("The database. Default: sqlite."),
      Flag.withDefault("sqlite")
    )
  },
  Effect.fnUntraced(function* ({ seed: givenSeed, seeds, store }) {
    const first = Option.getOrElse(givenSeed, () => 1)
    const count = Option.getOrElse(seeds, () => (Option.isSome(givenSeed) ? 1 : 20))
    const startedAt = performance.now()
    const location = store === "sqlite" ? store : yield* postgres
    const total = { operations: 0, faults: 0, kills: 0, starts: 0 }
    const summary = (done: number) =>
      `${done} seeds on ${store}: ${total.operations} operations, ${total.faults} faults, ${total.kills} kills, ` +
      `${total.starts} starts, ${Math.round((performance.now() - startedAt) / 1000)} s`
    for (let seed = first; seed < first + count; seed++) {
      const plan = Plan.make(seed, store)
      const result = yield* Effect.promise(() => Run.run(plan, location))
      for (const name of ["operations", "faults", "kills", "starts"] as const) total[name] += result.counts[name]
      if (result.violations.length > 0) {
        yield* Console.log(`Seed ${seed} breaks an invariant. Looking for a shorter plan …`)
        const tries = store === "sqlite" ? 80 : 15
        const run = (shorter: Plan.Plan) => Run.run(shorter, location)
        yield* Console.log(yield* Effect.promise(() => Report.describe({ plan, result }, store, run, tries)))
        return yield* new InvariantBroken()
      }
      const done = seed - first + 1
      if (done % 20 === 0 && done < count) yield* Console.log(summary(done))
    }
    yield* Console.log(`${summary(count)}. Every invariant held.`)
  }, Effect.scoped)
).pipe(Command.withDescription("Runs the service under random faults and checks that nothing is lost."))

/** Ends the process also after a success: the fibers of a process that was killed wait for ever. */
const teardown: Runtime.Teardown = (exit) => {
  Runtime.defaultTeardown(exit, (code) => process.exit(code))
}

Command.run(chaos, { version: "0.0.0" }).pipe(
  Effect.provide([
    TerminalCapabilities.layer,
    CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })
  ]),
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain({ teardown })
)
