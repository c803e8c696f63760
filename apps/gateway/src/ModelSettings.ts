/**
 * The parts `upstreams` and `models` of the settings file: which upstreams there are, and which of
 * them serve which model, in what order, at what price and with which time limits.
 *
 * Users choose the names in them, so they are schemas instead of settings: they have no flags and
 * no variables. Errors, the JSON Schema and the table in the documentation come from these schemas:
 * `description` says what a key does, and `expected` completes "which is not …".
 */
import * as Identifiers from "@model-gateway/core/Identifiers"
import { adapters } from "@model-gateway/providers/Adapters"
import { DataPolicy } from "@model-gateway/offers/DataPolicy"
import { Price } from "@model-gateway/offers/Price"
import * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"
import * as Setting from "@model-gateway/settings/Setting"
import { Duration, JsonSchema, Option, Predicate, Schema } from "effect"

const decodeDuration = Schema.decodeUnknownOption(Schema.DurationFromString)

/**
 * A text that passes a check. The description precedes the check, so that the JSON Schema has it.
 */
const checked = (description: string, expected: string, isAllowed: (text: string) => boolean) =>
  Schema.String.annotate({ description }).check(Schema.makeFilter(isAllowed, { expected }))

/** A duration. It stays text: the JSON Schema of a duration has no description. */
const timeLimit = (description: string) =>
  checked(description, "a duration above 0 seconds, such as 20 seconds", (text) =>
    Option.exists(decodeDuration(text), (limit) => Duration.isPositive(limit) && Duration.isFinite(limit))
  )

/** The time limit that a text states. */
export const durationOf = (timeLimit: string | undefined): Duration.Duration | undefined =>
  timeLimit === undefined ? undefined : Option.getOrUndefined(decodeDuration(timeLimit))

/** What an API key is, to complete "is not …". */
export const apiKeyAllowed = "an API key of printable ASCII characters without spaces"

/** Whether a text is an API key. */
export const isApiKey = (text: string): boolean =>
  Option.isSome(Schema.decodeUnknownOption(Schema.toCodecJson(UpstreamHttp.ApiKey))(text))

/** What a base URL is, to complete "is not …". */
export const baseUrlAllowed = "an http:// or https:// URL without user name, query or fragment"

/** Names a file, so that the settings file need not contain the secret. */
export const FileReference = Schema.Struct({ file: Schema.NonEmptyString })

/** Names a variable of the environment instead. */
const VariableReference = Schema.Struct({ env: Schema.NonEmptyString })

const expectedUpstream = 'an object such as { "adapter": "openai", "baseUrl": "https://whisper.internal/v1" }'

/** An upstream: one address that speaks an adapter's API. */
const Upstream = Schema.Struct({
  adapter: Schema.optionalKey(
    Schema.Literals(adapters.map(({ name }) => name)).annotate({
      expected: `one of ${adapters.map(({ name }) => name).join(", ")}`,
      description: "The adapter. Default: the one with the name of the upstream"
    })
  ),
  apiKey: Schema.optionalKey(
    Schema.Union([Schema.String.check(Schema.makeFilter(isApiKey)), VariableReference, FileReference]).annotate({
      expected: `${apiKeyAllowed}, { "env": "NAME" } or ${Setting.fileReference}`,
      description:
        "The API key, or the environment variable or the file that contains it. Without a key, an upstream that has a name and a `baseUrl` of its own is called without one"
    })
  ),
  baseUrl: Schema.optionalKey(
    checked("The URL of the API. Default: that of the adapter", baseUrlAllowed, Schema.is(UpstreamHttp.BaseUrl))
  ),
  timeLimit: Schema.optionalKey(timeLimit("The longest wait for one call, for offers that state none")),
  dataPolicy: Schema.optionalKey(
    DataPolicy.annotate({
      description:
        "What the provider declares of the data in requests, which callers can require with `data_collection` and `zdr`. What is left out is not known. Default: what the catalog has of the public service; nothing at another `baseUrl`"
    })
  )
}).annotate({ expected: expectedUpstream, description: "An upstream, under its name in `provider` of requests" })

/** What a request may name: Postgres cannot store every text with the charge. */
const isStorable = Schema.makeFilter(Schema.is(Identifiers.ModelId))

const Name = Schema.NonEmptyString.check(isStorable, Schema.isMaxLength(256))

/** One upstream's offer of a model. */
const Offer = Schema.Struct({
  upstream: Schema.String.annotate({
    expected: "the name of an upstream",
    description: "The name of an upstream: an adapter's own, or one under `upstreams`"
  }),
  model: Name.annotate({ expected: "the upstream's id of a model", description: "The model's id at the upstream" }),
  price: Schema.optionalKey(
    Price.annotate({
      description: "What callers pay, in credits by unit. Default: the price of the catalog"
    })
  ),
  timeLimit: Schema.optionalKey(
    timeLimit("The longest wait for one call. Default: that of the upstream, then the service's")
  ),
  parameters: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Json).annotate({
      expected: "an object",
      description: "What the adapter has to know of the model: see the page of the upstream. Default: the catalog's"
    })
  )
}).annotate({ expected: 'an object such as { "upstream": "cohere", "model": "rerank-v3.5" }' })

/** One upstream's offer of a model, as the file states it. */
export type Offer = typeof Offer.Type

/** A model and its offers. */
const Model = Schema.Struct({
  name: Schema.optionalKey(
    Name.annotate({
      expected: "a text",
      description: "Display name. Default: that of the catalog for the first offer, else the id"
    })
  ),
  kind: Schema.optionalKey(
    Schema.Literals(["rerank", "transcription", "video"]).annotate({
      expected: "one of rerank, transcription, video",
      description: "What the model does. Default: that of the catalog for the first offer, else what its adapter does"
    })
  ),
  offers: Schema.Array(Offer).annotate({
    expected: "a list of offers",
    description:
      "The upstreams that serve the model, in the order to try. They replace the offers of a built-in model with this id. An empty list turns it off"
  })
}).annotate({
  expected: 'an object such as { "offers": [{ "upstream": "cohere", "model": "rerank-v3.5" }] }',
  description: "A model, under the id that callers send as `model`"
})

/** A model and its offers, as the file states them. */
export type Model = typeof Model.Type

/** At most what `provider.order` of a request accepts. */
const UpstreamName = Schema.String.check(Schema.isPattern(/^[a-z0-9][a-z0-9_-]{0,63}$/))

const ModelId = Schema.String.check(isStorable, Schema.isPattern(/^\S{1,256}$/))

/** Both parts. */
export const ModelSettings = Schema.Struct({
  upstreams: Schema.optionalKey(
    Schema.Record(UpstreamName, Upstream).annotate({
      expected: "an object of upstreams by their names of lowercase letters, digits, - and _"
    })
  ),
  models: Schema.optionalKey(
    Schema.Record(ModelId, Model).annotate({ expected: "an object of models by their ids, which have no spaces" })
  )
})

/** Both parts, as the file states them. */
export type ModelSettings = typeof ModelSettings.Type

/** An upstream, as the file states it. */
export type Upstream = typeof Upstream.Type

/** The keys of both parts. */
export const parts: ReadonlyArray<string> = Object.keys(ModelSettings.fields)

/** Whether a key of the settings file is one of these parts. */
export const isPart = (key: string): boolean => parts.includes(key)

/** The JSON Schemas of both parts, by their keys. */
export const jsonSchema = (): Readonly<Record<string, unknown>> => {
  const { schema } = JsonSchema.toDocumentDraft07(
    Schema.toJsonSchemaDocument(ModelSettings, { onExcessProperty: "error" })
  )
  return Predicate.isObject(schema.properties) ? schema.properties : {}
}

const cell = (text: string): string => text.replaceAll("|", "\\|")

const code = (text: string): string => `\`${text}\``

/** The table of every adapter in Markdown, as the documentation shows it. */
export const upstreamsTable = (): string =>
  [
    "| Name | Service | Models | Built in | Variables | Default URL |",
    "|---|---|---|---|---|---|",
    ...adapters.map(({ credential, defaultBaseUrl, kinds, models, name, title, variables }) =>
      [
        "",
        `[${code(name)}](upstreams/${name}.md)`,
        title,
        kinds.join(", "),
        models.map(({ publicId }) => code(publicId)).join(", ") || "none",
        variables === undefined
          ? "none"
          : `${code(variables.apiKey)}${credential === "required" ? "" : " (optional)"}, ${code(variables.baseUrl)}`,
        defaultBaseUrl === undefined || defaultBaseUrl === "" ? "none" : code(defaultBaseUrl),
        ""
      ]
        .join(" | ")
        .trim()
    )
  ].join("\n") + "\n"

const describedFields = (prefix: string, { fields }: Schema.Struct<Schema.Struct.Fields>): ReadonlyArray<string> => {
  const { schema } = JsonSchema.toDocumentDraft07(Schema.toJsonSchemaDocument(Schema.Struct(fields)))
  const properties = Predicate.isObject(schema.properties) ? schema.properties : {}
  return Object.entries(fields).map(([key, field]) => {
    const described: unknown = properties[key]
    const description = Predicate.hasProperty(described, "description") ? String(described.description) : ""
    const expected = Schema.resolveAnnotations(field)?.expected ?? ""
    return `| ${code(`${prefix}.${key}`)} | ${cell(expected)} | ${cell(description)} |`
  })
}

/** The table of the keys in Markdown, as the documentation shows it. */
export const keysTable = (): string =>
  [
    "| Key | Allowed | Meaning |",
    "|---|---|---|",
    ...describedFields("upstreams.<name>", Upstream),
    ...describedFields("upstreams.<name>.dataPolicy", DataPolicy),
    ...describedFields("models.<id>", Model),
    ...describedFields("models.<id>.offers[]", Offer),
    ...describedFields("models.<id>.offers[].price", Price)
  ].join("\n") + "\n"
