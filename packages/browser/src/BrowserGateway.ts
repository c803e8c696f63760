/**
 * The gateway's client in a browser: over `fetch`, with short-lived tokens that the
 * application's own server hands out.
 *
 * Build the layer once, in your main layer or a `ManagedRuntime`: the token that it
 * keeps, and the budget of its retries, live as long as the layer.
 *
 * @since 0.1.0
 */
import * as Gateway from "@model-gateway/core/Gateway"
import * as GatewayConfig from "@model-gateway/core/GatewayConfig"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as BrowserHttpClient from "./BrowserHttpClient.ts"
import { type LongLivedKeyRefused, refuseLongLived } from "./LongLivedKey.ts"
import * as Settings from "./Settings.ts"
import * as TokenSource from "./TokenSource.ts"

/**
 * Who calls: either the address where the application's own server hands out
 * short-lived tokens, or a credential of your own making.
 *
 * @since 0.1.0
 */
export type Credential =
  | {
      /**
       * Asked with POST, answers what the gateway's POST `/keys/ephemeral` answered
       * it: `{ "key": …, "expires_at": … }`. Its tokens are kept, replaced before
       * they expire, and replaced once where the gateway refuses one.
       */
      readonly tokenEndpoint: string | TokenSource.EndpointOptions
      readonly credential?: undefined
    }
  | {
      /** An Effect that yields a short-lived token, asked before every attempt; or a token. */
      readonly credential: GatewayConfig.Credential
      readonly tokenEndpoint?: undefined
    }

/**
 * @since 0.1.0
 */
export type Options = Omit<GatewayConfig.Options, "baseUrl" | "credential"> &
  Credential & {
    /** Its path ends in `/api/v1`. Default `/api/v1` of the page's own origin. */
    readonly baseUrl?: string | undefined
    /**
     * Lets a key pass that lives for months (`mg_sk_…`, `mg_mk_…`), though everyone
     * who opens the page can read it and spend with it. Default false.
     */
    readonly dangerouslyAllowLongLivedKey?: boolean | undefined
    readonly http?: BrowserHttpClient.Options | undefined
  }

const bearer = (key: Redacted.Redacted<string>) => `Bearer ${Redacted.value(key)}`

/** A refused token was revoked, or has expired by the gateway's clock: what it was sent with goes out once more, with another. */
const replacingRefused = (
  client: HttpClient.HttpClient,
  source: TokenSource.TokenSource<unknown>
): HttpClient.HttpClient =>
  HttpClient.transform(client, (effect, request) =>
    Effect.flatMap(effect, (response) => {
      if (response.status !== 401) return Effect.succeed(response)
      const refused = request.headers["authorization"]
      return source.token.pipe(
        Effect.tap((key) => (bearer(key) === refused ? source.refuse(key) : Effect.void)),
        Effect.andThen(source.token),
        Effect.matchEffect({
          onFailure: () => Effect.succeed(response),
          onSuccess: (key) =>
            bearer(key) === refused
              ? Effect.succeed(response)
              : client.execute(HttpClientRequest.setHeader(request, "authorization", bearer(key)))
        })
      )
    })
  )

type Common = Omit<Options, "credential" | "tokenEndpoint" | "dangerouslyAllowLongLivedKey">

const withCredential = (options: Common, credential: GatewayConfig.Credential, client: HttpClient.HttpClient) =>
  Gateway.make.pipe(
    Effect.provideService(
      GatewayConfig.GatewayConfig,
      GatewayConfig.make({ ...options, baseUrl: options.baseUrl ?? "/api/v1", credential })
    ),
    Effect.provideService(HttpClient.HttpClient, client)
  )

const withTokenEndpoint = Effect.fnUntraced(function* (
  options: Common,
  endpoint: string | TokenSource.EndpointOptions,
  dangerouslyAllowLongLivedKey: boolean
) {
  const client = yield* HttpClient.HttpClient
  const source = yield* TokenSource.make(
    TokenSource.fromEndpoint(typeof endpoint === "string" ? { url: endpoint } : endpoint)
  )
  const credential = dangerouslyAllowLongLivedKey ? source.token : Effect.flatMap(source.token, refuseLongLived)
  return yield* withCredential(options, credential, replacingRefused(client, source))
})

/**
 * The client from values.
 *
 * @example
 * ```ts
 * import { BrowserGateway } from "@model-gateway/browser"
 * import { Gateway } from "@model-gateway/core"
 * import { Effect } from "effect"
 *
 * const program = Effect.gen(function*() {
 *   const gateway = yield* Gateway.Gateway
 *   return yield* gateway.rerank({ model: "sandbox/bm25", query: "pears", documents: ["apples", "pears"] })
 * }).pipe(Effect.provide(BrowserGateway.layer({ tokenEndpoint: "/token" })))
 * ```
 *
 * A key given as it is, and long-lived, fails the layer with `LongLivedKeyRefused`.
 * Where the Effect or the endpoint yields such a key, the calls fail: with a
 * `TransportError` whose `reason` is `credential` and whose `cause` is that error
 * (or a `TokenSource.TokenUnavailable`, or what else your Effect fails with).
 *
 * @since 0.1.0
 */
export const layer = (options: Options): Layer.Layer<Gateway.Gateway, LongLivedKeyRefused> => {
  const { credential, dangerouslyAllowLongLivedKey = false, tokenEndpoint, ...common } = options
  return Layer.effect(Gateway.Gateway)(
    tokenEndpoint !== undefined
      ? withTokenEndpoint(common, tokenEndpoint, dangerouslyAllowLongLivedKey)
      : Effect.gen(function* () {
          const client = yield* HttpClient.HttpClient
          if (dangerouslyAllowLongLivedKey) return yield* withCredential(common, credential, client)
          return yield* Redacted.isRedacted(credential)
            ? withCredential(common, yield* refuseLongLived(credential), client)
            : withCredential(common, Effect.flatMap(credential, refuseLongLived), client)
        })
  ).pipe(Layer.provide(BrowserHttpClient.layer(options.http)))
}

/**
 * What the layers that read the page's settings take besides them.
 *
 * @since 0.1.0
 */
export type PageOptions = Pick<Options, "http" | "retryBudget">

const fromSettings =
  (options: PageOptions) =>
  (settings: Settings.Settings): Layer.Layer<Gateway.Gateway, never, HttpClient.HttpClient> =>
    Layer.effect(Gateway.Gateway)(
      withTokenEndpoint(
        { ...options, baseUrl: settings.base_url, workspaceId: settings.workspace_id },
        settings.token_endpoint,
        false
      )
    )

/**
 * The client from the page's `<meta name="model-gateway-…">` elements; see
 * `Settings.fromMeta` for their names.
 *
 * @since 0.1.0
 */
export const layerMeta = (options: PageOptions = {}): Layer.Layer<Gateway.Gateway, Settings.InvalidSettings> =>
  Layer.unwrap(Effect.map(Settings.fromMeta, fromSettings(options))).pipe(
    Layer.provide(BrowserHttpClient.layer(options.http))
  )

/**
 * The client from a JSON document, such as `/model-gateway.json`; see
 * `Settings.fromJson` for its fields.
 *
 * @since 0.1.0
 */
export const layerJson = (
  url: string,
  options: PageOptions = {}
): Layer.Layer<Gateway.Gateway, Settings.InvalidSettings> =>
  Layer.unwrap(Effect.map(Settings.fromJson(url), fromSettings(options))).pipe(
    Layer.provide(BrowserHttpClient.layer(options.http))
  )
