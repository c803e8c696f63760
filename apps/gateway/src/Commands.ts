/** All commands of the executable. */
import { Command } from "effect/cli"
import * as Alerts from "./commands/Alerts.ts"
import * as Audit from "./commands/Audit.ts"
import * as Backup from "./commands/Backup.ts"
import * as Byok from "./commands/Byok.ts"
import * as Console from "./commands/Console.ts"
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
import * as Program from "./Program.ts"

export const command = Program.root.pipe(
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
    Alerts.command,
    Audit.command,
    Console.command,
    Reconcile.command,
    Byok.command,
    Migrate.command,
    Backup.command,
    Backup.restore,
    Doctor.command,
    SettingsCommand.command
  ])
)
