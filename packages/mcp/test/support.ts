/** The tools over a scripted gateway, called by a client in this process. */
import { Models, type VideoModels } from "@model-gateway/core"
import { GatewayTest, Samples } from "@model-gateway/testing"
import { Effect, Layer } from "effect"
import { McpProtocol, type McpSchema, McpTest } from "effect/ai"
import * as GatewayTools from "../src/GatewayTools.ts"
import * as Session from "../src/Session.ts"

/** A model with a price. */
export const model = (kind: Models.ModelKind, pricing: Partial<Models.Pricing>, is_free = false): Models.Model => ({
  ...Models.fixed.model,
  id: "vendor/model",
  canonical_slug: "vendor/model",
  object: "model",
  owned_by: "vendor",
  name: "Model",
  architecture: { ...Models.fixed.architecture, input_modalities: ["text"], output_modalities: [kind], modality: null },
  pricing: { prompt: "0", completion: "0", ...pricing },
  supported_parameters: [],
  links: { details: "/api/v1/models/vendor/model/endpoints" },
  expiration_date: null,
  providers: ["vendor"],
  kind,
  is_free,
  capabilities: {}
})

/** A video model at 0.01 credits a second, whose videos have 3 seconds. */
export const videoModel: VideoModels.VideoModel = {
  id: Samples.videoRequest.model,
  canonical_slug: Samples.videoRequest.model,
  name: "Title card",
  created: 0,
  description: "",
  supported_resolutions: ["720p"],
  supported_aspect_ratios: ["16:9"],
  supported_sizes: null,
  supported_durations: null,
  supported_frame_images: [],
  generate_audio: false,
  seed: false,
  creativity: null,
  upscale_factor: null,
  allowed_passthrough_parameters: [],
  pricing_skus: { duration_seconds: "0.01" },
  pricing: { prompt: "0", completion: "0", second: "0.01" },
  default_duration: 3,
  is_free: false,
  providers: ["sandbox"],
  capabilities: {}
}

/** Calls tools, with what the gateway answers and what the session may spend. */
export const agent = (handlers: GatewayTest.Handlers, options?: Session.Options) =>
  Effect.map(
    McpTest.makeClient(
      GatewayTools.layer().pipe(Layer.provide(Session.layer(options)), Layer.provide(GatewayTest.layer(handlers))),
      { protocols: [McpProtocol.v2025_11_25] }
    ),
    (client) => (name: string, args: Record<string, unknown>) => client.callTool({ name, arguments: args })
  )

/** The text of a result. */
export const textOf = ({ content }: McpSchema.CallToolResult): string =>
  content.map((block) => (block.type === "text" ? block.text : "")).join("")
