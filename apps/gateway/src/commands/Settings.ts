/** `model-gateway settings`: about the settings file. */
import { Command } from "effect/cli"
import * as Output from "../Output.ts"
import * as Settings from "../Settings.ts"

const schema = Command.make("schema", {}, () => Output.json(Settings.jsonSchema())).pipe(
  Command.withDescription(
    "Print the JSON Schema of the settings file. Name its file in $schema, and editors check the settings"
  ),
  Command.withExamples([
    { command: "model-gateway settings schema > settings.schema.json", description: "Write it beside a settings file" }
  ])
)

/** The `settings` command. */
export const command = Command.make("settings").pipe(
  Command.withDescription("Describe the settings file"),
  Command.withSubcommands([schema])
)
