/**
 * How the providers of each model are doing: their circuits, and how the latest calls ended.
 *
 * An addition to the specification, which does not describe this operation.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ClientError } from "./ClientError.ts"
import type { GatewayClient } from "./GatewayClient.ts"
import { Timestamp } from "./Identifiers.ts"
import { call } from "./internal/call.ts"
import { managementErrors } from "./internal/errorSets.ts"
import { ModelKind } from "./Models.ts"
import * as Operation from "./Operation.ts"

/**
 * The circuit of a model at a provider. `closed`: it is called. `open`: it is not called, because
 * several calls in a row failed. `half_open`: one call tries whether it works again.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Circuit = Schema.Struct({
  /** Whether the provider is called. */
  state: Schema.Literals(["closed", "open", "half_open"]),
  /** When it opened. Null: it is closed, or another process opened it. */
  opened_at: Schema.NullOr(Timestamp),
  /** When the next call is made. Null: it is not open. */
  retry_at: Schema.NullOr(Timestamp)
})

/**
 * @category models
 * @since 0.1.0
 */
export type Circuit = { [Field in keyof typeof Circuit.Type]: (typeof Circuit.Type)[Field] }

/**
 * The end of a call to a provider.
 *
 * @category schemas
 * @since 0.1.0
 */
export const LastCall = Schema.Struct({
  /** When it ended. */
  at: Timestamp,
  /** `Success`, or what went wrong, as in the attempts of the request log. */
  outcome: Schema.String,
  /** The HTTP status of the provider's error. */
  status: Schema.optionalKey(Schema.Int),
  /** The `x-request-id` of the request. Null: it is not known. */
  request_id: Schema.NullOr(Schema.String)
})

/**
 * @category models
 * @since 0.1.0
 */
export type LastCall = { [Field in keyof typeof LastCall.Type]: (typeof LastCall.Type)[Field] }

/**
 * The calls of a span of time that ends now.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Window = Schema.Struct({
  /** The number of calls. Those that a caller ended or caused to fail are not counted. */
  calls: Schema.Int,
  /** The share of them that succeeded, 0 to 1. Null: there were none. */
  success_rate: Schema.NullOr(Schema.Finite),
  /**
   * The time within which half of the successful calls ended, in milliseconds, at most 25 % too
   * high. Null: there were none.
   */
  p50_ms: Schema.NullOr(Schema.Finite),
  /** The same for 95 % of them. */
  p95_ms: Schema.NullOr(Schema.Finite)
})

/**
 * @category models
 * @since 0.1.0
 */
export type Window = { [Field in keyof typeof Window.Type]: (typeof Window.Type)[Field] }

/**
 * A model at a provider, as the gateway calls it with its own credential.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Endpoint = Schema.Struct({
  /** The provider. */
  provider: Schema.String,
  /** The model that callers send. */
  model: Schema.String,
  kind: ModelKind,
  /**
   * The longest that a call may take, in milliseconds. Null: a video model without a limit of its
   * own, whose calls have those of the adapter.
   */
  time_limit_ms: Schema.NullOr(Schema.Finite),
  circuit: Circuit,
  /**
   * The gateway's credential, by the latest call that told. `accepted`: the provider took it.
   * `rejected`: it refused it. `out_of_credit`: the account has no credit or quota left.
   * `unknown`: no call told. `missing`: the gateway has none, so that only callers with a provider
   * key can use it, and nothing is known of it.
   */
  credential: Schema.Literals(["accepted", "rejected", "out_of_credit", "unknown", "missing"]),
  /** The latest call. Null: there was none since the process started. */
  last_call: Schema.NullOr(LastCall),
  /** The latest call that failed. */
  last_failure: Schema.NullOr(LastCall),
  /** The calls of the latest spans of time. */
  windows: Schema.Struct({
    /** The last 5 minutes. */
    "5m": Window,
    /** The last hour. */
    "1h": Window,
    /** The last 24 hours. */
    "1d": Window
  })
})

/**
 * @category models
 * @since 0.1.0
 */
export type Endpoint = { [Field in keyof typeof Endpoint.Type]: (typeof Endpoint.Type)[Field] }

/**
 * What one process of the gateway knows of the providers.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Response = Schema.Struct({
  /** Every model at every provider, those whose circuit is not closed first. */
  data: Schema.Array(Endpoint),
  /** The process that answered. Each process counts its own calls. */
  instance: Schema.Struct({
    /** Identifies the process until it ends. */
    id: Schema.String,
    /** Since when it counts. */
    started_at: Timestamp
  })
})

/**
 * @category models
 * @since 0.1.0
 */
export type Response = { [Field in keyof typeof Response.Type]: (typeof Response.Type)[Field] }

/**
 * @category operations
 * @since 0.1.0
 */
export const getProviderHealthOperation = Operation.make("getProviderHealth", "GET", "/providers/health", {
  access: "management key",
  scope: "workspace",
  success: Response,
  error: managementErrors
})

const exampleWindow = (calls: number): typeof Window.Encoded => ({ calls, success_rate: 0.5, p50_ms: 210, p95_ms: 480 })

/**
 * @category endpoints
 * @since 0.1.0
 */
export const getProviderHealthEndpoint = Operation.endpoint(getProviderHealthOperation, () => ({
  reference: {
    summary: "Get the health of the providers",
    example: {
      response: {
        data: [
          {
            provider: "cohere",
            model: "cohere/rerank-v3.5",
            kind: "rerank",
            time_limit_ms: 20000,
            circuit: {
              state: "open",
              opened_at: "2026-11-20T22:30:00.000Z",
              retry_at: "2026-11-20T22:30:10.000Z"
            },
            credential: "accepted",
            last_call: {
              at: "2026-11-20T22:30:00.000Z",
              outcome: "Overloaded",
              status: 503,
              request_id: "req_019aab3e5c7f7d3e9a41c2f0b6d84e110"
            },
            last_failure: {
              at: "2026-11-20T22:30:00.000Z",
              outcome: "Overloaded",
              status: 503,
              request_id: "req_019aab3e5c7f7d3e9a41c2f0b6d84e110"
            },
            windows: { "5m": exampleWindow(10), "1h": exampleWindow(120), "1d": exampleWindow(1440) }
          }
        ],
        instance: { id: "019aab3e-5c7f-7d3e-9a41-c2f0b6d84e11", started_at: "2026-11-20T20:00:00.000Z" }
      }
    }
  }
}))

/**
 * The errors of {@link getProviderHealth}.
 *
 * @category errors
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof getProviderHealthOperation> | ClientError

/**
 * Returns how the providers of each model are doing, as the process that answers knows it: its own
 * calls since it started, and the circuits, which processes share if they have Redis.
 *
 * @category calls
 * @since 0.1.0
 */
export const getProviderHealth: Effect.Effect<Response, Failure, GatewayClient> = Effect.suspend(() =>
  call(getProviderHealthOperation, {})
)
