/**
 * The client's configuration: the gateway's address, the credential and the default workspace.
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import * as Context from "effect/Context"
import { constUndefined } from "effect/Function"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import type * as RetryBudget from "./RetryBudget.ts"
import type { RetryPolicy } from "./RetryPolicy.ts"

/**
 * The token that the service rejected, while an Effect that is the credential runs once more. If it
 * returns another token, the call is repeated with that one. Undefined otherwise.
 *
 * @since 0.1.0
 */
export const RefusedToken = Context.Reference<Redacted.Redacted<string> | undefined>(
  "@model-gateway/core/GatewayConfig/RefusedToken",
  { defaultValue: constUndefined }
)

/**
 * A key, or an Effect that returns a token. The Effect runs before every attempt, so that a rotated
 * secret needs no restart and a browser can fetch a short-lived token. After a 401 it runs once
 * more: see {@link RefusedToken}. The client does not cache the token: do that in the Effect if it
 * is expensive. Retries of a paid call whose response was
 * lost use the same token again.
 *
 * @since 0.1.0
 */
export type Credential = Redacted.Redacted<string> | Effect.Effect<Redacted.Redacted<string>, unknown>

/**
 * @since 0.1.0
 */
export class GatewayConfig extends Context.Service<
  GatewayConfig,
  {
    /** The gateway's address, ending in `/api/v1`, without a trailing slash. */
    readonly baseUrl: string
    readonly credential: Credential
    /** The `workspace_id` of calls that accept one and do not set it. */
    readonly workspaceId: string | undefined
    readonly retryBudget: RetryBudget.Options | undefined
    /** The policy of calls that do not set one. */
    readonly retryPolicy: RetryPolicy | undefined
  }
>()("@model-gateway/core/GatewayConfig") {}

/**
 * @since 0.1.0
 */
export interface Options {
  /** Default: `http://127.0.0.1:8787/api/v1`, the address of `npm start`. */
  readonly baseUrl?: string | undefined
  readonly credential: Credential
  /** Default: the key's default workspace. */
  readonly workspaceId?: string | undefined
  /** The retry budget that all calls of the layer share. */
  readonly retryBudget?: RetryBudget.Options | undefined
  /**
   * The policy of calls that do not set one. Default: the `RetryPolicy` that is provided to the
   * layer, or else `RetryPolicy.make()`.
   */
  readonly retryPolicy?: RetryPolicy | undefined
}

const defaultBaseUrl = "http://127.0.0.1:8787/api/v1"

/**
 * Makes a configuration from values.
 *
 * @example
 * ```ts
 * import { GatewayConfig } from "@model-gateway/core"
 * import { Redacted } from "effect"
 *
 * const config = GatewayConfig.make({ credential: Redacted.make("mg_sk_…") })
 * ```
 *
 * @since 0.1.0
 */
export const make = (options: Options): GatewayConfig["Service"] => ({
  baseUrl: (options.baseUrl ?? defaultBaseUrl).replace(/\/+$/, ""),
  credential: options.credential,
  workspaceId: options.workspaceId,
  retryBudget: options.retryBudget,
  retryPolicy: options.retryPolicy
})

/**
 * Provides a configuration from values.
 *
 * @since 0.1.0
 */
export const layer = (options: Options): Layer.Layer<GatewayConfig> => Layer.succeed(GatewayConfig, make(options))

/**
 * The configuration from environment variables: `MODEL_GATEWAY_BASE_URL` (default:
 * `http://127.0.0.1:8787/api/v1`), `MODEL_GATEWAY_API_KEY` (required) and
 * `MODEL_GATEWAY_WORKSPACE_ID` (optional).
 *
 * @since 0.1.0
 */
export const config: Config.Config<GatewayConfig["Service"]> = Config.all({
  baseUrl: Config.URL("MODEL_GATEWAY_BASE_URL").pipe(
    Config.map((url) => url.href),
    Config.withDefault(defaultBaseUrl)
  ),
  credential: Config.Redacted("MODEL_GATEWAY_API_KEY"),
  workspaceId: Config.option(Config.NonEmptyString("MODEL_GATEWAY_WORKSPACE_ID"))
}).pipe(
  Config.map(({ baseUrl, credential, workspaceId }) =>
    make({ baseUrl, credential, workspaceId: Option.getOrUndefined(workspaceId) })
  )
)

/**
 * Provides the configuration from the current `ConfigProvider`. See {@link config} for the names.
 *
 * @since 0.1.0
 */
export const layerConfig: Layer.Layer<GatewayConfig, Config.ConfigError> = Layer.effect(
  GatewayConfig,
  Effect.suspend(() => config)
)
