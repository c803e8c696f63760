/**
 * A catalog of models in a file: read within bounds, and checked whole, so that nothing of a wrong
 * one is used.
 */
import { adapters, type AnyAdapter } from "@model-gateway/providers/Adapters"
import * as Catalog from "@model-gateway/providers/Catalog"
import { nearest } from "@model-gateway/settings/Nearest"
import * as Setting from "@model-gateway/settings/Setting"
import { Effect, JsonSchema, Predicate, Result, Schema, SchemaParser } from "effect"
import { lstatSync, readFileSync, statSync } from "node:fs"
import { Failure } from "./Failure.ts"
import * as Finding from "./Finding.ts"
import * as JsonText from "./JsonText.ts"
import * as Output from "./Output.ts"

/** The name of the file in the data folder. */
export const defaultName = "catalog.json"

/** The most that a file may have. A model takes about a kilobyte. */
export const maxBytes = 8 * 1024 * 1024

/** The same, for sentences. */
export const maxSize = "8 MiB"

/** Where the catalog is, as the settings say. */
export interface Location {
  /** Undefined: the built-in one. */
  readonly file: string | undefined
  /** Whether the settings name the file, so that it must exist. */
  readonly isNamed: boolean
}

/** The catalog that the gateway uses. */
export interface InUse {
  readonly catalog: Catalog.Catalog
  /** Undefined: the built-in one. */
  readonly file: string | undefined
}

/** The adapters with the models and the data policies of a catalog. */
export const adaptersOf = (catalog: Catalog.Catalog): ReadonlyArray<AnyAdapter> =>
  catalog === Catalog.builtIn
    ? adapters
    : adapters.map((adapter) => ({ ...adapter, ...Catalog.of(adapter.name, catalog) }))

/** The bytes of a file. `problem` follows the name of the file in a sentence. */
export const readBytes = (file: string): Result.Result<Uint8Array, string> => {
  try {
    const status = statSync(file)
    if (!status.isFile()) return Result.fail("is not a file")
    return status.size > maxBytes ? Result.fail(`is larger than ${maxSize}`) : Result.succeed(readFileSync(file))
  } catch {
    return Result.fail("cannot be read")
  }
}

/**
 * Whether the file is there, be it a link to nothing or a file that this user cannot reach: then it
 * must not be as if there were none.
 */
const isThere = (file: string): boolean => {
  try {
    return lstatSync(file, { throwIfNoEntry: false }) !== undefined
  } catch {
    return true
  }
}

/** The catalog that the settings name. Fails with a sentence about what is wrong with it. */
export const read = Effect.fnUntraced(function* ({ file, isNamed }: Location) {
  const builtIn: InUse = { catalog: Catalog.builtIn, file: undefined }
  if (file === undefined) return builtIn
  if (!isNamed && !isThere(file)) return builtIn
  const bytes = readBytes(file)
  if (Result.isFailure(bytes)) return yield* new Failure({ message: `The catalog ${file} ${bytes.failure}.` })
  const catalog = yield* parse(bytes.success).pipe(
    Effect.mapError((problem) => new Failure({ message: `The catalog ${file} ${problem}.` }))
  )
  const inUse: InUse = { catalog, file }
  return inUse
})

/**
 * The catalog in these bytes. Fails with what is wrong with it, to follow its name in a sentence.
 */
export const parse = Effect.fnUntraced(function* (bytes: Uint8Array) {
  const text = yield* decodeText(bytes)
  const value = yield* JsonText.parse(text)
  if (Predicate.hasProperty(value, "version") && isLater(value.version)) {
    return yield* Effect.fail(
      `has the format version ${value.version}, and this gateway reads version ${Catalog.version}: update the gateway`
    )
  }
  const file = yield* decode(value, { errors: "first", onExcessProperty: "error" }).pipe(
    Effect.mapError((issue) => `is not valid: ${sentence(Finding.of(issue), value)}`)
  )
  const made = Catalog.make(file)
  if (Result.isFailure(made)) {
    const { location, message } = made.failure
    return yield* Effect.fail(`is not valid: ${placeOf(location, value)} ${message}`)
  }
  const catalog = made.success
  yield* checkAdapters(catalog, value)
  return catalog
}, Effect.mapError(Output.printable))

const decodeText = (bytes: Uint8Array): Effect.Effect<string, string> =>
  Effect.try({
    try: () => new TextDecoder("utf-8", { fatal: true }).decode(bytes),
    catch: () => "is not text in UTF-8"
  })

const isLater = (version: unknown): version is number => typeof version === "number" && version > Catalog.version

const decode = SchemaParser.decodeUnknownEffect(Catalog.File)

const at = (value: unknown, location: Finding.Location): unknown =>
  location.reduce<unknown>((inner, key) => (Predicate.hasProperty(inner, key) ? inner[key] : undefined), value)

/** Names a place, and the model that it belongs to. */
const placeOf = (location: Finding.Location, value: unknown): string => {
  if (location.length === 0) return "it"
  const id = location[0] === "models" && location.length > 1 ? at(value, [...location.slice(0, 2), "id"]) : undefined
  const place = Finding.format(location.map((key) => (typeof key === "string" ? Output.shortened(key) : key)))
  return `"${place}"${typeof id === "string" && location.at(-1) !== "id" ? ` of ${Output.shortened(id)}` : ""}`
}

const sentence = (finding: Finding.Finding, value: unknown): string => {
  const { location } = finding
  switch (finding.fault) {
    case "missing":
      return `${placeOf(location.slice(0, -1), value)} has no "${location.at(-1)}"`
    case "unknown":
      return finding.known.length === 0
        ? `${placeOf(location, value)} is not allowed in ${finding.expected ?? "this object"}`
        : `${placeOf(location, value)} is not a field. Did you mean "${nearest(Output.shortened(String(location.at(-1))), finding.known)}"?`
    case "wrong": {
      const wrong = at(value, location)
      const shown =
        typeof wrong === "object" || wrong === undefined ? "" : ` ${Output.shortened(Setting.format(wrong))}, which is`
      return `${placeOf(location, value)} is${shown} not ${finding.expected ?? "allowed"}`
    }
  }
}

/** Lets each adapter make offers of its models. It calls no upstream for that. */
const checkAdapters = Effect.fnUntraced(function* (catalog: Catalog.Catalog, value: unknown) {
  const names = adapters.map(({ name }) => name)
  const unknown = (place: string, name: string) =>
    Effect.fail(
      `is not valid: ${place} is not an adapter of this gateway. Did you mean "${nearest(Output.shortened(name), names)}"? A later gateway may have it`
    )
  for (const name of Object.keys(catalog.dataPolicies)) {
    if (!names.includes(name)) yield* unknown(placeOf(["data_policies", name], value), name)
  }
  for (const [index, { adapter }] of catalog.models.entries()) {
    if (!names.includes(adapter)) {
      yield* unknown(`${placeOf(["models", index, "adapter"], value)} is "${adapter}", which`, adapter)
    }
  }
  for (const { defaultBaseUrl = "http://localhost", name, offers } of adapters) {
    const models = catalog.models.filter(({ adapter }) => adapter === name)
    // An adapter that is given no models may ask its upstream for some.
    if (models.length === 0) continue
    yield* offers({ name, baseUrl: defaultBaseUrl, credential: undefined }, models).pipe(
      Effect.mapError(({ message, model }) => {
        const index = catalog.models.findIndex((each) => each === model)
        return `is not valid: ${placeOf(["models", index], value)} cannot be offered: ${message}`
      })
    )
  }
})

/** A catalog for people: its date and its size. */
export const describe = ({ catalog: { models, updated }, file }: InUse): string =>
  `${file ?? "the built-in one"}, of ${updated}, with ${models.length} model${models.length === 1 ? "" : "s"}`

/** The JSON Schema of the file. A file may name it in `$schema`. */
export const jsonSchema = (): JsonSchema.JsonSchema => {
  const { definitions, schema } = JsonSchema.toDocumentDraft07(
    Schema.toJsonSchemaDocument(Catalog.File, { onExcessProperty: "error" })
  )
  return {
    $schema: JsonSchema.META_SCHEMA_URI_DRAFT_07,
    title: "Catalog of models of Model Gateway",
    ...schema,
    ...(Object.keys(definitions).length === 0 ? {} : { definitions })
  }
}
