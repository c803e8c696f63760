/** `pnpm bench`: comparisons with peers, and measurements. `--help` lists the commands. */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Console, Data, Effect, Option, Runtime } from "effect"
import { CliConfig, Command, Flag, GlobalFlag, TerminalCapabilities } from "effect/cli"
import * as Bundle from "./bundle/index.ts"
import * as Capacity from "./capacity/index.ts"
import * as Client from "./client/index.ts"
import * as ConsolePages from "./console/index.ts"
import * as Databases from "./databases/index.ts"
import * as Endurance from "./endurance/index.ts"
import * as Objects from "./objects/index.ts"
import * as Rendering from "./rendering/index.ts"
import * as Start from "./start/index.ts"
import * as Upstream from "./upstream/index.ts"
import * as Usage from "./usage/index.ts"
import * as Workers from "./workers/index.ts"

/** A measurement, which is printed already, exceeds its bound. */
class BoundExceeded extends Data.TaggedError("BoundExceeded") {
  override readonly [Runtime.errorReported] = false
}

const quick = Flag.Boolean("quick").pipe(
  Flag.withDescription("Run fewer rounds, to check that it works."),
  Flag.withDefault(false)
)

const against = Flag.Directory("against", { mustExist: true }).pipe(
  Flag.withDescription("Compare with another clone of this repository, which is built, in the same rounds."),
  Flag.optional
)

/** What a measurement printed, and the bounds that it exceeds. */
interface Judged {
  readonly texts: ReadonlyArray<string>
  readonly problems: ReadonlyArray<string>
}

/** Prints the tables of a measurement that has bounds. Fails after all if one is exceeded. */
const printJudged = Effect.fnUntraced(function* (measures: ReadonlyArray<() => Promise<Judged>>) {
  let isExceeded = false
  for (const measure of measures) {
    const { problems, texts } = yield* Effect.promise(measure)
    for (const text of texts) yield* Console.log(text)
    for (const problem of problems) yield* Console.error(problem)
    isExceeded ||= problems.length > 0
  }
  if (isExceeded) return yield* new BoundExceeded()
})

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

const usage = Command.make("usage", { quick }, ({ quick }) =>
  printJudged(Usage.databases.map((database) => () => Usage.run(database, quick)))
).pipe(
  Command.withDescription(
    "Measures the activity and the request log with 1,000,000 requests in the ledger, and what the sums of each day " +
      "cost a paid request."
  )
)

const upstream = Command.make(
  "upstream",
  {
    quick,
    only: Flag.Literals("only", Upstream.parts).pipe(
      Flag.withDescription("Measure this part only. You can give it more than once."),
      Flag.atLeast(0)
    ),
    against
  },
  ({ against, only, quick }) =>
    printJudged([() => Upstream.run({ quick, only, against: Option.getOrUndefined(against) })])
).pipe(
  Command.withDescription(
    "Measures the CPU time of a request, next to Portkey's gateway and to bare node:http. Fails if a target is missed " +
      "by more than the spread."
  )
)

const endurance = Command.make(
  "endurance",
  {
    requests: Flag.Int("requests").pipe(Flag.withDescription("Paid requests in all."), Flag.withDefault(1_000_000)),
    step: Flag.Int("step").pipe(Flag.withDescription("Paid requests for each row."), Flag.withDefault(100_000))
  },
  (options) => printJudged([() => Endurance.run(options)])
).pipe(
  Command.withDescription(
    "Measures memory, file descriptors and the database of the executable as it serves paid requests (20 minutes)."
  )
)

const start = Command.make("start", { quick, against }, ({ against, quick }) =>
  printJudged([() => Start.run({ quick, against: Option.getOrUndefined(against) })])
).pipe(
  Command.withDescription(
    "Measures the executable from its start to the first answer, and its memory (2 minutes). Fails if a bound is missed " +
      "by more than the spread."
  )
)

const pages = Command.make("console", { quick }, ({ quick }) => printJudged([() => ConsolePages.run(quick)])).pipe(
  Command.withDescription(
    "Measures the size of each page of the console and the playground, and their first paint on a slow phone (a minute). " +
      "Fails if a bound is exceeded."
  )
)

const workers = Command.make(
  "workers",
  { quick },
  Effect.fnUntraced(function* ({ quick }) {
    for (const store of Workers.stores) yield* print(() => Workers.run(store, quick))
  })
).pipe(
  Command.withDescription("Measures paid requests with 1, 2 and 3 workers, on SQLite and on Postgres (5 minutes).")
)

const capacity = Command.make("capacity", { quick }, ({ quick }) => print(() => Capacity.run(quick))).pipe(
  Command.withDescription("Measures what one paid request costs each part (5 minutes).")
)

const bench = Command.make(
  "bench",
  { quick },
  Effect.fnUntraced(function* ({ quick }) {
    for (const { run } of [Client, Rendering, Bundle]) yield* print(() => run(quick))
    yield* printJudged([() => Upstream.run({ quick })])
  })
).pipe(
  Command.withDescription("Compares the client and the service with peers. The commands measure more."),
  Command.withSubcommands([databases, usage, objects, upstream, start, endurance, workers, capacity, pages])
)

Command.run(bench, { version: "0.0.0" }).pipe(
  Effect.provide([
    TerminalCapabilities.layer,
    CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })
  ]),
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)
