/** The tool `models`. */
import { Gateway } from "@model-gateway/core/Gateway"
import { Capabilities, ModelKind, Pricing } from "@model-gateway/core/Models"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Estimate from "../Estimate.ts"
import * as Tool from "./tool.ts"

const defaultLimit = 50

export const modelsTool = Tool.make({
  name: "models",
  title: "List models",
  description:
    "Lists the models that this gateway offers, what they can do and what they cost, in credits (1 credit is 1 USD). Costs nothing.",
  input: Schema.Struct({
    kind: Schema.optionalKey(ModelKind).annotate({
      description: "rerank for `rerank`, transcription for `transcribe`, video for `make_video`. Default: all"
    }),
    query: Schema.optionalKey(Schema.String).annotate({ description: "Text that is part of the id or the name" }),
    offset: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))).annotate({
      description: "How many models to skip. Default: 0"
    }),
    limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1000 }))).annotate({
      description: `How many models to return, from 1 to 1000. Default: ${defaultLimit}`
    })
  }),
  output: Schema.Struct({
    models: Schema.Array(
      Schema.Struct({
        id: Schema.String,
        name: Schema.String,
        kind: ModelKind,
        is_free: Schema.Boolean,
        price: Schema.String.annotate({ description: "The price at the cheapest provider, in words" }),
        pricing: Pricing,
        capabilities: Capabilities
      })
    ),
    total: Schema.Int.annotate({ description: "How many models match" })
  }),
  hints: { readOnly: true, destructive: false, idempotent: true },
  run: Effect.fn("Mcp.models")(function* ({ kind, limit = defaultLimit, offset = 0, query }) {
    const gateway = yield* Gateway
    const { data, total_count } = yield* gateway.listModels({ output_modalities: kind, q: query, offset, limit })
    return {
      output: {
        models: data.map((model) => ({
          id: model.id,
          name: model.name,
          kind: model.kind,
          is_free: model.is_free,
          price: Estimate.describe(model),
          pricing: model.pricing,
          capabilities: model.capabilities
        })),
        total: total_count
      }
    }
  })
})
