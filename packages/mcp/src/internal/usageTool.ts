/** The tool `usage`. */
import { Gateway } from "@model-gateway/core/Gateway"
import { EmptyParams } from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Session } from "../Session.ts"
import * as Paid from "./paid.ts"
import * as Tool from "./tool.ts"
import { settleJobs } from "./videoTools.ts"

const NullableFinite = Schema.NullOr(Schema.Finite)

export const usageTool = Tool.make({
  name: "usage",
  title: "Show usage",
  description:
    "Shows what the key and this session have spent and may still spend, in credits (1 credit is 1 USD). Costs nothing.",
  input: EmptyParams,
  output: Schema.Struct({
    key: Schema.Struct({
      label: Schema.String,
      limit: NullableFinite.annotate({ description: "Spending limit. Null: the credits of the workspace" }),
      limit_remaining: NullableFinite.annotate({ description: "What is left of the limit. Null: no limit" }),
      limit_reset: Schema.NullOr(Schema.String).annotate({ description: "When it resets. Null: never" }),
      usage: Schema.Finite,
      usage_daily: Schema.Finite,
      usage_weekly: Schema.Finite,
      usage_monthly: Schema.Finite,
      is_free_tier: Schema.Boolean,
      free_requests_remaining: Schema.Int.annotate({ description: "Requests to free models that are left today" }),
      expires_at: Schema.NullOr(Schema.String)
    }),
    session: Paid.outputFields.session
  }),
  hints: { readOnly: true, destructive: false, idempotent: true },
  run: Effect.fn("Mcp.usage")(function* () {
    const gateway = yield* Gateway
    const { credits } = yield* Session
    yield* settleJobs
    const key = yield* gateway.currentKey
    return {
      output: {
        key: {
          label: key.label,
          limit: key.limit,
          limit_remaining: key.limit_remaining,
          limit_reset: key.limit_reset,
          usage: key.usage,
          usage_daily: key.usage_daily,
          usage_weekly: key.usage_weekly,
          usage_monthly: key.usage_monthly,
          is_free_tier: key.is_free_tier,
          free_requests_remaining: key.free_model_daily_requests.remaining,
          expires_at: key.expires_at
        },
        session: yield* credits.status
      }
    }
  })
})
