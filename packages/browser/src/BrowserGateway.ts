/**
 * The gateway client for browsers, with all operations as methods. A page that calls few operations
 * is smaller with `BrowserClient`.
 *
 * Build the layer once, in your main layer or a `ManagedRuntime`: it holds the cached token and the
 * retry budget.
 *
 * @since 0.1.0
 */
import * as Gateway from "@model-gateway/core/Gateway"
import { GatewayClient } from "@model-gateway/core/GatewayClient"
import type { InvalidBaseUrl } from "@model-gateway/core/GatewayConfig"
import * as Effect from "effect/Effect"
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
 * Provides the client, configured by the page's `<meta name="model-gateway-…">` elements. See
 * `Settings.fromMeta` for their names.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerMeta = (
  options?: BrowserClient.PageOptions
): Layer.Layer<Gateway.Gateway | GatewayClient, Settings.InvalidSettings | InvalidBaseUrl> =>
  withMethods(BrowserClient.layerMeta(options))

/**
 * Provides the client, configured by a JSON document such as `/model-gateway.json`. See
 * `Settings.fromJson` for its fields.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerJson = (
  url: string,
  options?: BrowserClient.PageOptions
): Layer.Layer<Gateway.Gateway | GatewayClient, Settings.InvalidSettings | InvalidBaseUrl> =>
  withMethods(BrowserClient.layerJson(url, options))
