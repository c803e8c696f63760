/** GET `/models`. */
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import type * as Models from "@model-gateway/core/Models"
import type { Model } from "@model-gateway/providers/Model"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as MicroCredits from "@model-gateway/providers/MicroCredits"
import { type Entry, ModelCatalogue } from "../routing/ModelCatalogue.ts"

const capabilitiesOf = (model: Model): Models.Model["capabilities"] => {
  switch (model.kind) {
    case "rerank":
      return { image_documents: model.capabilities.image_documents }
    case "transcription": {
      const { audio_formats, word_timestamps } = model.capabilities
      return { audio_formats, word_timestamps }
    }
    case "video": {
      const { aspect_ratios, generate_audio, max_duration, prompt_optional, resolutions, upscale } = model.capabilities
      return { aspect_ratios, generate_audio, max_duration, prompt_optional, resolutions, upscale }
    }
  }
}

const toWire = ({ endpoints, id, kind }: Entry): Models.Model => {
  const cheapest = endpoints.reduce((a, b) => (b.model.pricing.microCredits < a.model.pricing.microCredits ? b : a))
  const { microCredits, unit } = cheapest.model.pricing
  return {
    id,
    name: cheapest.model.name,
    kind,
    is_free: endpoints.some(({ model }) => model.free),
    providers: endpoints.map(({ provider }) => provider.name),
    pricing: { [unit]: MicroCredits.toCredits(microCredits) },
    capabilities: capabilitiesOf(cheapest.model)
  }
}

/** The `models` group of the contract. */
export const layer = HttpApiBuilder.group(GatewayApi, "models", (handlers) =>
  Effect.map(ModelCatalogue, ({ all }) => {
    const models = all.map(toWire)
    return handlers.handle("listModels", ({ query }) =>
      Effect.succeed({
        object: "list" as const,
        data: query.kind === undefined ? models : models.filter(({ kind }) => kind === query.kind)
      })
    )
  })
)
