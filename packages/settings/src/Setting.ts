/**
 * Declarations of settings.
 *
 * A setting is declared once, with its name, type, default, bounds and description. Its `Config`,
 * its environment variable, its command line flag, its key in a settings file, the JSON Schema of
 * that file and its row in the documentation come from the declaration.
 *
 * Settings are declared in groups. The keys of the groups are the keys of the settings file and of
 * the values that a program reads.
 *
 * @example
 * ```ts
 * import * as Setting from "@model-gateway/settings/Setting"
 *
 * const declarations = {
 *   cache: {
 *     entries: Setting.integer("cache-entries", { minimum: 1, default: 100, description: "Cached entries" })
 *   }
 * }
 * // Config<{ readonly cache: { readonly entries: number } }>, from CACHE_ENTRIES
 * const config = Setting.config(declarations)
 * ```
 *
 * @since 0.1.0
 */
import {
  ByteSize,
  Config,
  Duration,
  Formatter,
  JsonSchema,
  Predicate,
  Record as Records,
  type Redacted,
  Result,
  Schema,
  SchemaGetter,
  SchemaIssue,
  SchemaParser
} from "effect"

/**
 * The environment variable of a setting with this name, unless its declaration has another.
 *
 * @category getters
 * @since 0.1.0
 */
export const variableOf = (name: string): string => name.toUpperCase().replaceAll("-", "_")

/**
 * The environment variable that names the file of a secret, as container images have them:
 * `DATABASE_URL_FILE`.
 *
 * @category getters
 * @since 0.1.0
 */
export const fileVariableOf = ({ variable }: Setting<unknown>): string => `${variable}_FILE`

/**
 * The flag that names the file of a secret, without its dashes: `database-url-file`.
 *
 * @category getters
 * @since 0.1.0
 */
export const fileFlagOf = ({ name }: Setting<unknown>): string => `${name}-file`

/**
 * How a settings file names the file of a secret, for sentences.
 *
 * @category formatting
 * @since 0.1.0
 */
export const fileReference = '{ "file": "/run/secrets/name" }'

/**
 * The JSON Schema of the name of a secret's file in a settings file.
 *
 * @category models
 * @since 0.1.0
 */
export const fileReferenceSchema: JsonSchema.JsonSchema = {
  type: "object",
  properties: { file: { type: "string", minLength: 1 } },
  required: ["file"],
  additionalProperties: false
}

/**
 * The declaration of one setting.
 *
 * @category models
 * @since 0.1.0
 */
export interface Setting<out A> {
  readonly _tag: "Setting"
  /** The name of the flag, without its dashes: `data-dir`. */
  readonly name: string
  /** The environment variable: `DATA_DIR`. */
  readonly variable: string
  /** Whether the declaration names the variable. Then the prefix of a group does not apply. */
  readonly hasOwnVariable: boolean
  readonly description: string
  /** The values allowed, to complete "is not …": `a whole number from 0 to 65535`. */
  readonly allowed: string
  readonly default: A
  /** The default as a user writes it. Undefined: none. */
  readonly defaultText: string | number | undefined
  /** A list. As text, its items are separated by commas. */
  readonly isList: boolean
  /** Error messages and documentation never show the value of a secret. */
  readonly isSecret: boolean
  /**
   * Whether there is a flag. Secrets have none: all users of a machine can see its command lines.
   */
  readonly hasFlag: boolean
  /** Reads a variable. Without it, the value is the default. */
  readonly read: (variable: string) => Config.Config<A>
  /** Describes the value in a settings file. */
  readonly jsonSchema: () => JsonSchema.JsonSchema
  /** Why a value of a program is not allowed. Undefined if it is. */
  readonly issueOf: (value: unknown) => SchemaIssue.Issue | undefined
}

/**
 * Settings by their keys in a settings file.
 *
 * @category models
 * @since 0.1.0
 */
export interface Group {
  readonly [key: string]: Setting<unknown> | Group
}

/**
 * The values of a group.
 *
 * @category models
 * @since 0.1.0
 */
export type Values<G> = { readonly [Key in keyof G]: G[Key] extends Setting<infer A> ? A : Values<G[Key]> }

/**
 * Some values of a group.
 *
 * @category models
 * @since 0.1.0
 */
export type PartialValues<G> = {
  readonly [Key in keyof G]?: (G[Key] extends Setting<infer A> ? A : PartialValues<G[Key]>) | undefined
}

/**
 * A setting with its place in a group: `["videos", "concurrency"]`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Entry {
  readonly path: ReadonlyArray<string>
  readonly setting: Setting<unknown>
}

/**
 * What every kind of setting has.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options {
  /** What the setting does, for the help and the documentation. */
  readonly description: string
  /** The environment variable. Default: {@link variableOf} the name. */
  readonly variable?: string
}

interface Declaration<A, Default> extends Options {
  /** From JSON. */
  readonly schema: Schema.ConstraintCodec<A, unknown>
  /** From one text. Default: as `Config.schema` reads `schema`. */
  readonly textSchema?: Schema.ConstraintCodec<A, unknown>
  readonly allowed: string
  readonly default: Default
  /** Default: the default itself, if it is a text or a number. */
  readonly defaultText?: string
  readonly isSecret?: boolean
  readonly hasFlag?: boolean
}

const declare = <A, Default>(name: string, declaration: Declaration<A, Default>): Setting<A | Default> => {
  const { allowed, default: fallback, description, isSecret = false, schema, textSchema } = declaration
  const defaultText =
    typeof fallback === "string" || typeof fallback === "number"
      ? (declaration.defaultText ?? fallback)
      : declaration.defaultText
  const check = SchemaParser.decodeUnknownResult(Schema.toType(schema))
  return {
    _tag: "Setting",
    name,
    variable: declaration.variable ?? variableOf(name),
    hasOwnVariable: declaration.variable !== undefined,
    description,
    allowed,
    default: fallback,
    defaultText,
    isList: textSchema !== undefined,
    isSecret,
    hasFlag: declaration.hasFlag ?? !isSecret,
    read: (variable) => Config.withDefault(Config.schema(textSchema ?? schema, variable), fallback),
    jsonSchema: () => {
      const ofValue = JsonSchema.toDocumentDraft07(Schema.toJsonSchemaDocument(schema)).schema
      return {
        ...(isSecret ? { anyOf: [ofValue, fileReferenceSchema] } : ofValue),
        description: `${description}. Allowed: ${allowed}${isSecret ? `, or ${fileReference}` : ""}.`,
        ...(defaultText === undefined ? {} : { default: defaultText })
      }
    },
    issueOf: (value) => (value === fallback ? undefined : Result.getOrUndefined(Result.flip(check(value))))
  }
}

interface Bounds<Default extends number | undefined = number> {
  readonly minimum: number
  /** Default: unlimited. */
  readonly maximum?: number
  readonly default: Default
  /** What the number is, in errors: `a port`. */
  readonly what?: string
}

const between = (
  what: string,
  { maximum, minimum }: { readonly minimum: string | number; readonly maximum?: string | number | undefined }
): string => (maximum === undefined ? `${what} of at least ${minimum}` : `${what} from ${minimum} to ${maximum}`)

const range = ({ maximum, minimum }: Omit<Bounds, "default">) =>
  maximum === undefined ? Schema.isGreaterThanOrEqualTo(minimum) : Schema.isBetween({ minimum, maximum })

/**
 * A whole number.
 *
 * @category constructors
 * @since 0.1.0
 */
export const integer = (name: string, { what = "a whole number", ...options }: Options & Bounds): Setting<number> =>
  declare(name, { ...options, schema: Schema.Int.check(range(options)), allowed: between(what, options) })

/**
 * A number, or undefined by default.
 *
 * @category constructors
 * @since 0.1.0
 */
export const number = <Default extends number | undefined>(
  name: string,
  { what = "a number", ...options }: Options & Bounds<Default>
): Setting<number | Default> =>
  declare(name, { ...options, schema: Schema.Finite.check(range(options)), allowed: between(what, options) })

/**
 * A number of bytes, at least 1, written as such or with a unit: `8 MiB`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const size = <Default extends number | undefined>(
  name: string,
  options: Options & { readonly default: Default }
): Setting<number | Default> => {
  const Bytes = Schema.Int.check(Schema.isGreaterThan(0))
  const FromText = Schema.ByteSizeFromString.pipe(
    Schema.decodeTo(Bytes, {
      decode: SchemaGetter.transform((bytes: ByteSize.ByteSize) => Number(bytes)),
      encode: SchemaGetter.transform((bytes: number) => ByteSize.bytes(bytes))
    })
  )
  return declare(name, {
    ...options,
    schema: Schema.Union([Bytes, FromText]),
    allowed: "a size of at least 1 byte, such as 8 MiB",
    ...(options.default === undefined ? {} : { defaultText: ByteSize.format(ByteSize.bytes(options.default)) })
  })
}

const units = [
  [86_400_000, "day"],
  [3_600_000, "hour"],
  [60_000, "minute"],
  [1000, "second"]
] as const

/**
 * A duration in words, as a setting is written: `30 seconds`.
 *
 * @category formatting
 * @since 0.1.0
 */
export const formatDuration = (duration: Duration.Duration): string => {
  const millis = Duration.toMillis(duration)
  if (millis === 0) return "0 seconds"
  const [length, unit] = units.find(([length]) => millis >= length && millis % length === 0) ?? [1, "milli"]
  const count = millis / length
  return `${count} ${unit}${count === 1 ? "" : "s"}`
}

interface Span {
  /** Default: any length above 0. */
  readonly minimum?: Duration.Duration
  /** Default: unlimited. */
  readonly maximum?: Duration.Duration
}

const spanSchema = ({ maximum = Duration.infinity, minimum }: Span) =>
  Schema.DurationFromString.check(
    Schema.makeFilter(
      (span: Duration.Duration) =>
        (minimum === undefined ? Duration.isPositive(span) : Duration.isGreaterThanOrEqualTo(span, minimum)) &&
        Duration.isLessThanOrEqualTo(span, maximum)
    )
  )

const spanAllowed = ({ maximum, minimum }: Span): string => {
  const max = maximum === undefined ? undefined : formatDuration(maximum)
  if (minimum === undefined) return `a duration above 0 seconds${max === undefined ? "" : ` and up to ${max}`}`
  return between("a duration", { minimum: formatDuration(minimum), maximum: max })
}

/**
 * A duration, written as `20 seconds`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const duration = (
  name: string,
  options: Options & Span & { readonly default: Duration.Duration }
): Setting<Duration.Duration> =>
  declare(name, {
    ...options,
    schema: spanSchema(options),
    allowed: `${spanAllowed(options)}, such as 20 seconds`,
    defaultText: formatDuration(options.default)
  })

/**
 * A duration, or `never`, which is undefined and the default.
 *
 * @category constructors
 * @since 0.1.0
 */
export const durationOrNever = (name: string, options: Options & Span): Setting<Duration.Duration | undefined> => {
  const Never = Schema.Literal("never").pipe(
    Schema.decodeTo(Schema.Undefined, {
      decode: SchemaGetter.transform(() => undefined),
      encode: SchemaGetter.transform(() => "never" as const)
    })
  )
  return declare(name, {
    ...options,
    schema: Schema.Union([spanSchema(options), Never]),
    allowed: `${spanAllowed(options)}, such as 30 days, or never`,
    default: undefined,
    defaultText: "never"
  })
}

/**
 * One of several words.
 *
 * @category constructors
 * @since 0.1.0
 */
export const literals = <const Values extends ReadonlyArray<string>>(
  name: string,
  values: Values,
  options: Options & { readonly default: Values[number] }
): Setting<Values[number]> =>
  declare(name, { ...options, schema: Schema.Literals(values), allowed: `one of ${values.join(", ")}` })

/**
 * A text that `schema` allows, which `allowed` describes in errors. Default: any that is not empty.
 *
 * @category constructors
 * @since 0.1.0
 */
export const text = <Default extends string | undefined>(
  name: string,
  options: Options & {
    readonly allowed: string
    readonly default: Default
    readonly schema?: Schema.ConstraintCodec<string, string>
  }
): Setting<string | Default> => declare(name, { ...options, schema: options.schema ?? Schema.NonEmptyString })

/**
 * A list, empty by default. The errors of `item` are shown, so its checks should state what is
 * wrong with an item, as a sentence.
 *
 * @category constructors
 * @since 0.1.0
 */
export const list = <A>(
  name: string,
  item: Schema.ConstraintCodec<A, string>,
  options: Options & { readonly allowed: string }
): Setting<ReadonlyArray<A>> => {
  const schema = Schema.Array(item)
  const separated = Schema.String.pipe(
    Schema.decodeTo(schema, {
      decode: SchemaGetter.transform((text: string) =>
        text
          .split(",")
          .map((item) => item.trim())
          .filter((item) => item !== "")
      ),
      encode: SchemaGetter.transform((items: ReadonlyArray<string>) => items.join(","))
    })
  )
  return declare(name, { ...options, schema, textSchema: separated, default: [] })
}

/**
 * A secret text. Without it the value is undefined.
 *
 * @category constructors
 * @since 0.1.0
 */
export const secret = (
  name: string,
  options: Options & {
    readonly allowed: string
    readonly schema: Schema.ConstraintCodec<Redacted.Redacted, unknown>
    readonly hasFlag?: boolean
  }
): Setting<Redacted.Redacted | undefined> =>
  declare(name, { ...options, default: undefined, isSecret: true, hasFlag: options.hasFlag ?? false })

/**
 * Whether a member of a group is a setting. Otherwise it is a group.
 *
 * @category guards
 * @since 0.1.0
 */
export const isSetting = (node: Setting<unknown> | Group): node is Setting<unknown> =>
  Predicate.isTagged(node, "Setting")

/**
 * All settings of a group, in the order of their declarations.
 *
 * @category getters
 * @since 0.1.0
 */
export const entries = (group: Group, prefix: ReadonlyArray<string> = []): ReadonlyArray<Entry> =>
  Object.entries(group).flatMap(([key, node]) => {
    const path = [...prefix, key]
    return isSetting(node) ? [{ path, setting: node }] : entries(node, path)
  })

/**
 * The group with this prefix for the environment variables of its settings, such as `MY_APP_`.
 * Variables that a declaration names itself stay as they are.
 *
 * @category combinators
 * @since 0.1.0
 */
export function prefixed<G extends Group>(prefix: string, group: G): G
export function prefixed(prefix: string, group: Group): Group {
  return Records.map(group, (node) => {
    if (!isSetting(node)) return prefixed(prefix, node)
    return node.hasOwnVariable ? node : { ...node, variable: prefix + node.variable }
  })
}

/**
 * What is declared under a key. Undefined: nothing.
 *
 * @category getters
 * @since 0.1.0
 */
export const lookup = (group: Group, key: string): Setting<unknown> | Group | undefined =>
  Object.hasOwn(group, key) ? group[key] : undefined

/** The values of a group, one for each of its settings. `Values` states what this does in types. */
function build<G extends Group>(group: G, valueOf: (entry: Entry) => unknown): Values<G>
function build(group: Group, valueOf: (entry: Entry) => unknown): unknown {
  const recur = (group: Group, prefix: ReadonlyArray<string>): unknown =>
    Records.map(group, (node, key) => {
      const path = [...prefix, key]
      return isSetting(node) ? valueOf({ path, setting: node }) : recur(node, path)
    })
  return recur(group, [])
}

/**
 * Reads all settings of a group from their environment variables.
 *
 * @category configuration
 * @since 0.1.0
 */
export const config = <G extends Group>(group: G): Config.Config<Values<G>> => {
  const all = entries(group)
  return Config.all(all.map(({ setting }) => setting.read(setting.variable))).pipe(
    Config.map((values) => {
      const read = new Map(all.map(({ setting }, index) => [setting, values[index]]))
      return build(group, ({ setting }) => read.get(setting))
    })
  )
}

/**
 * Adds the defaults to some values of a group. Throws a `RangeError` on a value that is not
 * allowed.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <G extends Group>(group: G, values: PartialValues<G>): Values<G> =>
  build(group, ({ path, setting }) => {
    const value = path.reduce<unknown>((at, key) => (Predicate.hasProperty(at, key) ? at[key] : undefined), values)
    if (value === undefined) return setting.default
    const issue = setting.issueOf(value)
    if (issue !== undefined) throw new RangeError(problem(setting, path.join("."), value, issue))
    return value
  })

const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

/** A text without the user names and passwords of its URLs. */
const withoutUsers = (text: string): string => text.replaceAll(/\/\/[^/\s"]*@/g, "//…@")

/**
 * A value in an error message. Never contains the user name and password of a URL.
 *
 * @category formatting
 * @since 0.1.0
 */
export const format = (value: unknown): string =>
  withoutUsers(Duration.isDuration(value) ? formatDuration(value) : Formatter.format(value))

/**
 * The text of a setting's value as people may read it: without the user names and passwords of its
 * URLs. Undefined for a secret.
 *
 * @category formatting
 * @since 0.1.0
 */
export const shown = ({ isSecret }: Setting<unknown>, text: string): string | undefined =>
  isSecret ? undefined : withoutUsers(text)

/**
 * What is wrong with a value, as a sentence: `--port is "x", which is not a port from 0 to 65535.`
 * Never contains the value of a secret, nor the user name and password of a URL.
 *
 * @category formatting
 * @since 0.1.0
 */
export const problem = (
  setting: Setting<unknown>,
  source: string,
  value: unknown,
  issue?: SchemaIssue.Issue
): string => {
  if (setting.isSecret) return `${source} is not ${setting.allowed}.`
  // Which item of a list is wrong, and why.
  const [first] = setting.isList && issue !== undefined ? formatIssue(issue).issues : []
  const reason = first === undefined ? "" : `: ${withoutUsers(first.message)}`
  return `${source} is ${format(value)}, which is not ${setting.allowed}${reason}.`
}

/**
 * The JSON Schema of a group.
 *
 * @category models
 * @since 0.1.0
 */
export interface ObjectSchema extends JsonSchema.JsonSchema {
  readonly properties: Readonly<Record<string, JsonSchema.JsonSchema>>
}

/**
 * The JSON Schema (draft 7) of a settings file.
 *
 * @category converting
 * @since 0.1.0
 */
export const jsonSchema = (group: Group): ObjectSchema => ({
  type: "object",
  additionalProperties: false,
  properties: Records.map(group, (node) => (isSetting(node) ? node.jsonSchema() : jsonSchema(node)))
})
