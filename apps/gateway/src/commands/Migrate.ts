/** `model-gateway migrate`: brings the database to the schema of this version, apart from `serve`. */
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import * as Database from "../Database.ts"
import * as DataFolder from "../DataFolder.ts"
import { ExitCode, somethingToDo } from "../Failure.ts"
import * as LoadSettings from "../LoadSettings.ts"
import * as Output from "../Output.ts"
import * as Storage from "../Storage.ts"
import { version } from "../Version.ts"

const listed = (names: ReadonlyArray<string>): string => names.map((name) => `  ${name}`).join("\n")

const counted = (names: ReadonlyArray<string>): string =>
  `${names.length} ${names.length === 1 ? "migration" : "migrations"}`

/** The `migrate` command. */
export const command = Command.make(
  "migrate",
  {
    dryRun: Flag.Boolean("dry-run").pipe(
      Flag.withDescription(
        `Only say what would run, and change nothing. The exit code is ${somethingToDo} if something would`
      ),
      Flag.withDefault(false)
    ),
    ...Storage.flags
  },
  Effect.fn("migrate")(function* ({ config, dryRun, json, settings }) {
    const { databaseConnections, databaseUrl, dataDir } = yield* Effect.flatMap(
      LoadSettings.load(settings, config),
      LoadSettings.read
    )
    const Maintenance = yield* Effect.promise(() => import("@model-gateway/server/Maintenance"))
    const options = { databaseConnections, databaseUrl, dataDir }
    const name = databaseUrl === undefined ? Database.fileIn(dataDir) : Database.nameOf(databaseUrl)
    if (dryRun) {
      // A missing database is not created to say that it lacks everything.
      const isThere = Database.exists({ databaseUrl, dataDir })
      const schema = isThere ? yield* Maintenance.schema(options) : Maintenance.emptySchema
      const { current, newest, pending } = schema
      yield* json
        ? Output.json({ database: name, version, schema: current, newest, pending })
        : Console.log(
            pending.length === 0
              ? `${name} has schema ${current}. No migration is pending.`
              : `${name} ${isThere ? `has schema ${current}` : "does not exist"}. ${counted(pending)} would run:\n${listed(pending)}`
          )
      return yield* pending.length === 0 ? Effect.void : new ExitCode({ code: somethingToDo })
    }
    yield* DataFolder.prepare(dataDir)
    const applied = yield* Maintenance.migrate(options)
    const { current, newest } = yield* Maintenance.schema(options)
    yield* json
      ? Output.json({ database: name, version, schema: current, newest, applied })
      : Console.log(
          applied.length === 0
            ? `${name} has schema ${current}. No migration was pending.`
            : `${name} has schema ${current} now. ${counted(applied)} ran:\n${listed(applied)}`
        )
  })
).pipe(
  Command.withDescription(
    "Bring the database to the schema of this version, and create it if it does not exist. All migrations run in one transaction: either all or none happen. " +
      "Several of these commands may run at once, also beside running gateways of the earlier version. Use it with `--migrate never` of serve"
  ),
  Command.withShortDescription("Bring the database to the schema of this version"),
  Command.withExamples([
    { command: "model-gateway migrate --dry-run", description: "Say what the new version would change" },
    { command: "model-gateway migrate", description: "Before the processes of the new version start" }
  ])
)
