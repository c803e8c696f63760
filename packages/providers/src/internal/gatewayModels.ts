/** The models that an upstream gateway lists, as models of this gateway. */
import type * as Models from "@model-gateway/core/Models"
import { AudioFormat } from "@model-gateway/core/Transcription"
import { Duration, Effect } from "effect"
import type { Upstream } from "../Adapter.ts"
import * as MicroCredits from "../MicroCredits.ts"
import type { Model, RerankModel, VideoModel } from "../Model.ts"
import { ProviderError, Timeout } from "../ProviderError.ts"
import type { GatewayClient } from "./gatewayClient.ts"

/** How long the start waits for the list of models. */
const listTime = Duration.seconds(10)

/** Whole micro-credits, so that a quote is not below the price. */
const micro = (credits: number): number => Math.max(0, Math.ceil(credits * MicroCredits.perCredit - 1e-6))

const million = 1_000_000

const rerankPricing = ({ prompt, search_unit }: Models.Pricing): RerankModel["pricing"] | undefined => {
  if (search_unit !== undefined) return { unit: "search_unit", microCredits: micro(search_unit) }
  return prompt === undefined
    ? undefined
    : { unit: "token", inputMicroCredits: micro(prompt * million), outputMicroCredits: 0 }
}

const videoPricing = ({ request, second }: Models.Pricing): VideoModel["pricing"] | undefined => {
  if (second !== undefined) return { unit: "second", microCredits: micro(second) }
  return request === undefined ? undefined : { unit: "video", prices: [{ microCredits: micro(request) }] }
}

/** A listed model as a model of this gateway. Undefined if nothing can be quoted for it. */
const listed = (
  upstream: string,
  { capabilities, id, is_free, kind, name, pricing }: Models.Model
): Model | undefined => {
  const base = { publicId: `${upstream}/${id}`, upstreamId: id, name }
  const prices: Models.Pricing = is_free ? { search_unit: 0, second: 0 } : pricing
  switch (kind) {
    case "rerank": {
      const own = rerankPricing(prices)
      const { image_documents = false } = capabilities
      return own && { ...base, kind, pricing: own, parameters: { image_documents } }
    }
    case "transcription": {
      const { audio_formats = AudioFormat.literals, word_timestamps = true } = capabilities
      return prices.second === undefined
        ? undefined
        : {
            ...base,
            kind,
            pricing: { unit: "second", microCredits: micro(prices.second) },
            parameters: { audio_formats, word_timestamps }
          }
    }
    case "video": {
      const own = videoPricing(prices)
      const { resolutions, aspect_ratios, max_duration = 60, prompt_optional, generate_audio, upscale } = capabilities
      const most = Math.max(1, Math.floor(max_duration))
      return (
        own && {
          ...base,
          kind,
          pricing: own,
          parameters: {
            ...(resolutions === undefined ? {} : { resolutions }),
            ...(aspect_ratios === undefined ? {} : { aspect_ratios }),
            max_duration: most,
            default_duration: Math.min(5, most),
            prompt_optional: prompt_optional ?? false,
            generate_audio: generate_audio ?? false,
            upscale: upscale ?? false
          }
        }
      )
    }
  }
}

/**
 * The models that the upstream lists. None, and a warning, if it does not answer: it may be down.
 */
export const listModels = Effect.fnUntraced(function* (client: GatewayClient, upstream: Upstream) {
  if (upstream.credential === undefined) return []
  const listing = client.call(client.gateway.listModels(), { credential: upstream.credential, model: "" }).pipe(
    Effect.timeoutOrElse({
      duration: listTime,
      orElse: () => Effect.fail(new ProviderError({ reason: new Timeout() }))
    }),
    Effect.catch((error) =>
      Effect.as(
        Effect.logWarning("The models of an upstream gateway are not offered, because it did not list them").pipe(
          Effect.annotateLogs({ provider: upstream.name, reason: error.message })
        ),
        []
      )
    )
  )
  const models = yield* listing
  const known = models.map((model) => listed(upstream.name, model))
  const unpriced = models.filter((_, at) => known[at] === undefined).map(({ id }) => id)
  if (unpriced.length > 0) {
    yield* Effect.logWarning("Models of an upstream gateway are not offered, because it lists no price for them").pipe(
      Effect.annotateLogs({ provider: upstream.name, models: unpriced.join(", ") })
    )
  }
  return known.filter((model) => model !== undefined)
})
