/** `model-gateway settings`: about the settings file. */
import { Console, Effect } from "effect"
import { Command } from "effect/cli"
import * as Catalog from "../Catalog.ts"
import * as Output from "../Output.ts"
import * as Settings from "../Settings.ts"
import * as Models from "./Models.ts"

const schema = Command.make("schema", {}, () => Output.json(Settings.jsonSchema())).pipe(
  Command.withDescription(
    "Print the JSON Schema of the settings file. Name its file in $schema, and editors check the settings"
  ),
  Command.withExamples([
    { command: "model-gateway settings schema > settings.schema.json", description: "Write it beside a settings file" }
  ])
)

const check = Command.make(
  "check",
  { config: Settings.configFlag, settings: Settings.flagsOf(Settings.all) },
  Effect.fn("settings check")(function* ({ config, settings }) {
    const { offered } = yield* Models.read(settings, config)
    yield* Console.log(`The settings are valid.\n${Catalog.summary(offered)}`)
  })
).pipe(
  Command.withDescription("Check the settings as serve does, without starting it. A mistake is named with its line"),
  Command.withExamples([
    { command: "model-gateway settings check --config gateway.json", description: "Before a restart with a new file" }
  ])
)

/** The `settings` command. */
export const command = Command.make("settings").pipe(
  Command.withDescription("Describe and check the settings"),
  Command.withSubcommands([schema, check])
)
