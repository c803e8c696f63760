/**
 * The catalog: models with their published prices, as a JSON file. `catalog.json` beside this module
 * is the built-in one. The executable can read another one, so that a new model or price needs no
 * release. A settings file overrides any of it.
 *
 * `expected` of a schema completes "which is not …" in the messages of the executable.
 *
 * @since 0.1.0
 */
import { ModelId } from "@model-gateway/core/Identifiers"
import { isDay } from "@model-gateway/core/unstable/Day"
import * as DataPolicy from "@model-gateway/offers/DataPolicy"
import * as Model from "@model-gateway/offers/Model"
import * as Price from "@model-gateway/offers/Price"
import { Result, Schema } from "effect"
import json from "./catalog.json" with { type: "json" }

/**
 * The version of the format. A file of a later one is not read.
 *
 * @category constants
 * @since 0.1.0
 */
export const version = 1

const Day = (description: string) =>
  Schema.String.annotate({ description }).check(
    Schema.makeFilter(isDay, { expected: "a day as YYYY-MM-DD, such as 2026-11-24" })
  )

/** A text that people read. */
const Text = (description: string) =>
  Schema.String.annotate({ description }).check(
    Schema.makeFilter((text: string) => text.trim() !== "" && text.length <= 2000, {
      expected: "a text of at most 2000 characters"
    })
  )

/**
 * Where an entry is from. Pages were read as public archives keep them, so one may have changed
 * since: compare a price with your contract before you rely on it.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Source = Schema.Struct({
  page: Schema.String.annotate({ description: "The vendor's public page for it" }).check(
    Schema.isPattern(/^https:\/\/[^\s"<>]{1,2000}$/, { expected: "an https:// URL" })
  ),
  read_from: Schema.optionalKey(
    Text(
      "What was read in place of the vendor's page, if the page itself could not be read. It marks a price as unconfirmed"
    )
  ),
  read_on: Day("The day on which it was read")
}).annotate({ expected: 'an object such as { "page": "https://acme.example/pricing", "read_on": "2026-11-24" }' })

/**
 * @category models
 * @since 0.1.0
 */
export interface Source extends Schema.Schema.Type<typeof Source> {}

const note = Schema.optionalKey(Text("What people should know of the entry, such as how its price was computed"))

/** What a request may name: Postgres cannot store every text with the charge. */
const Name = Schema.NonEmptyString.check(Schema.makeFilter(Schema.is(ModelId)), Schema.isMaxLength(256))

/**
 * A model of the file.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Entry = Schema.Struct({
  adapter: Schema.NonEmptyString.check(Schema.isMaxLength(256)).annotate({
    expected: "the name of an adapter",
    description: "The name of its adapter"
  }),
  kind: Schema.Literals(["rerank", "transcription", "video"]).annotate({
    expected: "one of rerank, transcription, video",
    description: "What it does"
  }),
  id: Name.check(Schema.isPattern(/^\S+$/)).annotate({
    expected: "an id of at most 256 characters without spaces",
    description: "The id that callers send as `model`"
  }),
  upstream_id: Schema.optionalKey(
    Name.annotate({
      expected: "the upstream's id of a model",
      description:
        "Its id at the upstream. Default: `id` without the name of the adapter and the slash that it begins with"
    })
  ),
  name: Name.annotate({ expected: "a text of at most 256 characters", description: "Display name" }),
  price: Price.Price.annotate({ description: "What callers pay, in credits by unit. 1 credit is 1 USD" }),
  parameters: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Json).annotate({
      expected: "an object",
      description: "What the adapter has to know of the model: see the page of the upstream"
    })
  ),
  expires_on: Schema.optionalKey(Day("The day on which it ends at the upstream")),
  source: Source.annotate({ description: "Where the price was read" }),
  note
}).annotate({ expected: 'an object such as { "adapter": "cohere", "kind": "rerank", "id": "cohere/rerank-v3.5", … }' })

/**
 * @category models
 * @since 0.1.0
 */
export interface Entry extends Schema.Schema.Type<typeof Entry> {}

/**
 * What the public service of an adapter documents of the data in requests, for an account whose
 * owner changed nothing. A contract or a setting of an account can differ: the settings file then
 * declares another policy.
 *
 * @category schemas
 * @since 0.1.0
 */
export const DocumentedPolicy = Schema.Struct({
  ...DataPolicy.DataPolicy.fields,
  source: Source.annotate({ description: "Where it was read" }),
  note
}).annotate({
  expected: 'an object such as { "training": false, "source": { "page": "https://…", "read_on": "2026-11-24" } }'
})

/**
 * @category models
 * @since 0.1.0
 */
export interface DocumentedPolicy extends Schema.Schema.Type<typeof DocumentedPolicy> {}

/**
 * The whole file. One that is not of this form, or has a field that is not here, is refused whole.
 *
 * @category schemas
 * @since 0.1.0
 */
export const File = Schema.Struct({
  $schema: Schema.optionalKey(Schema.String.annotate({ description: "The location of this schema" })),
  version: Schema.Literal(version).annotate({ expected: `${version}`, description: "The version of the format" }),
  updated: Day("The day of its last change. An older catalog does not replace a newer one"),
  data_policies: Schema.optionalKey(
    Schema.Record(Schema.String, DocumentedPolicy).annotate({
      expected: "an object of data policies by the names of adapters",
      description: "What the public services of the adapters document of the data in requests, by the names of adapters"
    })
  ),
  models: Schema.Array(Entry).check(Schema.isMaxLength(10_000)).annotate({
    expected: "a list of at most 10000 models",
    description: "The models, in the order in which they are listed"
  })
}).annotate({ expected: "a catalog of models" })

/**
 * @category models
 * @since 0.1.0
 */
export interface File extends Schema.Schema.Type<typeof File> {}

/**
 * A model of a catalog.
 *
 * @category models
 * @since 0.1.0
 */
export type CatalogModel = Model.Model & {
  /** The name of the adapter. */
  readonly adapter: string
  readonly source: Source
  readonly note?: string
}

/**
 * The models and the data policies of all adapters.
 *
 * @category models
 * @since 0.1.0
 */
export interface Catalog {
  /** The day of its last change. */
  readonly updated: string
  readonly models: ReadonlyArray<CatalogModel>
  /** By the names of the adapters. */
  readonly dataPolicies: Readonly<Record<string, DocumentedPolicy>>
}

/**
 * What is wrong with an entry although it has the form. `message` follows the place: "has …".
 *
 * @category models
 * @since 0.1.0
 */
export interface Problem {
  readonly location: ReadonlyArray<string | number>
  readonly message: string
}

/** The entry's id at the upstream. Undefined if it has none. */
const upstreamIdOf = ({ adapter, id, upstream_id }: Entry): string | undefined =>
  upstream_id ??
  (id.startsWith(`${adapter}/`) && id.length > adapter.length + 1 ? id.slice(adapter.length + 1) : undefined)

const modelOf = (entry: Entry): Result.Result<CatalogModel, Omit<Problem, "location">> => {
  const { adapter, expires_on, id, kind, name, note, parameters, price, source } = entry
  const upstreamId = upstreamIdOf(entry)
  if (upstreamId === undefined) {
    return Result.fail({ message: `has no "upstream_id", and its "id" does not begin with ${adapter}/` })
  }
  const pricing = Price.toPricing(price)
  const model =
    pricing &&
    Model.make(
      kind,
      {
        publicId: id,
        upstreamId,
        name,
        ...(parameters === undefined ? {} : { parameters }),
        ...(expires_on === undefined ? {} : { expiresOn: expires_on }),
        ...(source.read_from === undefined ? {} : { hasUnconfirmedPrice: true })
      },
      pricing
    )
  return model === undefined
    ? Result.fail({ message: `has a "price" that is not one of a ${kind} model: give ${Model.units[kind]}` })
    : Result.succeed({ ...model, adapter, source, ...(note === undefined ? {} : { note }) })
}

/**
 * The catalog of a file, or the first entry that is wrong. Whether its adapter can offer a model is
 * up to the adapter.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = ({ data_policies = {}, models, updated }: File): Result.Result<Catalog, Problem> => {
  const made: Array<CatalogModel> = []
  const ids = new Set<string>()
  for (const [index, entry] of models.entries()) {
    const fail = (message: string) => Result.fail({ location: ["models", index], message })
    if (ids.has(entry.id)) return fail(`has the id ${entry.id}, which an earlier model has`)
    ids.add(entry.id)
    const model = modelOf(entry)
    if (Result.isFailure(model)) return fail(model.failure.message)
    made.push(model.success)
  }
  return Result.succeed({ updated, models: made, dataPolicies: data_policies })
}

const builtInFile: unknown = json

/**
 * The catalog of `catalog.json`.
 *
 * @category constants
 * @since 0.1.0
 */
export const builtIn: Catalog = Result.getOrThrow(make(Schema.decodeUnknownSync(File)(builtInFile)))

/**
 * What a catalog knows of an adapter: its models, and what its public service documents of the data
 * in requests. Default: the built-in catalog.
 *
 * @category getters
 * @since 0.1.0
 */
export const of = (
  adapter: string,
  { dataPolicies, models }: Catalog = builtIn
): {
  readonly models: ReadonlyArray<CatalogModel>
  readonly dataPolicy: DataPolicy.DataPolicy | undefined
} => {
  const policy = Object.hasOwn(dataPolicies, adapter) ? dataPolicies[adapter] : undefined
  return { models: models.filter((model) => model.adapter === adapter), dataPolicy: policy && dataPolicyOf(policy) }
}

const dataPolicyOf = (documented: DocumentedPolicy): DataPolicy.DataPolicy => {
  const { note: _note, source: _source, ...policy } = documented
  return policy
}
