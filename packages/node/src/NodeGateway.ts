/**
 * The gateway client for Node. It uses its own undici connection pool, which stays open until the
 * layer is closed.
 *
 * Build the layer once, in your main layer or a `ManagedRuntime`. A layer for each call would open
 * a new connection for each call.
 *
 * @since 0.1.0
 */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import type * as Undici from "@effect/platform-node/Undici"
import { Gateway, type GatewayClient, GatewayConfig, SchemaCompiler, Telemetry } from "@model-gateway/core"
import {
  type Config,
  ConfigProvider,
  Context,
  Effect,
  FileSystem,
  Layer,
  type PlatformError,
  Random,
  type Scope,
  Tracer
} from "effect"
import { HttpClient, type HttpClientError } from "effect/http"
import * as SchemaJITCompiler from "effect/schema/SchemaJITCompiler"
import { canDispatch, dispatch } from "./internal/dispatch.ts"
import { toStream } from "./internal/form.ts"
import { withUserAgent } from "./internal/userAgent.ts"

/**
 * Settings of the connection pool.
 *
 * @since 0.1.0
 */
export interface PoolOptions {
  /** The maximum number of connections to the gateway. Default: 64. */
  readonly connections?: number | undefined
  /**
   * How long to keep an idle connection, in milliseconds. A shorter time in the service's
   * `Keep-Alive` header takes precedence. Default: 30,000.
   */
  readonly keepAliveTimeout?: number | undefined
  /** Options for undici's `Agent`, such as TLS settings or a custom connector. */
  readonly agent?: Undici.Agent.Options | undefined
}

/**
 * An `HttpClient` over an undici pool, which is closed with the layer. If a tracer is installed,
 * every request has a client span and trace headers. Without one, no spans are created.
 *
 * @since 0.1.0
 */
export const layerHttpClient = (options: PoolOptions = {}): Layer.Layer<HttpClient.HttpClient> =>
  Layer.effect(
    HttpClient.HttpClient,
    Effect.gen(function* () {
      const dispatcher = yield* NodeHttpClient.Dispatcher
      const platform = yield* NodeHttpClient.makeUndici
      return HttpClient.makeWith<never, never, HttpClientError.HttpClientError, never>(
        Effect.flatMap((given) =>
          Effect.withFiber((fiber) => {
            const request = withUserAgent(toStream(given, fiber.getRef(Random.Random)))
            return canDispatch(request) && fiber.getRef(Tracer.Tracer) === Tracer.nativeTracer
              ? dispatch(dispatcher, request)
              : platform.execute(request)
          })
        ),
        Effect.succeed
      )
    })
  ).pipe(
    Layer.provide(
      NodeHttpClient.layerDispatcherOptions({
        connections: options.connections ?? 64,
        keepAliveTimeout: options.keepAliveTimeout ?? 30_000,
        // With more, requests on one connection wait for each other: a rerank for a transcription.
        pipelining: 1,
        ...options.agent
      })
    )
  )

/** Compiles schemas to code. If Node forbids code generation from strings, they are interpreted. */
const layerCompiler = Layer.succeed(SchemaCompiler.SchemaCompiler, ({ ast }) => SchemaJITCompiler.enable(ast))

/**
 * Options that do not depend on how the client is configured.
 *
 * @since 0.1.0
 */
export interface PlatformOptions {
  readonly pool?: PoolOptions | undefined
  /**
   * Whether calls are recorded as spans, debug logs and metrics; see `Telemetry` of
   * `@model-gateway/core`. Spans are created only if a tracer is installed. Default: true.
   */
  readonly telemetry?: boolean | undefined
}

/**
 * The configuration of the client by values.
 *
 * @since 0.1.0
 */
export interface Options extends GatewayConfig.Options, PlatformOptions {}

/**
 * The configuration of the client by `Config`s.
 *
 * @since 0.1.0
 */
export interface ConfigOptions extends GatewayConfig.ConfigOptions, PlatformOptions {}

const layerOver = ({ pool, telemetry = true }: PlatformOptions) =>
  Layer.fresh(Gateway.layer).pipe(
    Layer.provide(layerCompiler),
    Layer.provide(telemetry ? Telemetry.layer : Layer.empty),
    Layer.provide(layerHttpClient(pool))
  )

/**
 * Provides the client, configured by values. An invalid base URL fails the layer.
 *
 * @example
 * ```ts
 * import { Gateway } from "@model-gateway/core"
 * import { NodeGateway } from "@model-gateway/node"
 * import { Effect, Redacted } from "effect"
 *
 * declare const apiKey: string
 *
 * const program = Effect.gen(function*() {
 *   const gateway = yield* Gateway.Gateway
 *   return yield* gateway.currentKey
 * }).pipe(Effect.provide(NodeGateway.layer({ credential: Redacted.make(apiKey) })))
 * ```
 *
 * @since 0.1.0
 */
export const layer = (
  options: Options
): Layer.Layer<Gateway.Gateway | GatewayClient.GatewayClient, GatewayConfig.InvalidBaseUrl> =>
  Layer.provide(layerOver(options), GatewayConfig.layer(options))

/**
 * Provides the client, configured by the current `ConfigProvider`: `MODEL_GATEWAY_API_KEY`
 * (required), `MODEL_GATEWAY_BASE_URL` and `MODEL_GATEWAY_WORKSPACE_ID`, or the `Config`s that you
 * pass. Provide {@link layerDotEnv} to it to read a `.env` file, too.
 *
 * @example
 * ```ts
 * import { NodeGateway } from "@model-gateway/node"
 * import { RetryPolicy } from "@model-gateway/core"
 * import { Config } from "effect"
 *
 * const layer = NodeGateway.layerConfig({
 *   credential: Config.Redacted("RANKING_KEY"),
 *   retryPolicy: RetryPolicy.make({ deadline: "30 seconds" })
 * })
 * ```
 *
 * @since 0.1.0
 */
export const layerConfig = (
  options: ConfigOptions = {}
): Layer.Layer<Gateway.Gateway | GatewayClient.GatewayClient, Config.ConfigError | GatewayConfig.InvalidBaseUrl> =>
  Layer.provide(layerOver(options), GatewayConfig.layerConfigWith(options))

/**
 * Makes a client that is a value, for a program that uses several keys: each has its own
 * connections, which are closed with the scope.
 *
 * @example
 * ```ts
 * import { NodeGateway } from "@model-gateway/node"
 * import { Config, Effect } from "effect"
 *
 * const program = Effect.gen(function*() {
 *   const ranking = yield* NodeGateway.make({ credential: yield* Config.Redacted("RANKING_KEY") })
 *   const managing = yield* NodeGateway.make({ credential: yield* Config.Redacted("MANAGEMENT_KEY") })
 *   const { data } = yield* managing.listKeys()
 *   const { results } = yield* ranking.rerank({ model: "sandbox/bm25", query: "pears", documents: ["apples", "pears"] })
 *   return { keys: data.length, results }
 * }).pipe(Effect.scoped)
 * ```
 *
 * @since 0.1.0
 */
export const make = (
  options: Options
): Effect.Effect<Gateway.Gateway["Service"], GatewayConfig.InvalidBaseUrl, Scope.Scope> =>
  Effect.map(Layer.build(layer(options)), Context.get(Gateway.Gateway))

/**
 * Adds a `.env` file, if it exists, to the current `ConfigProvider`. Environment variables take
 * precedence over the file. Default for `path`: `.env` in the working directory.
 *
 * @since 0.1.0
 */
export const layerDotEnv = (options?: {
  readonly path?: string | undefined
}): Layer.Layer<never, PlatformError.PlatformError> =>
  ConfigProvider.layerAdd(
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      return (yield* fs.exists(options?.path ?? ".env"))
        ? yield* ConfigProvider.fromDotEnv(options)
        : ConfigProvider.fromUnknown({})
    })
  ).pipe(Layer.provide(NodeFileSystem.layer))
