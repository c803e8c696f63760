/**
 * The `GatewayClient` for browsers: over `fetch`, with short-lived tokens from the application's
 * own server. The functions of the modules, such as `Rerank.rerank`, need nothing else, so that a
 * page bundles only the operations that it calls. `BrowserGateway` provides all operations as
 * methods.
 *
 * Build the layer once, in your main layer or a `ManagedRuntime`: it owns the cached token and the
 * retry budget.
 *
 * @since 0.1.0
 */
import * as GatewayClient from "@model-gateway/core/GatewayClient"
import * as GatewayConfig from "@model-gateway/core/GatewayConfig"
import * as Effect from "effect/Effect"
import type * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as BrowserHttpClient from "./BrowserHttpClient.ts"
import { type LongLivedKeyRefused, refuseLongLived } from "./LongLivedKey.ts"
import type * as Settings from "./Settings.ts"
import * as TokenSource from "./TokenSource.ts"

/**
 * The credential: either the URL where the application's own server returns short-lived tokens, or
 * a token or Effect that you provide.
 *
 * @category models
 * @since 0.1.0
 */
export type Credential =
  | {
      /**
       * Requested with POST. It returns the response of the gateway's POST `/keys/ephemeral`:
       * `{ "key": …, "expires_at": … }`. The token is cached and replaced before it expires. If
       * the gateway rejects it, it is replaced once. `transformClient` does not change these
       * requests.
       */
      readonly tokenEndpoint: string | TokenSource.EndpointOptions
      readonly credential?: undefined
    }
  | {
      /** A short-lived token, or an Effect that returns one and runs before every attempt. */
      readonly credential: GatewayConfig.Credential
      readonly tokenEndpoint?: undefined
    }

/**
 * @category options
 * @since 0.1.0
 */
export type Options = Omit<GatewayConfig.Options, "baseUrl" | "credential"> &
  Credential & {
    /**
     * The gateway's address, ending in `/api/v1`: a URL, or a path at the page's own origin such as
     * `/gateway/api/v1`. Default: `/api/v1`.
     */
    readonly baseUrl?: string | undefined
    /**
     * Accepts a long-lived key (`mg_sk_…`, `mg_mk_…`), although everyone who opens the page can
     * read it and spend with it. Default: false.
     */
    readonly dangerouslyAllowLongLivedKey?: boolean | undefined
    readonly http?: BrowserHttpClient.Options | undefined
  }

type Common = Omit<Options, "credential" | "tokenEndpoint" | "dangerouslyAllowLongLivedKey">

const withCredential = (options: Common, credential: GatewayConfig.Credential) =>
  Effect.provideServiceEffect(
    GatewayClient.make,
    GatewayConfig.GatewayConfig,
    GatewayConfig.fromOptions({ ...options, baseUrl: options.baseUrl ?? "/api/v1", credential })
  )

const withTokenEndpoint = Effect.fnUntraced(function* (
  options: Common,
  endpoint: string | TokenSource.EndpointOptions,
  dangerouslyAllowLongLivedKey: boolean
) {
  const source = yield* TokenSource.make(
    TokenSource.fromEndpoint(typeof endpoint === "string" ? { url: endpoint } : endpoint)
  )
  const credential = dangerouslyAllowLongLivedKey ? source.token : Effect.flatMap(source.token, refuseLongLived)
  return yield* withCredential(options, credential)
})

/**
 * Provides the client, configured by values.
 *
 * @example
 * ```ts
 * import { BrowserClient } from "@model-gateway/browser"
 * import { Rerank } from "@model-gateway/core"
 * import { Effect } from "effect"
 *
 * const ranking = Rerank.rerank({
 *   model: "sandbox/bm25",
 *   query: "pears",
 *   documents: ["apples", "pears"]
 * }).pipe(Effect.provide(BrowserClient.layer({ tokenEndpoint: "/token" })))
 * ```
 *
 * If `credential` is a long-lived key, the layer fails with `LongLivedKeyRefused`. If `baseUrl` is
 * not the address of a gateway, it fails with `InvalidBaseUrl`, which shows the corrected one.
 *
 * If the Effect or the token endpoint returns a long-lived key, or fails, each call fails with a
 * `TransportError` whose `reason` is `credential`. Its `underlying` is the `LongLivedKeyRefused`,
 * the `TokenSource.TokenUnavailable`, or an error of the Effect that is marked with
 * `GatewayConfig.ShownError`. All other errors of the Effect are left out.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (
  options: Options
): Layer.Layer<GatewayClient.GatewayClient, LongLivedKeyRefused | GatewayConfig.InvalidBaseUrl> => {
  const { credential, dangerouslyAllowLongLivedKey = false, tokenEndpoint, ...common } = options
  return Layer.effect(GatewayClient.GatewayClient)(
    tokenEndpoint !== undefined
      ? withTokenEndpoint(common, tokenEndpoint, dangerouslyAllowLongLivedKey)
      : dangerouslyAllowLongLivedKey
        ? withCredential(common, credential)
        : Redacted.isRedacted(credential)
          ? Effect.flatMap(refuseLongLived(credential), (key) => withCredential(common, key))
          : withCredential(common, Effect.flatMap(credential, refuseLongLived))
  ).pipe(Layer.provide(BrowserHttpClient.layer(options.http)))
}

/**
 * Options of {@link layerSettings}: all that the settings do not contain.
 *
 * @category options
 * @since 0.1.0
 */
export type PageOptions = Omit<Common, "baseUrl" | "workspaceId">

/**
 * Provides the client, configured by settings that the page finds when it starts: in its `<meta>`
 * elements with `Settings.fromMeta`, or in a JSON document with `Settings.fromJson`.
 *
 * @example
 * ```ts
 * import { BrowserClient, Settings } from "@model-gateway/browser"
 *
 * const Client = BrowserClient.layerSettings(Settings.fromMeta)
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerSettings = (
  settings: Effect.Effect<Settings.Settings, Settings.InvalidSettings, HttpClient.HttpClient>,
  options: PageOptions = {}
): Layer.Layer<GatewayClient.GatewayClient, Settings.InvalidSettings | GatewayConfig.InvalidBaseUrl> =>
  Layer.effect(
    GatewayClient.GatewayClient,
    Effect.flatMap(settings, ({ base_url, token_endpoint, workspace_id }) =>
      withTokenEndpoint({ ...options, baseUrl: base_url, workspaceId: workspace_id }, token_endpoint, false)
    )
  ).pipe(Layer.provide(BrowserHttpClient.layer(options.http)))
