#!/usr/bin/env node
/** The executable `model-gateway`. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Effect, Layer } from "effect"
import { CliConfig, Command, GlobalFlag } from "effect/cli"
import * as Credits from "./commands/Credits.ts"
import * as Keys from "./commands/Keys.ts"
import * as Serve from "./commands/Serve.ts"
import * as Output from "./Output.ts"
import * as Process from "./Process.ts"
import { version } from "./Version.ts"

const command = Command.make("model-gateway").pipe(
  Command.withDescription("One HTTP API in front of many model providers"),
  Command.withSubcommands([Serve.command, Keys.command, Credits.command])
)

/** `pnpm start -- --port 9000` hands on the dashes that npm takes away; no command here has a use for them. */
const args = process.argv.slice(2).filter((arg) => arg !== "--")

/** Runs what the command line asks for; answers with the exit code. Whatever a person can mend has been said in one sentence by then. */
const program = Command.runWith(command, { version })(args).pipe(
  Effect.as(0),
  Effect.catch((error) =>
    error._tag === "ShowHelp"
      ? Effect.succeed(error.errors.length > 0 ? 1 : 0)
      : Effect.as(Console.error(error.message), 1)
  ),
  Effect.provide(
    Layer.mergeAll(
      NodeServices.layer,
      Output.layerPresenter,
      CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })
    )
  )
)

Process.run(program)
