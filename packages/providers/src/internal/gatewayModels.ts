/** The models that an upstream gateway lists, as models of this gateway. */
import type * as Models from "@model-gateway/core/Models"
import { AudioFormat } from "@model-gateway/core/Transcription"
import { Duration, Effect } from "effect"
import type { Upstream } from "../Adapter.ts"
import * as MicroCredits from "../MicroCredits.ts"
import type { Model } from "../Model.ts"
import { ProviderError, Timeout } from "../ProviderError.ts"
import type { GatewayClient } from "./gatewayClient.ts"

/** How long the start waits for the list of models. */
const listTime = Duration.seconds(10)

const perUnit = (credits: number): number => Math.ceil(credits * MicroCredits.perCredit - 1e-6)

/** A listed model as a model of this gateway. Undefined if nothing can be quoted for it. */
const listed = (
  upstream: string,
  { capabilities, id, is_free, kind, name, pricing }: Models.Model
): Model | undefined => {
  const base = { publicId: `${upstream}/${id}`, upstreamId: id, name }
  const price = kind === "rerank" ? pricing.search_unit : pricing.second
  const microCredits = perUnit(price ?? 0)
  if (price === undefined && !is_free) return undefined
  switch (kind) {
    case "rerank": {
      const { image_documents = false } = capabilities
      return { ...base, kind, pricing: { unit: "search_unit", microCredits }, parameters: { image_documents } }
    }
    case "transcription": {
      const { audio_formats = AudioFormat.literals, word_timestamps = true } = capabilities
      return {
        ...base,
        kind,
        pricing: { unit: "second", microCredits },
        parameters: { audio_formats, word_timestamps }
      }
    }
    case "video": {
      const { resolutions, aspect_ratios, max_duration = 60, prompt_optional, generate_audio, upscale } = capabilities
      const most = Math.max(1, Math.floor(max_duration))
      return {
        ...base,
        kind,
        pricing: { unit: "second", microCredits },
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
    }
  }
}

/** The models that the upstream lists. None, and a warning, if it does not answer: it may be down. */
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
