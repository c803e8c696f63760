/** Reads the settings of {@link Settings} from the flags, the environment and the settings file. */
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import * as GatewayServerConfig from "@model-gateway/server/GatewayServerConfig"
import { nearest } from "@model-gateway/settings/Nearest"
import * as Setting from "@model-gateway/settings/Setting"
import { type Config, ConfigProvider, Context, Effect, Option, Path, Redacted, SchemaIssue } from "effect"
import { statSync } from "node:fs"
import * as CatalogFile from "./CatalogFile.ts"
import { Failure } from "./Failure.ts"
import * as ModelSettings from "./ModelSettings.ts"
import * as SecretFile from "./SecretFile.ts"
import * as Settings from "./Settings.ts"
import * as SettingsFile from "./SettingsFile.ts"
import type * as Tls from "./Tls.ts"

/** The environment variables. Default: those of the process. */
export const Environment = Context.Reference<Readonly<Record<string, string | undefined>>>(
  "@model-gateway/gateway/LoadSettings/Environment",
  { defaultValue: () => process.env }
)

/** A kind of place that a setting's value is from. */
export type Origin = "default" | "environment" | "file" | "flag"

/** A value that was given. */
interface Given extends Omit<SettingsFile.Given, "setting"> {
  readonly origin: Exclude<Origin, "default">
}

/** The values that were given. */
export interface Loaded {
  /**
   * Reads one part of the settings. Fails with a sentence that names the malformed one and its
   * source.
   */
  readonly read: <A>(part: Config.Config<A>) => Effect.Effect<A, Failure>
  /** The failure for a setting whose value was given and cannot be used. */
  readonly invalid: (setting: Setting.Setting<unknown>) => Failure
  /** The settings whose values were given otherwise in `former`, or there only, or here only. */
  readonly changedFrom: (former: Loaded) => ReadonlyArray<Setting.Setting<unknown>>
  /** The value of a setting as it was given. It may be a secret. Undefined if it is the default. */
  readonly textOf: (setting: Setting.Setting<unknown>) => string | undefined
  /** The kind of place that a setting's value is from. */
  readonly originOf: (setting: Setting.Setting<unknown>) => Origin
  /** Names where a setting's value is from. Undefined if it is the default. */
  readonly sourceOf: (setting: Setting.Setting<unknown>) => string | undefined
  readonly file: SettingsFile.SettingsFile
  /** The API keys of the upstreams in the file, by the names of the upstreams. */
  readonly fileKeys: ReadonlyMap<string, FileKey>
}

/** An API key that the settings file has, or that it names a variable or a file for. */
export interface FileKey {
  readonly value: Redacted.Redacted
  /** Names its place in a sentence. */
  readonly source: string
}

const prefix = GatewayServerConfig.variablePrefix

/** Variables that the clients on this machine read. The gateway ignores them. */
const clientVariables = ["API_KEY", "BASE_URL", "MANAGEMENT_KEY", "WORKSPACE_ID"].map((name) => prefix + name)

const fileVariable = `${prefix}CONFIG`

const declared = Setting.entries(Settings.all).map(({ setting }) => setting)
const byVariable = new Map(declared.map((setting) => [setting.variable, setting]))
const fileVariables = new Set(declared.filter(({ isSecret }) => isSecret).map(Setting.fileVariableOf))

const rejectUnknown = Effect.fnUntraced(function* (environment: Readonly<Record<string, string | undefined>>) {
  // Users may add the prefix to a variable without it: MODEL_GATEWAY_COHERE_API_KEY.
  const similar = new Map(declared.map(({ name, variable }) => [prefix + Setting.variableOf(name), variable]))
  for (const [name, text] of Object.entries(environment)) {
    if (!name.startsWith(prefix) || text === undefined || text === "") continue
    if (byVariable.has(name) || fileVariables.has(name) || name === fileVariable || clientVariables.includes(name))
      continue
    const found = nearest(name, [...similar.keys(), fileVariable])
    return yield* new Failure({
      message: `${name} in the environment is not a setting. Did you mean ${similar.get(found) ?? found}?`
    })
  }
})

const { logFormat } = Settings.declarations

/**
 * Whether a flag or the environment asks for JSON: for what goes wrong before all settings are
 * read.
 */
export const isJsonLog = (flags: Readonly<Record<string, Option.Option<string>>>) =>
  Effect.map(
    Environment,
    (environment) =>
      Option.getOrElse(flags[logFormat.name] ?? Option.none(), () => environment[logFormat.variable]) === "json"
  )

/** Combines what was given by flag, environment and file. */
export const load = Effect.fnUntraced(function* (
  flags: Readonly<Record<string, Option.Option<string>>>,
  file: Option.Option<string>
) {
  const environment = yield* Environment
  yield* rejectUnknown(environment)
  const path = Option.getOrElse(file, () => environment[fileVariable] ?? "")
  const given = new Map<string, Given>()
  const settingsFile = path === "" ? SettingsFile.none : yield* SettingsFile.read(path, Settings.all)
  for (const value of settingsFile.given) given.set(value.setting.variable, { ...value, origin: "file" })
  const fileKeys = yield* readKeys(settingsFile, environment)
  for (const [name, { baseUrl }] of Object.entries(settingsFile.modelSettings.upstreams ?? {})) {
    // An adapter's own upstream has settings, which flags and variables override.
    const own = Settings.upstreamOf(name)
    if (own === undefined) continue
    const apiKey = fileKeys.get(name)
    if (apiKey !== undefined) {
      const text = Redacted.value(apiKey.value)
      given.set(own.apiKey.variable, { text, value: text, source: apiKey.source, origin: "file" })
    }
    if (baseUrl !== undefined) {
      const source = settingsFile.sourceOf(["upstreams", name, "baseUrl"])
      given.set(own.baseUrl.variable, { text: baseUrl, value: baseUrl, source, origin: "file" })
    }
  }
  for (const setting of declared) {
    const { isSecret, name, variable } = setting
    // An empty variable is how compose files and shells say "not set".
    const variables = {
      origin: "environment" as const,
      nameOf: (name: string) => `${name} in the environment`,
      textOf: (name: string) => environment[name] || undefined
    }
    const inFlags = {
      origin: "flag" as const,
      nameOf: (name: string) => `--${name}`,
      textOf: (name: string) => Option.getOrUndefined(flags[name] ?? Option.none())
    }
    for (const { direct, file, nameOf, origin, textOf } of [
      { ...variables, direct: variable, file: Setting.fileVariableOf(setting) },
      { ...inFlags, direct: name, file: Setting.fileFlagOf(setting) }
    ]) {
      const text = textOf(direct)
      const path = isSecret ? textOf(file) : undefined
      if (text !== undefined && path !== undefined) {
        return yield* new Failure({ message: `Both ${nameOf(direct)} and ${nameOf(file)} are set. Keep one of them.` })
      }
      if (text !== undefined) given.set(variable, { text, value: text, source: nameOf(direct), origin })
      if (path !== undefined) given.set(variable, { ...(yield* SecretFile.read(path, nameOf(file))), origin })
    }
  }

  const provider = ConfigProvider.fromUnknown(
    Object.fromEntries(Array.from(given, ([variable, { text }]) => [variable, text])),
    { preserveEmptyStrings: true }
  )
  const invalid = (setting: Setting.Setting<unknown>, issue?: SchemaIssue.Issue): Failure => {
    const { source, value } = given.get(setting.variable) ?? { source: `--${setting.name}`, value: setting.default }
    return new Failure({ message: Setting.problem(setting, source, value, issue) })
  }
  const failure = ({ cause, message }: Config.ConfigError): Failure => {
    const issue = cause._tag === "SchemaError" ? cause.issue : undefined
    const setting = issue === undefined ? undefined : byVariable.get(variableOf(issue) ?? "")
    return setting === undefined || !given.has(setting.variable)
      ? new Failure({ message: `The settings cannot be read: ${message}` })
      : invalid(setting, issue)
  }
  const loaded: Loaded = {
    read: (part) => Effect.mapError(part.parse(provider), failure),
    invalid,
    changedFrom: (former) => declared.filter((setting) => former.textOf(setting) !== loaded.textOf(setting)),
    textOf: ({ variable }) => given.get(variable)?.text,
    originOf: ({ variable }) => given.get(variable)?.origin ?? "default",
    sourceOf: ({ variable }) => given.get(variable)?.source,
    file: settingsFile,
    fileKeys
  }
  return loaded
})

/** Reads the API keys of the upstreams in the file, and from the variables and files it names. */
const readKeys = Effect.fnUntraced(function* (
  { modelSettings, sourceOf }: SettingsFile.SettingsFile,
  environment: Readonly<Record<string, string | undefined>>
) {
  const keys = new Map<string, FileKey>()
  for (const [name, { apiKey }] of Object.entries(modelSettings.upstreams ?? {})) {
    if (apiKey === undefined) continue
    const source = sourceOf(["upstreams", name, "apiKey"])
    if (typeof apiKey === "string") {
      keys.set(name, { value: Redacted.make(apiKey), source })
      continue
    }
    if ("file" in apiKey) {
      const secret = yield* SecretFile.read(apiKey.file, source)
      if (!ModelSettings.isApiKey(secret.text)) {
        return yield* new Failure({ message: `${secret.source} is not ${ModelSettings.apiKeyAllowed}.` })
      }
      keys.set(name, { value: Redacted.make(secret.text), source: secret.source })
      continue
    }
    const text = environment[apiKey.env] ?? ""
    if (text === "") {
      return yield* new Failure({ message: `${source} names the variable ${apiKey.env}, which is not set.` })
    }
    if (!ModelSettings.isApiKey(text)) {
      return yield* new Failure({
        message: `${apiKey.env} in the environment is not ${ModelSettings.apiKeyAllowed}.`
      })
    }
    keys.set(name, { value: Redacted.make(text), source: `${apiKey.env} in the environment` })
  }
  return keys
})

const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

const variableOf = (issue: SchemaIssue.Issue): string | undefined => {
  const [first] = formatIssue(issue).issues
  const segment = first?.path?.[0]
  return segment === undefined ? undefined : String(typeof segment === "object" ? segment.key : segment)
}

/** The executable's own settings, in the form in which they are used. */
export interface Ready extends Omit<Settings.Settings, "webDir" | "initialCredits" | "catalog" | "tls"> {
  readonly catalog: CatalogFile.Location
  /** What is served at `/`. A page is the folder of one. */
  readonly web: "none" | "playground" | { readonly page: string }
  readonly hasConsole: boolean
  readonly initialCredits: MicroCredits.MicroCredits
  /** Undefined: HTTP. */
  readonly tls: Tls.Files | undefined
}

/**
 * The executable's own settings, with its folders made absolute. Fails if the folder of the page
 * does not exist.
 */
export const read = Effect.fnUntraced(function* (loaded: Loaded) {
  const path = yield* Path.Path
  const values = yield* loaded.read(Settings.config)
  const web = yield* webOf(loaded, path.resolve, values.webDir)
  const dataDir = path.resolve(values.dataDir)
  const ready: Ready = {
    ...values,
    dataDir,
    catalog: catalogOf(path, dataDir, values.catalog),
    web,
    hasConsole: values.console.enabled === "on" || (values.console.enabled === "auto" && isLoopback(values.host)),
    tls: yield* tlsOf(loaded, path.resolve, values.tls),
    initialCredits: Option.getOrThrow(MicroCredits.fromCredits(values.initialCredits))
  }
  return ready
})

const catalogOf = (path: Path.Path, dataDir: string, catalog: string | undefined): CatalogFile.Location => {
  if (catalog === "built-in") return { file: undefined, isNamed: true }
  return catalog === undefined
    ? { file: path.join(dataDir, CatalogFile.defaultName), isNamed: false }
    : { file: path.resolve(catalog), isNamed: true }
}

const tlsOf = (
  { sourceOf }: Loaded,
  resolve: (path: string) => string,
  { cert, key }: Settings.Settings["tls"]
): Effect.Effect<Tls.Files | undefined, Failure> => {
  if (cert !== undefined && key !== undefined) return Effect.succeed({ cert: resolve(cert), key: resolve(key) })
  const { tls } = Settings.declarations
  const [given, missing] = cert === undefined ? [tls.key, tls.cert] : [tls.cert, tls.key]
  const source = sourceOf(given)
  return source === undefined
    ? Effect.succeed(undefined)
    : Effect.fail(new Failure({ message: `${source} needs --${missing.name}: a certificate and its key go together.` }))
}

const webOf = (
  loaded: Loaded,
  resolve: (path: string) => string,
  webDir: string
): Effect.Effect<Ready["web"], Failure> => {
  if (webDir === "playground" || webDir === "none") return Effect.succeed(webDir)
  if (webDir === "sample") return Effect.succeed({ page: Settings.samplePage })
  const page = resolve(webDir)
  return isDirectory(page) ? Effect.succeed({ page }) : Effect.fail(loaded.invalid(Settings.declarations.webDir))
}

/** Whether only programs on this machine reach the address. */
const isLoopback = (host: string): boolean => host === "localhost" || host === "::1" || /^127(?:\.\d+){3}$/.test(host)

const isDirectory = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
