/**
 * The models that an upstream gateway lists, as models of this gateway.
 *
 * A gateway of this project says of each model what it accepts and what it costs. Of another one
 * only the published fields are read, and each model by itself: one that cannot be read or quoted
 * is left out.
 */
import { ModelId } from "@model-gateway/core/Identifiers"
import * as Models from "@model-gateway/core/Models"
import * as Operation from "@model-gateway/core/Operation"
import { AudioFormat } from "@model-gateway/core/Transcription"
import { AspectRatio, Resolution } from "@model-gateway/core/Video"
import * as VideoModels from "@model-gateway/core/VideoModels"
import { Duration, Effect, Option, Schema } from "effect"
import type { Upstream } from "@model-gateway/offers/Adapter"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import type { Model, RerankModel, TranscriptionModel, VideoModel } from "@model-gateway/offers/Model"
import { ProviderError, Timeout } from "@model-gateway/offers/ProviderError"
import type { GatewayClient } from "./gatewayClient.ts"
import * as GatewaySkus from "./gatewaySkus.ts"
import { nullable } from "./nullable.ts"

const isModelId = Schema.is(ModelId)

/** A gateway may list thousands of models. */
const listBounds = { bytes: 32 * 1024 * 1024, entries: 10_000, values: 500_000 }

/** How long the start waits for each list. */
const listTime = Duration.seconds(10)

const Text = Schema.optionalKey(Schema.String)

const Listed = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  architecture: Schema.Struct({
    input_modalities: Schema.Array(Schema.String),
    output_modalities: Schema.Array(Schema.String)
  }),
  pricing: Schema.Struct({ prompt: Text, completion: Text, request: Text, search_unit: Text, second: Text }),
  // Only a gateway of this project has these.
  is_free: Schema.optionalKey(Schema.Boolean),
  capabilities: Schema.optionalKey(Models.Capabilities)
})

const names = nullable(Schema.Array(Schema.String))

const ListedVideo = Schema.Struct({
  id: Schema.String,
  pricing_skus: nullable(Schema.Record(Schema.String, Schema.String)),
  supported_resolutions: names,
  supported_aspect_ratios: names,
  supported_durations: nullable(Schema.Array(Schema.Finite)),
  // Only a gateway of this project has it.
  default_duration: Schema.optionalKey(Schema.Finite),
  supported_frame_images: names,
  generate_audio: nullable(Schema.Boolean),
  seed: nullable(Schema.Boolean),
  upscale_factor: Schema.optionalKey(Schema.Unknown)
})

const List = Schema.Struct({ data: Schema.Array(Schema.Unknown) })

/** The operations, without the fields that only a gateway of this project has. */
const modelList = Operation.make("listModels", "GET", "/models", { ...Models.listModelsOperation, success: List })

const videoModelList = Operation.make("listVideoModels", "GET", "/videos/models", {
  ...VideoModels.listVideoModelsOperation,
  success: List
})

/** Whole micro-credits, so that a quote is not below the price. */
const micro = (credits: number): number => Math.max(0, Math.ceil(credits * MicroCredits.perCredit - 1e-6))

const million = 1_000_000

/** A price in credits. Undefined if the text is not a price, such as the `-1` of a router. */
const priceOf = (text: string | undefined): number | undefined => {
  const price = text === undefined || text === "" ? Number.NaN : Number(text)
  return Number.isFinite(price) && price >= 0 ? price : undefined
}

interface Prices {
  readonly prompt: number | undefined
  readonly completion: number | undefined
  readonly request: number | undefined
  readonly search_unit: number | undefined
  readonly second: number | undefined
}

const pricesOf = ({ capabilities, is_free, pricing }: typeof Listed.Type): Prices => {
  const prompt = priceOf(pricing.prompt)
  return is_free === true
    ? { prompt: undefined, completion: undefined, request: undefined, search_unit: 0, second: 0 }
    : {
        // 0 stands for no price per token too. Only a gateway of this project lists all prices.
        prompt: prompt === 0 && capabilities === undefined ? undefined : prompt,
        completion: priceOf(pricing.completion),
        request: priceOf(pricing.request),
        search_unit: priceOf(pricing.search_unit),
        second: priceOf(pricing.second)
      }
}

const rerankPricing = ({ prompt, request, search_unit }: Prices): RerankModel["pricing"] | undefined => {
  // A request has at least one search unit, so that a price per request is not exceeded.
  const unit = search_unit ?? request
  if (unit !== undefined) return { unit: "search_unit", microCredits: micro(unit) }
  return prompt === undefined
    ? undefined
    : { unit: "token", inputMicroCredits: micro(prompt * million), outputMicroCredits: 0 }
}

const videoPricing = ({ request, second }: Prices): VideoModel["pricing"] | undefined => {
  if (second !== undefined) return { unit: "second", microCredits: micro(second) }
  return request === undefined ? undefined : { unit: "video", prices: [{ microCredits: micro(request) }] }
}

/** What a second of audio costs at any model: 0.0072 to 3.60 credits an hour. */
const perSecondOfAudio = { min: 0.000_002, max: 0.001 }

/**
 * A gateway of this project lists `second`, or `prompt` and `completion` for tokens. Others list
 * only the latter two, and `prompt` without `completion` is the price of a second at most models.
 * A lower one is the price of a token. A higher one is that of a minute or an hour, and nothing says
 * which of them.
 */
const transcriptionPricing = (
  { completion = 0, prompt, second }: Prices,
  isOfThisProject: boolean
): TranscriptionModel["pricing"] | undefined => {
  if (second !== undefined) return { unit: "second", microCredits: micro(second) }
  if (prompt === undefined) return undefined
  const { max, min } = perSecondOfAudio
  if (isOfThisProject || completion > 0 || prompt < min) {
    return {
      unit: "token",
      inputMicroCredits: micro(prompt * million),
      outputMicroCredits: micro(completion * million)
    }
  }
  return prompt > max ? undefined : { unit: "second", microCredits: micro(prompt) }
}

const skuPrices = ({ pricing_skus }: typeof ListedVideo.Type): Partial<GatewaySkus.SkuPrices> | undefined =>
  GatewaySkus.read(pricing_skus ?? {}, { priceOf, microOf: micro })

const knownValues = <A extends string>(literals: ReadonlyArray<A>, values: ReadonlyArray<string> | null | undefined) =>
  values == null ? undefined : literals.filter((literal) => values.includes(literal))

const wholeSeconds = (seconds: number): number => Math.max(1, Math.floor(seconds))

/** The parameters of a video model. Only a gateway of this project states its capabilities. */
const videoParameters = (
  video: typeof ListedVideo.Type,
  { max_duration, prompt_optional = false, references }: Models.Capabilities = {}
) => {
  const resolutions = knownValues(Resolution.literals, video.supported_resolutions)
  const aspect_ratios = knownValues(AspectRatio.literals, video.supported_aspect_ratios)
  const durations = video.supported_durations ?? []
  const [shortest, longest] = durations.length === 0 ? [5, 60] : [Math.min(...durations), Math.max(...durations)]
  const maxDuration = wholeSeconds(max_duration ?? longest)
  return {
    ...(resolutions === undefined ? {} : { resolutions }),
    ...(aspect_ratios === undefined ? {} : { aspect_ratios }),
    max_duration: maxDuration,
    // A request without a duration is sent with this one. Of unknown defaults, the shortest costs
    // least.
    default_duration: Math.min(wholeSeconds(video.default_duration ?? shortest), maxDuration),
    prompt_optional,
    frame_images: (video.supported_frame_images?.length ?? 1) > 0,
    last_frame: video.supported_frame_images?.includes("last_frame") ?? true,
    generate_audio: video.generate_audio ?? false,
    upscale: video.upscale_factor != null,
    seed: video.seed ?? true,
    ...(references === undefined ? {} : { references })
  }
}

/** A listed model as a model of this gateway. Undefined if nothing can be quoted for it. */
const toModel = (
  upstream: string,
  listed: typeof Listed.Type,
  kind: Models.ModelKind,
  video: typeof ListedVideo.Type | undefined
): Model | undefined => {
  const { architecture, capabilities, id, name } = listed
  const base = { publicId: `${upstream}/${id}`, upstreamId: id, name }
  const prices = pricesOf(listed)
  switch (kind) {
    case "rerank": {
      const pricing = rerankPricing(prices)
      const image_documents = capabilities?.image_documents ?? architecture.input_modalities.includes("image")
      return pricing && { ...base, kind, pricing, parameters: { image_documents } }
    }
    case "transcription": {
      const { audio_formats = AudioFormat.literals, word_timestamps = true } = capabilities ?? {}
      const pricing = transcriptionPricing(prices, capabilities !== undefined)
      return pricing && { ...base, kind, pricing, parameters: { audio_formats, word_timestamps } }
    }
    case "video": {
      if (video === undefined) return undefined
      const own = videoPricing(prices)
      const { pricing, ...extra } = own === undefined ? (skuPrices(video) ?? {}) : { pricing: own }
      return pricing && { ...base, kind, pricing, parameters: { ...videoParameters(video, capabilities), ...extra } }
    }
  }
}

const kindOf = ({ architecture }: typeof Listed.Type): Models.ModelKind | undefined =>
  Models.ModelKind.literals.find((kind) => architecture.output_modalities.includes(kind))

const warn = (message: string, annotations: Record<string, string>) =>
  Effect.logWarning(message).pipe(Effect.annotateLogs({ ...annotations, event: "provider_models_unread" }))

/**
 * The models that the upstream lists. None, and a warning, if it does not answer: it may be down.
 */
export const listModels = Effect.fnUntraced(function* (client: GatewayClient, upstream: Upstream) {
  const { credential, name: provider } = upstream
  if (credential === undefined) return []

  /** The items of a list that can be read. */
  const read = <S extends Schema.Codec<unknown, unknown>>(
    operation: typeof modelList | typeof videoModelList,
    item: S,
    query: { readonly output_modalities?: string } = {}
  ) => {
    const decode = Schema.decodeUnknownOption(item)
    return client.call(client.send(operation, { query }), { credential, model: "", bounds: listBounds }).pipe(
      Effect.timeoutOrElse({
        duration: listTime,
        orElse: () => Effect.fail(new ProviderError({ reason: new Timeout() }))
      }),
      Effect.map(({ data }) => data.flatMap((each) => Option.toArray(decode(each)))),
      Effect.catch((error) =>
        Effect.as(
          warn("The models of an upstream gateway are not offered, because it did not list them", {
            provider,
            reason: error.message
          }),
          []
        )
      )
    )
  }

  // A gateway may list models of other kinds if it is not asked for these.
  const query = { output_modalities: Models.ModelKind.literals.join(",") }
  const models = (yield* read(modelList, Listed, query)).flatMap((listed) => {
    const kind = kindOf(listed)
    return kind === undefined ? [] : [{ listed, kind }]
  })
  const hasVideos = models.some(({ kind }) => kind === "video")
  const videos = new Map((hasVideos ? yield* read(videoModelList, ListedVideo) : []).map((video) => [video.id, video]))
  const offered = models.map(({ kind, listed }) => toModel(provider, listed, kind, videos.get(listed.id)))
  const unpriced = models.filter((_, at) => offered[at] === undefined).map(({ listed }) => listed.id)
  if (unpriced.length > 0) {
    yield* warn(
      "Models of an upstream gateway are not offered, because it does not list their price or what they accept",
      {
        provider,
        models: unpriced.join(", ")
      }
    )
  }
  // No request can have another id.
  return offered.flatMap((model) => (model !== undefined && isModelId(model.publicId) ? [model] : []))
})
