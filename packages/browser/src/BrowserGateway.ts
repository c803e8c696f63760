/**
 * The gateway client for browsers, with all operations as methods. A page that calls few operations
 * is smaller with `BrowserClient`.
 *
 * Build the layer once, in your main layer or a `ManagedRuntime`: it owns the cached token and the
 * retry budget.
 *
 * @since 0.1.0
 */
import * as Gateway from "@model-gateway/core/Gateway"
import { GatewayClient } from "@model-gateway/core/GatewayClient"
import type { InvalidBaseUrl } from "@model-gateway/core/GatewayConfig"
import * as Effect from "effect/Effect"
import type { HttpClient } from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import * as BrowserClient from "./BrowserClient.ts"
import type { LongLivedKeyRefused } from "./LongLivedKey.ts"
import type * as Settings from "./Settings.ts"

const withMethods = <E>(client: Layer.Layer<GatewayClient, E>): Layer.Layer<Gateway.Gateway | GatewayClient, E> =>
  Layer.provideMerge(Layer.effect(Gateway.Gateway, Effect.map(GatewayClient, Gateway.fromClient)), client)

/**
 * Provides the client, configured by values. `BrowserClient.layer` describes its errors.
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
 * @category layers
 * @since 0.1.0
 */
export const layer = (
  options: BrowserClient.Options
): Layer.Layer<Gateway.Gateway | GatewayClient, LongLivedKeyRefused | InvalidBaseUrl> =>
  withMethods(BrowserClient.layer(options))

/**
 * Provides the client, configured by settings that the page finds when it starts: in its `<meta>`
 * elements with `Settings.fromMeta`, or in a JSON document with `Settings.fromJson`.
 *
 * @example
 * ```ts
 * import { BrowserGateway, Settings } from "@model-gateway/browser"
 *
 * const Client = BrowserGateway.layerSettings(Settings.fromJson("/model-gateway.json"))
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerSettings = (
  settings: Effect.Effect<Settings.Settings, Settings.InvalidSettings, HttpClient>,
  options?: BrowserClient.PageOptions
): Layer.Layer<Gateway.Gateway | GatewayClient, Settings.InvalidSettings | InvalidBaseUrl> =>
  withMethods(BrowserClient.layerSettings(settings, options))
