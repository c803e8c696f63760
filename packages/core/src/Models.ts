/**
 * The available models: lists and counts them, and reads one.
 *
 * An addition to the specification, which refers to models only by their identifiers.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ClientError } from "./ClientError.ts"
import { architectureFields, modelFields, topProviderFields } from "./dialect/modelFields.ts"
import type { GatewayClient, OffsetPageOptions } from "./GatewayClient.ts"
import { OffsetPage, Page } from "./Identifiers.ts"
import { call, dataOf } from "./internal/call.ts"
import { isMaxCharacters } from "./internal/characters.ts"
import { rateLimitedErrors } from "./internal/errorSets.ts"
import { modelExample, modelParams, notAnId, paramsOf } from "./internal/models.ts"
import { refuse } from "./internal/refuse.ts"
import * as Operation from "./Operation.ts"
import { AudioFormat } from "./Transcription.ts"
import { AspectRatio, Resolution } from "./Video.ts"

/**
 * The operation that a model serves.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ModelKind = Schema.Literals(["rerank", "transcription", "video"])

/**
 * @category models
 * @since 0.1.0
 */
export type ModelKind = typeof ModelKind.Type

/**
 * What a model reads.
 *
 * @category schemas
 * @since 0.1.0
 */
export const InputModality = Schema.Literals(["text", "image", "file", "audio", "video"])

/**
 * @category models
 * @since 0.1.0
 */
export type InputModality = typeof InputModality.Type

/**
 * What a model produces. The models of this service have `rerank`, `transcription` or `video`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const OutputModality = Schema.Literals([
  "text",
  "image",
  "embeddings",
  "audio",
  "video",
  "rerank",
  "decisions",
  "speech",
  "transcription"
])

/**
 * @category models
 * @since 0.1.0
 */
export type OutputModality = typeof OutputModality.Type

/**
 * A price in credits for one unit, as decimal text such as `0.002`, with at most 12 decimals.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Price = Schema.String.check(
  Schema.isPattern(/^\d+(\.\d+)?$/u, { expected: "a price in decimal digits, such as 0.002" })
)

/**
 * Prices in credits per unit, each as decimal text. Prices other than `prompt` and `completion` are
 * omitted if the model does not charge by them.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Pricing = Schema.Struct({
  /**
   * Per input token. `provider.max_price` takes it per million. `0` if the model does not charge by
   * tokens: `is_free` says whether a model costs nothing.
   */
  prompt: Price,
  /**
   * Per output token. `provider.max_price` takes it per million. `0` if the model does not charge
   * by tokens.
   */
  completion: Price,
  /** Per request: a video model that has one price for a whole video. */
  request: Schema.optionalKey(Price),
  /** Per search unit: one unit for up to 100 documents, and one for each further 100. */
  search_unit: Schema.optionalKey(Price),
  /** Per second of audio or video. Of several prices, such as by resolution, the highest. */
  second: Schema.optionalKey(Price)
})

/**
 * @category models
 * @since 0.1.0
 */
export type Pricing = { [Field in keyof typeof Pricing.Type]: (typeof Pricing.Type)[Field] }

/**
 * What a model reads and produces.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Architecture = Schema.Struct({
  /** What it reads, such as `text` and `image`. */
  input_modalities: Schema.Array(InputModality),
  /** What it produces: one of `rerank`, `transcription` and `video`. */
  output_modalities: Schema.Array(OutputModality),
  /** Both in one text, such as `text+image->rerank`. */
  modality: Schema.NullOr(Schema.String),
  ...architectureFields
})

/**
 * @category models
 * @since 0.1.0
 */
export type Architecture = { [Field in keyof typeof Architecture.Type]: (typeof Architecture.Type)[Field] }

/**
 * The limits of a model's first provider. The service does not know them.
 *
 * @category schemas
 * @since 0.1.0
 */
export const TopProvider = Schema.Struct(topProviderFields)

/**
 * @category models
 * @since 0.1.0
 */
export type TopProvider = { [Field in keyof typeof TopProvider.Type]: (typeof TopProvider.Type)[Field] }

/**
 * What a provider declares of the data in requests. Null: not known.
 *
 * @category schemas
 * @since 0.1.0
 */
export const DataPolicy = Schema.Struct({
  /** Whether it may train models on requests. */
  training: Schema.NullOr(Schema.Boolean),
  /** Whether it keeps anything of a request after it answered it. */
  retains_prompts: Schema.NullOr(Schema.Boolean),
  /** After how many days it deletes what it keeps. */
  prompt_retention_days: Schema.NullOr(Schema.Finite)
})

/**
 * @category models
 * @since 0.1.0
 */
export type DataPolicy = { [Field in keyof typeof DataPolicy.Type]: (typeof DataPolicy.Type)[Field] }

/**
 * Paths about a model.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ModelLinks = Schema.Struct({
  /** The path of the model's offers: GET `/models/{author}/{slug}/endpoints`. */
  details: Schema.String
})

/**
 * @category models
 * @since 0.1.0
 */
export type ModelLinks = { [Field in keyof typeof ModelLinks.Type]: (typeof ModelLinks.Type)[Field] }

/**
 * What a model can do. A model has only the fields of its kind.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Capabilities = Schema.Struct({
  /** Rerank: accepts images as documents. */
  image_documents: Schema.optionalKey(Schema.Boolean),
  /** Transcription: the audio formats that it accepts. */
  audio_formats: Schema.optionalKey(Schema.Array(AudioFormat)),
  /** Transcription: returns a timestamp for each word. */
  word_timestamps: Schema.optionalKey(Schema.Boolean),
  /** Video: the resolutions that it generates. */
  resolutions: Schema.optionalKey(Schema.Array(Resolution)),
  /** Video: the aspect ratios that it generates. */
  aspect_ratios: Schema.optionalKey(Schema.Array(AspectRatio)),
  /** Video: the longest duration, in seconds. */
  max_duration: Schema.optionalKey(Schema.Finite),
  /** Video: works from images alone, without a prompt. */
  prompt_optional: Schema.optionalKey(Schema.Boolean),
  /** Video: generates audio unless the request sets `generate_audio` to false. */
  generate_audio: Schema.optionalKey(Schema.Boolean),
  /** Video: accepts `upscale_factor` and `creativity`. */
  upscale: Schema.optionalKey(Schema.Boolean),
  /**
   * Video: the kinds of `input_references` that it takes: `image`, `audio` and `video`. It ignores
   * audio and video of other kinds, and says so in `warnings`. Absent if not known.
   */
  references: Schema.optionalKey(Schema.Array(Schema.Literals(["image", "audio", "video"])))
})

/**
 * @category models
 * @since 0.1.0
 */
export type Capabilities = { [Field in keyof typeof Capabilities.Type]: (typeof Capabilities.Type)[Field] }

/**
 * A model with its capabilities and its price at the cheapest provider.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Model = Schema.Struct({
  /** What requests send as `model`, such as `cohere/rerank-v3.5`. It may have several slashes. */
  id: Schema.String,
  /**
   * The entry of the catalog: the same as `id`, except for a model that an entry such as `tei/*`
   * stands for.
   */
  canonical_slug: Schema.String,
  /** Always `model`. */
  object: Schema.Literal("model"),
  /** The author: what comes before the first slash of `id`. */
  owned_by: Schema.String,
  /** Display name. */
  name: Schema.String,
  architecture: Architecture,
  pricing: Pricing,
  top_provider: TopProvider,
  /** The sampling parameters that requests may have, such as `temperature`. */
  supported_parameters: Schema.Array(Schema.String),
  links: ModelLinks,
  /**
   * The day on which the model ends at the last of its providers, as `YYYY-MM-DD`. Null: no end is
   * known. Only a service of another kind leaves it out.
   */
  expiration_date: Schema.optionalKey(Schema.NullOr(Schema.String)),
  ...modelFields,
  /** The names of the providers that offer the model, as `provider.order` takes them. */
  providers: Schema.Array(Schema.String),
  /** The operation that serves the model. */
  kind: ModelKind,
  /** Whether requests cost nothing and count toward the key's daily free requests. */
  is_free: Schema.Boolean,
  /** What the model can do at its cheapest provider. */
  capabilities: Capabilities
})

/**
 * @category models
 * @since 0.1.0
 */
export type Model = { [Field in keyof typeof Model.Type]: (typeof Model.Type)[Field] }

/**
 * The fields of a model, its architecture and its first provider that this service does not know,
 * with the values that every model has.
 *
 * @category constants
 * @since 0.1.0
 */
export const fixed = Schema.Struct({
  model: Schema.Struct({ ...modelFields, top_provider: TopProvider }),
  architecture: Schema.Struct(architectureFields)
}).make({ model: { top_provider: {} }, architecture: {} })

/**
 * Where the next page of a list is.
 *
 * @category schemas
 * @since 0.1.0
 */
export const PageLinks = Schema.Struct({
  /** The path and query of the next page. Null on the last page. */
  next: Schema.NullOr(Schema.String)
})

/**
 * @category models
 * @since 0.1.0
 */
export type PageLinks = { [Field in keyof typeof PageLinks.Type]: (typeof PageLinks.Type)[Field] }

/**
 * Models, in the order of the catalog: rerank, transcription, video.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ListResponse = Schema.Struct({
  /** Always `list`. */
  object: Schema.Literal("list"),
  /** The models of this page. */
  data: Schema.Array(Model),
  links: PageLinks,
  /** The number of models that match, on all pages. */
  total_count: Schema.Int
})

/**
 * @category models
 * @since 0.1.0
 */
export type ListResponse = { [Field in keyof typeof ListResponse.Type]: (typeof ListResponse.Type)[Field] }

/**
 * How many models there are.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CountResponse = Schema.Struct({
  /** The number under `count`. */
  data: Schema.Struct({
    /** The number of models that match. */
    count: Schema.Int
  })
})

/**
 * @category models
 * @since 0.1.0
 */
export type CountResponse = { [Field in keyof typeof CountResponse.Type]: (typeof CountResponse.Type)[Field] }

/**
 * One model.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Response = Schema.Struct({ data: Model })

/**
 * @category models
 * @since 0.1.0
 */
export type Response = { [Field in keyof typeof Response.Type]: (typeof Response.Type)[Field] }

/**
 * @category operations
 * @since 0.1.0
 */
export const listModelsOperation = Operation.make("listModels", "GET", "/models", {
  access: "any key",
  unknownFields: "refused",
  success: ListResponse,
  error: rateLimitedErrors
})

const listOf = (name: string, literals: ReadonlyArray<string>) => {
  const names = literals.join("|")
  return Schema.String.check(
    Schema.isPattern(new RegExp(`^(?:all|(?:${names})(?:,(?:${names}))*)$`), {
      expected: `all, or a comma-separated list of ${name}: ${literals.join(", ")}`
    })
  )
}

/**
 * A parameter that published clients know, and that would mislead the caller if it were ignored.
 */
const refused = (why: string) => Schema.String.check(Schema.makeFilter(() => why))

const byToken = "This filter is not supported: few models are priced by token. Compare `pricing` instead"

/** The filter of {@link listModelsOperation} and {@link countModelsOperation}. */
const outputModalities = () => Schema.optionalKey(listOf("output modalities", OutputModality.literals))

/** A parameter that published clients know, and that this service has no data for. */
const withoutEffect = () => Schema.optionalKey(Schema.String)

/** Names in a query, separated by commas. */
const names = () => Schema.optionalKey(Schema.String.check(isMaxCharacters(4096)))

/**
 * @category endpoints
 * @since 0.1.0
 */
export const listModelsEndpoint = Operation.endpoint(listModelsOperation, () => ({
  query: {
    /**
     * What the models produce, such as `rerank` or `transcription,video`. Separated by commas.
     * Default: `all`.
     */
    output_modalities: outputModalities(),
    /** What the models read, such as `image`. Separated by commas. Default: `all`. */
    input_modalities: Schema.optionalKey(listOf("input modalities", InputModality.literals)),
    /** Text that is part of the model's id or name, in any case. At most 256 characters. */
    q: Schema.optionalKey(Schema.String.check(isMaxCharacters(256))),
    /** Only models of one of these providers. Names separated by commas. */
    providers: names(),
    /** Only models of one of these authors. Names separated by commas. */
    model_authors: names(),
    /** Only models that accept all these sampling parameters. Names separated by commas. */
    supported_parameters: names(),
    offset: OffsetPage.offset,
    /**
     * How many models to list, from 1 to 1000. Default: 500, and all if there is no `offset`
     * either.
     */
    limit: Page.limit,
    /**
     * Ignored, because the service has no data to sort by. `pricing-low-to-high` and
     * `pricing-high-to-low` are a 400: models are priced by different units.
     */
    sort: Schema.optionalKey(
      Schema.String.check(
        Schema.isPattern(/^(?!pricing-)/, {
          expected: "no order by price: models are priced by different units. Compare `pricing` instead"
        })
      )
    ),
    /** Ignored, because the service has no such data. */
    category: withoutEffect(),
    /** Ignored, because the service has no such data. */
    context: withoutEffect(),
    /** Ignored, because the service has no such data. */
    arch: withoutEffect(),
    /** Ignored, because the service has no such data. */
    distillable: withoutEffect(),
    /** Ignored, because the service has no such data. */
    min_age_days: withoutEffect(),
    /** Ignored, because the service has no such data. */
    max_age_days: withoutEffect(),
    /** Ignored, because the service has no such data. */
    min_intelligence_index: withoutEffect(),
    /** Ignored, because the service has no such data. */
    max_intelligence_index: withoutEffect(),
    /** Ignored, because the service has no such data. */
    min_coding_index: withoutEffect(),
    /** Ignored, because the service has no such data. */
    max_coding_index: withoutEffect(),
    /** Ignored, because the service has no such data. */
    min_agentic_index: withoutEffect(),
    /** Ignored, because the service has no such data. */
    max_agentic_index: withoutEffect(),
    /** Ignored, because the service has no such data. */
    min_tool_success_rate: withoutEffect(),
    /** Ignored, because the service has no such data. */
    max_tool_success_rate: withoutEffect(),
    /** Always a 400: few models are priced by token. */
    min_price: Schema.optionalKey(refused(byToken)),
    /** Always a 400: few models are priced by token. */
    max_price: Schema.optionalKey(refused(byToken)),
    /** Always a 400: few models are priced by token. */
    min_output_price: Schema.optionalKey(refused(byToken)),
    /** Always a 400: few models are priced by token. */
    max_output_price: Schema.optionalKey(refused(byToken)),
    /** Always a 400. Use `provider.zdr` of a request, and `data_policy` of GET `/providers`. */
    zdr: Schema.optionalKey(
      refused("This filter is not supported: send provider.zdr with a request, and see data_policy of GET /providers")
    ),
    /** Always a 400: the service does not know where providers process data. */
    region: Schema.optionalKey(
      refused("This filter is not supported: the service does not know where providers process data")
    )
  },
  reference: {
    summary: "List models",
    example: {
      query: { output_modalities: "rerank,transcription", limit: "100" },
      response: { object: "list", data: [modelExample], links: { next: null }, total_count: 1 }
    }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const countModelsOperation = Operation.make("countModels", "GET", "/models/count", {
  access: "any key",
  unknownFields: "refused",
  success: CountResponse,
  error: rateLimitedErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const countModelsEndpoint = Operation.endpoint(countModelsOperation, () => ({
  query: {
    /** What the models produce, such as `rerank,video`. Separated by commas. Default: `all`. */
    output_modalities: outputModalities()
  },
  reference: {
    summary: "Count models",
    example: { query: { output_modalities: "video" }, response: { data: { count: 12 } } }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const getModelOperation = Operation.make("getModel", "GET", "/model/:author/:slug", {
  access: "any key",
  success: Response,
  error: rateLimitedErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const getModelEndpoint = Operation.endpoint(getModelOperation, () => ({
  params: modelParams(),
  reference: {
    summary: "Get a model",
    arguments: ["cohere/rerank-v3.5"],
    example: { params: { author: "cohere", slug: "rerank-v3.5" }, response: { data: modelExample } }
  }
}))

/**
 * The errors of the functions of this module.
 *
 * @category errors
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof listModelsOperation> | ClientError

/**
 * Which models to list. Lists in one text are separated by commas.
 *
 * @category options
 * @since 0.1.0
 */
export interface ListOptions extends OffsetPageOptions {
  /** What the models produce, such as `rerank` or `transcription,video`. Default: `all`. */
  readonly output_modalities?: string | undefined
  /** What the models read, such as `image`. Default: `all`. */
  readonly input_modalities?: string | undefined
  /** Text that is part of the model's id or name. */
  readonly q?: string | undefined
  /** A model of one of these providers. */
  readonly providers?: string | undefined
  /** A model of one of these authors. */
  readonly model_authors?: string | undefined
  /** A model that has all of these sampling parameters. */
  readonly supported_parameters?: string | undefined
  /** From 1 to 1000. Default: 500, and all if there is no `offset` either. */
  readonly limit?: number | undefined
}

/**
 * Lists the rerank, transcription and video models for which there is a provider credential, the
 * gateway's or one that the caller's workspace stores, each kind in the order of the catalog. The
 * key's guardrail does not filter the list: a request for a model that it forbids is a 403. Without
 * `offset` and `limit` it lists all models. Filters and orders that this service has no data for,
 * such as `category` or `sort=newest`, are ignored. Those about money or privacy are a 400, and so
 * are unknown ones.
 *
 * @category calls
 * @since 0.1.0
 */
export const listModels = (options?: ListOptions): Effect.Effect<ListResponse, Failure, GatewayClient> =>
  call(listModelsOperation, { query: { ...options } })

/**
 * Counts the models that GET `/models` lists.
 *
 * @category calls
 * @since 0.1.0
 */
export const countModels = (options?: {
  readonly output_modalities?: string | undefined
}): Effect.Effect<number, Failure, GatewayClient> =>
  Effect.map(call(countModelsOperation, { query: { ...options } }), ({ data }) => data.count)

/**
 * Returns the model whose `id` is the author, a slash and the slug. Further slashes of the id are
 * part of the slug, and escaped in the path as `%2F`: `/model/replicate/google%2Fveo-3.1-fast`. A
 * suffix such as `:free` is part of the id too. A model that GET `/models` does not list is a 404.
 *
 * @remarks
 * An id without a slash fails with `BadRequest`, and nothing is sent.
 *
 * @category calls
 * @since 0.1.0
 */
export const getModel = (id: string): Effect.Effect<Model, Failure, GatewayClient> => {
  const params = paramsOf(id)
  return params === undefined ? refuse(getModelOperation, "id", notAnId) : dataOf(call(getModelOperation, { params }))
}
