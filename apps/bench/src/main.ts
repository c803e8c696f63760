/** `pnpm bench`: comparisons with peers, and measurements. `--help` lists the commands. */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Console, Data, Effect, Runtime } from "effect"
import { CliConfig, Command, Flag, GlobalFlag, TerminalCapabilities } from "effect/cli"
import * as Bundle from "./bundle/index.ts"
import * as Client from "./client/index.ts"
import * as Databases from "./databases/index.ts"
import * as Objects from "./objects/index.ts"
import * as Rendering from "./rendering/index.ts"
import * as Service from "./service/index.ts"
import * as Upstream from "./upstream/index.ts"
import * as Usage from "./usage/index.ts"

/** A measurement, which is printed already, exceeds its bound. */
class BoundExceeded extends Data.TaggedError("BoundExceeded") {
  override readonly [Runtime.errorReported] = false
}

const quick = Flag.Boolean("quick").pipe(
  Flag.withDescription("Run fewer rounds, to check that it works."),
  Flag.withDefault(false)
)

/** Prints the tables of a measurement. */
const print = Effect.fnUntraced(function* (measure: () => Promise<ReadonlyArray<string>>) {
  for (const text of yield* Effect.promise(measure)) yield* Console.log(text)
})

const databases = Command.make("databases", { quick }, ({ quick }) => print(() => Databases.run(quick))).pipe(
  Command.withDescription("Measures paid requests on SQLite, and on Postgres with one process and with two.")
)

const objects = Command.make("objects", { quick }, ({ quick }) => print(() => Objects.run(quick))).pipe(
  Command.withDescription("Measures uploads and downloads of files on a local folder and on S3.")
)

const usage = Command.make(
  "usage",
  { quick },
  Effect.fnUntraced(function* ({ quick }) {
    let isExceeded = false
    for (const database of Usage.databases) {
      const { problems, texts } = yield* Effect.promise(() => Usage.run(database, quick))
      for (const text of texts) yield* Console.log(text)
      for (const problem of problems) yield* Console.error(problem)
      isExceeded ||= problems.length > 0
    }
    if (isExceeded) return yield* new BoundExceeded()
  })
).pipe(
  Command.withDescription(
    "Measures the activity and the request log with 1,000,000 requests in the ledger, and what the sums of each day " +
      "cost a paid request."
  )
)

const bench = Command.make(
  "bench",
  { quick },
  Effect.fnUntraced(function* ({ quick }) {
    for (const { run } of [Client, Service, Rendering, Bundle, Upstream]) yield* print(() => run(quick))
  })
).pipe(
  Command.withDescription("Compares the client and the service with peers. The commands measure more."),
  Command.withSubcommands([databases, usage, objects])
)

Command.run(bench, { version: "0.0.0" }).pipe(
  Effect.provide([
    TerminalCapabilities.layer,
    CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })
  ]),
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)
