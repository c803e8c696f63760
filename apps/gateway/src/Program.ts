/** The program of the executable: its commands, from arguments to an exit code. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Effect, Layer } from "effect"
import { CliConfig, Command, GlobalFlag } from "effect/cli"
import * as Backup from "./commands/Backup.ts"
import * as Byok from "./commands/Byok.ts"
import * as Credits from "./commands/Credits.ts"
import * as Doctor from "./commands/Doctor.ts"
import * as Guardrails from "./commands/Guardrails.ts"
import * as Keys from "./commands/Keys.ts"
import * as Migrate from "./commands/Migrate.ts"
import * as Models from "./commands/Models.ts"
import * as Reconcile from "./commands/Reconcile.ts"
import * as Requests from "./commands/Requests.ts"
import * as Serve from "./commands/Serve.ts"
import * as SettingsCommand from "./commands/Settings.ts"
import * as Usage from "./commands/Usage.ts"
import * as Videos from "./commands/Videos.ts"
import * as Webhooks from "./commands/Webhooks.ts"
import * as Workspaces from "./commands/Workspaces.ts"
import * as Output from "./Output.ts"
import { ProcessLog } from "./ProcessLog.ts"
import { version } from "./Version.ts"

/** All commands. */
export const command = Command.make("model-gateway").pipe(
  Command.withDescription("One HTTP API in front of many model providers"),
  Command.withSubcommands([
    Serve.command,
    Models.command,
    Keys.command,
    Workspaces.command,
    Credits.command,
    Guardrails.command,
    Usage.command,
    Requests.command,
    Videos.command,
    Webhooks.command,
    Reconcile.command,
    Byok.command,
    Migrate.command,
    Backup.command,
    Backup.restore,
    Doctor.command,
    SettingsCommand.command
  ])
)

/** Only `serve` asks for JSON. */
const fail = (message: string) =>
  Effect.flatMap(ProcessLog, (log) =>
    log.isJson() ? Effect.sync(() => log.write("not_started", message)) : Console.error(message)
  )

/**
 * Runs the command that the arguments name and returns the exit code. Errors that a user can fix
 * are printed as one sentence.
 */
export const run = (args: ReadonlyArray<string>) =>
  // Unlike npm, pnpm passes the `--` of `pnpm start -- --port 9000` on. No command here uses it.
  Command.runWith(command, { version })(args.filter((arg) => arg !== "--")).pipe(
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
