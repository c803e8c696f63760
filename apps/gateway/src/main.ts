#!/usr/bin/env node
/** The executable `model-gateway`. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Effect, Layer } from "effect"
import { CliConfig, Command, GlobalFlag } from "effect/cli"
import * as Byok from "./commands/Byok.ts"
import * as Credits from "./commands/Credits.ts"
import * as Keys from "./commands/Keys.ts"
import * as Models from "./commands/Models.ts"
import * as Reconcile from "./commands/Reconcile.ts"
import * as Serve from "./commands/Serve.ts"
import * as SettingsCommand from "./commands/Settings.ts"
import * as Output from "./Output.ts"
import * as Process from "./Process.ts"
import { nodeProblem, version } from "./Version.ts"

const command = Command.make("model-gateway").pipe(
  Command.withDescription("One HTTP API in front of many model providers"),
  Command.withSubcommands([
    Serve.command,
    Models.command,
    Keys.command,
    Credits.command,
    Reconcile.command,
    Byok.command,
    SettingsCommand.command
  ])
)

/** Unlike npm, pnpm passes the `--` of `pnpm start -- --port 9000` on. No command here uses it. */
const args = process.argv.slice(2).filter((arg) => arg !== "--")

/**
 * Runs the command and returns the exit code. Errors that a user can fix are printed as one
 * sentence.
 */
const program = Command.runWith(command, { version })(args).pipe(
  Effect.as(0),
  Effect.catchTags({
    ShowHelp: ({ errors }) => Effect.succeed(errors.length > 0 ? 1 : 0),
    ExitCode: ({ code }) => Effect.succeed(code)
  }),
  Effect.catch((error) => Effect.as(Console.error(error.message), 1)),
  Effect.provide(
    Layer.mergeAll(
      NodeServices.layer,
      Output.layerPresenter,
      CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })
    )
  )
)

Process.run(nodeProblem === undefined ? program : Effect.as(Console.error(nodeProblem), 1))
