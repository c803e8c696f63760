/** Reads the settings of {@link Settings} from the flags, the environment and the settings file. */
import { type Config, ConfigProvider, Effect, FileSystem, Option, Path, Predicate, SchemaIssue } from "effect"
import { statSync } from "node:fs"
import { Failure } from "./Failure.ts"
import { nearest } from "./Nearest.ts"
import * as Settings from "./Settings.ts"

/** The text of a value, and how to name its source in a sentence. */
interface Given {
  readonly text: string
  readonly source: string
}

/** The values that were given. */
export interface Loaded {
  /**
   * Reads one part of the settings. Fails with a sentence that names the malformed one and its
   * source.
   */
  readonly read: <A>(part: Config.Config<A>) => Effect.Effect<A, Failure>
  /** The failure for a setting whose value was given and cannot be used. */
  readonly invalid: (row: Settings.Setting) => Failure
}

/** Variables that the clients on this machine read. The gateway ignores them. */
const clientVariables = ["API_KEY", "BASE_URL", "MANAGEMENT_KEY", "WORKSPACE_ID"].map((name) => Settings.prefix + name)

const fileVariable = `${Settings.prefix}CONFIG`

const byName = new Map(Settings.settings.map((row) => [row.name, row]))
const byVariable = new Map(Settings.settings.map((row) => [row.variable, row]))

const fromFile = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  const text = yield* fs
    .readFileString(file)
    .pipe(Effect.mapError(() => new Failure({ message: `The settings file ${file} cannot be read.` })))
  const json = yield* Effect.try({
    try: (): unknown => JSON.parse(text),
    catch: () => new Failure({ message: `The settings file ${file} is not JSON.` })
  })
  if (!Predicate.isObject(json)) {
    return yield* new Failure({ message: `The settings file ${file} must hold one JSON object.` })
  }
  const given = new Map<string, Given>()
  for (const [name, value] of Object.entries(json)) {
    const row = byName.get(name)
    if (row === undefined) {
      return yield* new Failure({
        message: `The settings file ${file} has an unknown setting "${name}". Did you mean "${nearest(name, [...byName.keys()])}"?`
      })
    }
    if (typeof value !== "string" && typeof value !== "number") {
      return yield* new Failure({ message: `"${name}" in ${file} is not ${row.form}.` })
    }
    given.set(row.variable, { text: String(value), source: `"${name}" in ${file}` })
  }
  return given
})

const rejectUnknown = Effect.fnUntraced(function* (environment: Readonly<Record<string, string | undefined>>) {
  const known = [...byVariable.keys(), fileVariable]
  for (const [name, text] of Object.entries(environment)) {
    if (!name.startsWith(Settings.prefix) || text === undefined || text === "") continue
    if (known.includes(name) || clientVariables.includes(name)) continue
    return yield* new Failure({
      message: `${name} in the environment is not a setting. Did you mean ${nearest(name, known)}?`
    })
  }
})

/** Combines what was given by flag, environment and file. */
export const load = Effect.fnUntraced(function* (
  flags: Readonly<Record<string, Option.Option<string>>>,
  file: Option.Option<string>,
  environment: Readonly<Record<string, string | undefined>>
) {
  yield* rejectUnknown(environment)
  const path = Option.getOrElse(file, () => environment[fileVariable] ?? "")
  const given = path === "" ? new Map<string, Given>() : new Map(yield* fromFile(path))
  for (const { name, variable } of Settings.settings) {
    const text = environment[variable]
    // An empty variable is how compose files and shells say "not set".
    if (text !== undefined && text !== "") given.set(variable, { text, source: `${variable} in the environment` })
    const flag = flags[name]
    if (flag !== undefined && Option.isSome(flag)) given.set(variable, { text: flag.value, source: `--${name}` })
  }

  const provider = ConfigProvider.fromUnknown(
    Object.fromEntries(Array.from(given, ([variable, { text }]) => [variable, text])),
    { preserveEmptyStrings: true }
  )
  const invalid = (row: Settings.Setting): Failure => {
    const value = given.get(row.variable)
    const source = value?.source ?? `--${row.name}`
    return new Failure({
      message:
        row.secret || value === undefined
          ? `${source} is not ${row.form}.`
          : `${source} is "${value.text}", which is not ${row.form}.`
    })
  }
  const failure = (error: Config.ConfigError): Failure => {
    const variable = error.cause._tag === "SchemaError" ? variableOf(error.cause.issue) : undefined
    const row = byVariable.get(variable ?? "")
    return row === undefined || !given.has(row.variable)
      ? new Failure({ message: `The settings cannot be read: ${error.message}` })
      : invalid(row)
  }
  const loaded: Loaded = { read: (part) => Effect.mapError(part.parse(provider), failure), invalid }
  return loaded
})

const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

const variableOf = (issue: SchemaIssue.Issue): string | undefined => {
  const [first] = formatIssue(issue).issues
  const segment = first?.path?.[0]
  return segment === undefined ? undefined : String(typeof segment === "object" ? segment.key : segment)
}

/**
 * The executable's own settings, with its folders made absolute. Fails if the folder of the page
 * does not exist.
 */
export const read = Effect.fnUntraced(function* (loaded: Loaded) {
  const path = yield* Path.Path
  const values = yield* loaded.read(Settings.config)
  const webDir = values.webDir === undefined ? undefined : path.resolve(values.webDir)
  // The sample's page is missing where only the gateway was built. Then no page is served.
  const isGiven = webDir !== undefined && webDir !== Settings.samplePage
  if (isGiven && !isDirectory(webDir)) return yield* loaded.invalid(Settings.webDir)
  return { ...values, dataDir: path.resolve(values.dataDir), webDir }
})

const isDirectory = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
