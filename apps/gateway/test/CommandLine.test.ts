import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Setting from "@model-gateway/settings/Setting"
import { Effect, Option } from "effect"
import { CliConfig, CliOutput, Command, GlobalFlag, type HelpDoc } from "effect/cli"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import * as Commands from "../src/Commands.ts"
import * as Settings from "../src/Settings.ts"
import { run } from "./Commands.ts"

/** The help of a command, as data. */
const helpOf = (path: ReadonlyArray<string>): HelpDoc.HelpDoc => {
  let help: HelpDoc.HelpDoc | undefined
  const presenter = CliOutput.layerPresenter({
    present: (event) =>
      Effect.sync(() => {
        if (event._tag === "Help") help = event.helpDoc
      })
  })
  Effect.runSync(
    Command.runWith(Commands.command, { version: "0" })([...path, "--help"]).pipe(
      Effect.provide([presenter, NodeServices.layer, CliConfig.layer({ builtIns: [GlobalFlag.Help] })]),
      Effect.ignore
    ) as Effect.Effect<void>
  )
  return help ?? expect.fail(`${path.join(" ")} has no help`)
}

interface Documented {
  readonly path: ReadonlyArray<string>
  readonly help: HelpDoc.HelpDoc
}

const subcommands = (help: HelpDoc.HelpDoc): ReadonlyArray<string> =>
  (help.subcommands ?? []).flatMap(({ commands }) => commands.map(({ name }) => name))

/** The command and those below it. */
const tree = (path: ReadonlyArray<string>): ReadonlyArray<Documented> => {
  const help = helpOf(path)
  return [{ path, help }, ...subcommands(help).flatMap((name) => tree([...path, name]))]
}

const all = tree([]).slice(1)

const settings = new Set(Setting.entries(Settings.all).map(({ setting }) => setting.name))

/** Whether a flag is that of a setting, or of the file of a secret one. */
const isSetting = (name: string): boolean => settings.has(name) || settings.has(name.replace(/-file$/, ""))

/** The flags that the page explains once. */
const common = ["url", "config", "json"]

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ")

const rows = ({ args = [], flags }: HelpDoc.HelpDoc): ReadonlyArray<string> => [
  ...args.map(
    ({ description, name, required, variadic }) =>
      `| \`<${name}>\`${variadic ? ", several" : ""} | ${required ? "required" : ""} | ${cell(Option.getOrElse(description, () => ""))} |`
  ),
  ...flags
    .filter(({ name }) => !isSetting(name) && !common.includes(name))
    .map(
      ({ description, name, required, type }) =>
        `| \`--${name}${type === "boolean" ? "" : ` <${type}>`}\` | ${required ? "required" : ""} | ${cell(Option.getOrElse(description, () => ""))} |`
    )
]

const section = ({ help, path }: Documented): string => {
  const table = rows(help)
  const examples = (help.examples ?? []).map(({ command, description = "" }) => `# ${description}\n${command}`)
  const others = help.flags.filter(({ name }) => common.includes(name)).map(({ name }) => `\`--${name}\``)
  const ofSettings = help.flags.filter(({ name }) => isSetting(name)).map(({ name }) => `\`--${name}\``)
  const also = [
    ...others,
    ...(ofSettings.length > 5 ? ["[a flag for each setting](../reference/settings.md)"] : ofSettings)
  ]
  return [
    `${"#".repeat(path.length + 1)} ${path.join(" ")}`,
    help.description.endsWith(".") ? help.description : `${help.description}.`,
    ...(table.length === 0 ? [] : [["| Argument or flag | | Meaning |", "|---|---|---|", ...table].join("\n")]),
    ...(also.length === 0 ? [] : [`Also ${also.join(", ")}.`]),
    ...(examples.length === 0 ? [] : [["```sh", ...examples, "```"].join("\n")])
  ].join("\n\n")
}

describe("the command line", () => {
  it("is documented as it is (written by vitest run --update)", async () => {
    const page = fileURLToPath(new URL("../../../docs/operate/commands.md", import.meta.url))
    const mark = "<!-- What follows is written by apps/gateway/test/CommandLine.test.ts. -->\n"
    const [head = ""] = readFileSync(page, "utf8").split(mark)
    await expect(`${head}${mark}\n${all.map(section).join("\n\n")}\n`).toMatchFileSnapshot(page)
  })

  it("says of every command and flag what it does, and of every flag its default or that it is required", () => {
    const isExplained = ({ description, name, required, type }: HelpDoc.FlagDoc): boolean => {
      const text = Option.getOrElse(description, () => "")
      const isExempt = required || type === "boolean" || common.includes(name) || isSetting(name)
      return /^[A-Z]/.test(text) && (isExempt || text.includes("Default: "))
    }
    const lacking = all.flatMap(({ help, path }) => [
      ...(/^[A-Z]/.test(help.description) ? [] : [path.join(" ")]),
      ...help.flags.filter((flag) => !isExplained(flag)).map(({ name }) => `${path.join(" ")} --${name}`)
    ])
    expect(lacking).toEqual([])
  })

  it("takes --json wherever a command reads or changes something, and --url wherever the API can do it", () => {
    const lacking = (flag: string) =>
      all
        .filter(({ help }) => subcommands(help).length === 0 && !help.flags.some(({ name }) => name === flag))
        .map(({ path }) => path.join(" "))
    expect(lacking("json")).toEqual([
      "serve",
      "models update",
      "models schema",
      "keys generate",
      "settings schema",
      "settings check"
    ])
    expect(lacking("url")).toMatchInlineSnapshot(`
      [
        "serve",
        "models update",
        "models schema",
        "keys generate",
        "console link",
        "reconcile settle",
        "reconcile dismiss",
        "byok rewrap",
        "migrate",
        "backup",
        "restore",
        "doctor",
        "settings schema",
        "settings check",
      ]
    `)
  })

  it("has a status of its own for a wrong call: 2, with the sentence on stderr", async () => {
    for (const args of [
      ["keys", "create", "--colour", "red"],
      ["keys", "crate"],
      ["requests", "show"],
      ["usage", "--by", "moon"]
    ]) {
      const { code, stderr, stdout } = await run(args)
      expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: "" })
      expect(stderr).toMatch(/See model-gateway [^\n]*--help\.\n$/)
    }
  })
})
