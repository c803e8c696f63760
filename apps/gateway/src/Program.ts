/** The program of the executable: from arguments to an exit code. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Effect, Layer } from "effect"
import { CliConfig, Command, GlobalFlag } from "effect/cli"
import * as Serve from "./commands/Serve.ts"
import * as Output from "./Output.ts"
import { ProcessLog } from "./ProcessLog.ts"
import { version } from "./Version.ts"

/** The executable without commands. */
export const root = Command.make("model-gateway").pipe(
  Command.withDescription("One HTTP API in front of many model providers")
)

/** The other commands are not loaded when the service starts. */
const withServe = Command.withSubcommands(root, [Serve.command])

const runnerOf = Effect.fnUntraced(function* (name: string | undefined) {
  if (name === "serve") return Command.runWith(withServe, { version })
  const { command } = yield* Effect.promise(() => import("./Commands.ts"))
  return Command.runWith(command, { version })
})

/** Only `serve` asks for JSON. */
const fail = (message: string) =>
  Effect.flatMap(ProcessLog, (log) =>
    log.isJson() ? Effect.sync(() => log.write("not_started", message)) : Console.error(message)
  )

/**
 * Runs the command that the arguments name and returns the exit code. Errors that a user can fix
 * are printed as one sentence.
 */
export const run = (given: ReadonlyArray<string>) => {
  // Unlike npm, pnpm passes the `--` of `pnpm start -- --port 9000` on. No command here uses it.
  const args = given.filter((arg) => arg !== "--")
  return runnerOf(args[0]).pipe(
    Effect.flatMap((run) => run(args)),
    Effect.as(0),
    Effect.catchTags({
      ShowHelp: ({ errors }) => Effect.succeed(errors.length > 0 ? 2 : 0),
      UsageError: ({ message }) => Effect.as(Console.error(message), 2),
      ExitCode: ({ code }) => Effect.succeed(code)
    }),
    Effect.catch(({ message }) => Effect.as(fail(message), 1)),
    Effect.provide(
      Layer.mergeAll(
        NodeServices.layer,
        Output.layerPresenter,
        CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })
      )
    )
  )
}
