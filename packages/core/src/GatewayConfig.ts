/**
 * The client's configuration: the gateway's address, the credential and the default workspace.
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import { constUndefined } from "effect/Function"
import * as Effect from "effect/Effect"
import type * as HttpClient from "effect/http/HttpClient"
import { NodeInspectSymbol } from "effect/Inspectable"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import { correctedBaseUrl } from "./internal/baseUrl.ts"
import type * as RetryBudget from "./RetryBudget.ts"
import type { RetryPolicy } from "./RetryPolicy.ts"
import * as WireNames from "./dialect/WireNames.ts"

/**
 * The token that the service rejected, while an Effect that is the credential runs once more. If it
 * returns another token, the call is repeated with that one. Undefined otherwise.
 *
 * @category references
 * @since 0.1.0
 */
export const RefusedToken = Context.Reference<Redacted.Redacted<string> | undefined>(
  "@model-gateway/core/GatewayConfig/RefusedToken",
  { defaultValue: constUndefined }
)

/**
 * Marks an error of a credential Effect that contains no secret. A `TransportError` then has it as
 * `underlying`, and quotes its message. All other errors of the Effect are left out, because they
 * may contain the token, or the password of the store that it comes from.
 *
 * @example
 * ```ts
 * import { GatewayConfig } from "@model-gateway/core"
 * import { Data } from "effect"
 *
 * class SignedOut extends Data.TaggedError("SignedOut") {
 *   readonly [GatewayConfig.ShownError] = true
 *   override readonly message = "sign in first"
 * }
 * ```
 *
 * @category constants
 * @since 0.1.0
 */
export const ShownError = "~@model-gateway/core/GatewayConfig/ShownError"

/**
 * A key, or an Effect that returns a token. The Effect runs before every attempt, so that a rotated
 * secret needs no restart and a browser can fetch a short-lived token. After a 401 it runs once
 * more: see {@link RefusedToken}. The client does not cache the token: do that in the Effect if it
 * is expensive. Retries of a paid call that the service may have done use the same token again. Why
 * the Effect fails is not shown: see {@link ShownError}.
 *
 * @category models
 * @since 0.1.0
 */
export type Credential = Redacted.Redacted<string> | Effect.Effect<Redacted.Redacted<string>, unknown>

/**
 * Adds to the `HttpClient` of a layer: headers, a signature, another proxy, tracing, a recording.
 *
 * @category models
 * @since 0.1.0
 */
export type TransformClient = (client: HttpClient.HttpClient) => HttpClient.HttpClient

/**
 * The base URL is not the address of a gateway: it is not an HTTP or HTTPS URL, does not end in
 * `/api/v1`, or has credentials, a query or a fragment. The message shows the corrected URL. It
 * never quotes the original, which may contain a password.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidBaseUrl extends Data.TaggedError("InvalidBaseUrl")<{
  /** The base URL that was probably meant. */
  readonly corrected: string
}> {
  override get message(): string {
    return `The base URL must be an HTTP or HTTPS URL that ends in /api/v1, without credentials, query and fragment, such as ${this.corrected}`
  }

  /** One line. */
  override [NodeInspectSymbol](): string {
    return String(this)
  }
}

/**
 * @category services
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
    readonly retryBudget: RetryBudget.RetryBudget | RetryBudget.Options | undefined
    /** The policy of calls that do not set one. */
    readonly retryPolicy: RetryPolicy | undefined
    /** See {@link Options}. */
    readonly transformClient?: TransformClient | undefined
    /** The longest JSON response that is read. */
    readonly maxResponseBytes: number
    /** See {@link Options}. */
    readonly wireNames?: WireNames.WireNames | undefined
  }
>()("@model-gateway/core/GatewayConfig") {}

/**
 * @category options
 * @since 0.1.0
 */
export interface Options {
  /** Default: `http://127.0.0.1:8787/api/v1`, the address of `npm start`. */
  readonly baseUrl?: string | undefined
  readonly credential: Credential
  /** Default: the key's default workspace. */
  readonly workspaceId?: string | undefined
  /**
   * The retry budget that all calls of the layer share. To share it with retries that something
   * else makes, pass one from `RetryBudget.make`.
   */
  readonly retryBudget?: RetryBudget.RetryBudget | RetryBudget.Options | undefined
  /**
   * The policy of calls that do not set one. Default: the `RetryPolicy` that is provided to the
   * layer, or else `RetryPolicy.make()`.
   */
  readonly retryPolicy?: RetryPolicy | undefined
  /**
   * Changes the `HttpClient` of this client, for example with `HttpClient.mapRequest`. It runs
   * once, when the layer is built. What it adds applies to every attempt, after the client has set
   * its headers. Default: none.
   */
  readonly transformClient?: TransformClient | undefined
  /**
   * The longest JSON response that is read, in bytes after decompression. A longer one fails with
   * `InvalidResponse`. Content of files and videos is not limited. Default: 67108864 (64 MiB).
   */
  readonly maxResponseBytes?: number | undefined
  /**
   * The words for vendors on the wire, for a service that does not use the neutral ones, such as
   * `WireNames.openrouter`. Types and values of the client stay neutral. Default: the neutral
   * words.
   */
  readonly wireNames?: WireNames.WireNames | undefined
}

const defaultBaseUrl = "http://127.0.0.1:8787/api/v1"

/**
 * Makes a configuration from values. The base URL is not checked: see {@link fromOptions}.
 *
 * @example
 * ```ts
 * import { GatewayConfig } from "@model-gateway/core"
 * import { Redacted } from "effect"
 *
 * const config = GatewayConfig.make({ credential: Redacted.make("mg_sk_…") })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options): GatewayConfig["Service"] => ({
  baseUrl: (options.baseUrl ?? defaultBaseUrl).replace(/\/+$/, ""),
  credential: options.credential,
  workspaceId: options.workspaceId,
  retryBudget: options.retryBudget,
  retryPolicy: options.retryPolicy,
  transformClient: options.transformClient,
  maxResponseBytes: options.maxResponseBytes ?? 64 * 1024 * 1024,
  wireNames: options.wireNames
})

const check = (config: GatewayConfig["Service"]): Effect.Effect<GatewayConfig["Service"], InvalidBaseUrl> => {
  const corrected = correctedBaseUrl(config.baseUrl)
  return corrected === undefined ? Effect.succeed(config) : Effect.fail(new InvalidBaseUrl({ corrected }))
}

/**
 * Makes a configuration from values, and checks its base URL.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromOptions = (options: Options): Effect.Effect<GatewayConfig["Service"], InvalidBaseUrl> =>
  check(make(options))

/**
 * Provides a configuration from values, whose base URL is checked.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options): Layer.Layer<GatewayConfig, InvalidBaseUrl> =>
  Layer.effect(GatewayConfig, fromOptions(options))

/**
 * The options of {@link Options}, where the address, the credential, the workspace and the words on
 * the wire are `Config`s.
 *
 * @category options
 * @since 0.1.0
 */
export interface ConfigOptions extends Omit<Options, "baseUrl" | "credential" | "workspaceId" | "wireNames"> {
  /** Default: `MODEL_GATEWAY_BASE_URL`, or else `http://127.0.0.1:8787/api/v1`. */
  readonly baseUrl?: Config.Config<string> | undefined
  /** Default: `MODEL_GATEWAY_API_KEY`, which is required. */
  readonly credential?: Config.Config<Redacted.Redacted<string>> | undefined
  /** Default: `MODEL_GATEWAY_WORKSPACE_ID`, or else the key's default workspace. */
  readonly workspaceId?: Config.Config<string | undefined> | undefined
  /**
   * Default: `MODEL_GATEWAY_WIRE_NAMES`, which is `neutral` or `openrouter`, or else the neutral
   * words.
   */
  readonly wireNames?: Config.Config<WireNames.WireNames | undefined> | undefined
}

const wireNamesConfig = Config.schema(Schema.Literals(WireNames.presets), "MODEL_GATEWAY_WIRE_NAMES").pipe(
  Config.withDefault("neutral"),
  Config.map(WireNames.ofPreset)
)

const baseUrlName = "MODEL_GATEWAY_BASE_URL"

/** Unlike `Config.URL`, its error does not quote the value, which may contain a password. */
const baseUrlConfig = Config.String(baseUrlName).pipe(
  Config.mapEffect((text) =>
    URL.canParse(text)
      ? Effect.succeed(text)
      : Effect.fail(
          new Config.ConfigError(
            new Schema.SchemaError(
              new SchemaIssue.Pointer(
                [baseUrlName],
                new SchemaIssue.InvalidValue({ message: "It must be an HTTP or HTTPS URL" })
              )
            )
          )
        )
  ),
  Config.withDefault(defaultBaseUrl)
)

/**
 * The configuration from `Config`s. Default: the environment variables `MODEL_GATEWAY_BASE_URL`
 * (default: `http://127.0.0.1:8787/api/v1`), `MODEL_GATEWAY_API_KEY` (required),
 * `MODEL_GATEWAY_WORKSPACE_ID` (optional) and `MODEL_GATEWAY_WIRE_NAMES` (`neutral` or
 * `openrouter`; default: `neutral`). Only {@link layerConfig} checks that the base URL ends in
 * `/api/v1`.
 *
 * @category configuration
 * @since 0.1.0
 */
export const config = ({
  baseUrl = baseUrlConfig,
  credential = Config.Redacted("MODEL_GATEWAY_API_KEY"),
  workspaceId = Config.withDefault(Config.NonEmptyString("MODEL_GATEWAY_WORKSPACE_ID"), undefined),
  wireNames = wireNamesConfig,
  ...options
}: ConfigOptions = {}): Config.Config<GatewayConfig["Service"]> =>
  Config.map(Config.all({ baseUrl, credential, workspaceId, wireNames }), (read) => make({ ...options, ...read }))

/**
 * Provides the configuration from the current `ConfigProvider`, and checks its base URL. See
 * {@link config} for the names.
 *
 * @example
 * ```ts
 * import { GatewayConfig } from "@model-gateway/core"
 * import { Config } from "effect"
 *
 * const layer = GatewayConfig.layerConfig({ credential: Config.Redacted("RANKING_KEY") })
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerConfig = (options?: ConfigOptions): Layer.Layer<GatewayConfig, Config.ConfigError | InvalidBaseUrl> =>
  Layer.effect(
    GatewayConfig,
    Effect.suspend(() => Effect.flatMap(config(options), check))
  )
