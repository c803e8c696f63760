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
import { Gateway, type GatewayClient, GatewayConfig, Telemetry } from "@model-gateway/core"
import * as SchemaCompiler from "@model-gateway/core/unstable/SchemaCompiler"
import {
  type Config,
  ConfigProvider,
  Context,
  Duration,
  Effect,
  FileSystem,
  Layer,
  type PlatformError,
  type Scope,
  Tracer
} from "effect"
import { constTrue } from "effect/Function"
import { HttpClient, type HttpClientError } from "effect/http"
import * as SchemaJITCompiler from "effect/schema/SchemaJITCompiler"
import * as Pools from "./internal/pools.ts"
import { InvalidProxy } from "./internal/pools.ts"
import { send } from "./internal/transport.ts"
import { withUserAgent } from "./internal/userAgent.ts"

export { InvalidProxy }

/**
 * Settings of the connection pool.
 *
 * @category options
 * @since 0.1.0
 */
export interface PoolOptions {
  /**
   * The maximum number of connections to the gateway. Each call occupies one, a download until it
   * is read. Further calls wait. Default: 64.
   */
  readonly connections?: number | undefined
  /**
   * The maximum number of further connections for long polls, such as those of
   * `VideoProgress.watch`. Each occupies one while it waits. Default: 256.
   */
  readonly longPollConnections?: number | undefined
  /**
   * How long to keep an idle connection. A shorter time in the service's `Keep-Alive` header takes
   * precedence. Default: 30 seconds.
   */
  readonly keepAliveTimeout?: Duration.Input | undefined
  /**
   * Whether to use the proxies that the variables `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` (or
   * their names in lower case, which take precedence) give: for `http` URLs, for `https` URLs
   * (default: as for `http`), and the hosts to reach without. They are read from the current
   * `ConfigProvider`. `localhost`, `127.0.0.1` and `::1` are always reached without a proxy.
   * Default: `environment`, or `none` with a custom connector or a `socketPath` in
   * `agent.connect`.
   */
  readonly proxy?: "environment" | "none" | undefined
  /** Options for undici's `Agent`, such as TLS settings or a custom connector. */
  readonly agent?: Undici.Agent.Options | undefined
}

/**
 * An `HttpClient` over undici pools, which are closed with the layer. If a tracer is installed,
 * every request has a client span and trace headers. Without one, no spans are created.
 *
 * It decodes responses in gzip, deflate and br, follows up to 5 redirects of GET and HEAD on the
 * same origin, and uses the proxies of the environment: see {@link PoolOptions}. All other
 * redirects are responses. If a variable for a proxy is not a URL, the layer fails with
 * {@link InvalidProxy}.
 *
 * Read the body of every response: a long one that nobody reads occupies its connection.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerHttpClient = (options: PoolOptions = {}): Layer.Layer<HttpClient.HttpClient, InvalidProxy> =>
  Layer.effect(
    HttpClient.HttpClient,
    Effect.gen(function* () {
      const pools = yield* Pools.make({
        connections: options.connections ?? 64,
        longPollConnections: options.longPollConnections ?? 256,
        keepAliveTimeout: Duration.toMillis(options.keepAliveTimeout ?? "30 seconds"),
        proxy: options.proxy ?? "environment",
        agent: options.agent
      })
      const platform = yield* Effect.provideService(NodeHttpClient.makeUndici, NodeHttpClient.Dispatcher, pools.short)
      const traced = HttpClient.make(
        (request, _, signal, fiber) =>
          send(pools, request, fiber, signal) ??
          Effect.provideService(platform.execute(request), HttpClient.TracerDisabledWhen, constTrue)
      )
      return HttpClient.makeWith<never, never, HttpClientError.HttpClientError, never>(
        Effect.flatMap((request) =>
          Effect.withFiber((fiber) =>
            fiber.getRef(Tracer.Tracer) === Tracer.nativeTracer
              ? (send(pools, request, fiber) ?? platform.execute(withUserAgent(request)))
              : traced.execute(withUserAgent(request))
          )
        ),
        Effect.succeed
      )
    })
  )

/** Compiles schemas to code. If Node forbids code generation from strings, they are interpreted. */
const layerCompiler = Layer.succeed(SchemaCompiler.SchemaCompiler, ({ ast }) => SchemaJITCompiler.enable(ast))

/**
 * Options that do not depend on how the client is configured.
 *
 * @category options
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
 * @category options
 * @since 0.1.0
 */
export interface Options extends GatewayConfig.Options, PlatformOptions {}

/**
 * The configuration of the client by `Config`s.
 *
 * @category options
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
 * Provides the client, configured by values. The layer fails with `InvalidBaseUrl` or
 * {@link InvalidProxy}.
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
 * @category layers
 * @since 0.1.0
 */
export const layer = (
  options: Options
): Layer.Layer<Gateway.Gateway | GatewayClient.GatewayClient, GatewayConfig.InvalidBaseUrl | InvalidProxy> =>
  Layer.provide(layerOver(options), GatewayConfig.layer(options))

/**
 * Provides the client, configured by the current `ConfigProvider`: `MODEL_GATEWAY_API_KEY`
 * (required), `MODEL_GATEWAY_BASE_URL`, `MODEL_GATEWAY_WORKSPACE_ID` and
 * `MODEL_GATEWAY_WIRE_NAMES`, or the `Config`s that you pass. Provide {@link layerDotEnv} to it to
 * read a `.env` file, too.
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
 * @category layers
 * @since 0.1.0
 */
export const layerConfig = (
  options: ConfigOptions = {}
): Layer.Layer<
  Gateway.Gateway | GatewayClient.GatewayClient,
  Config.ConfigError | GatewayConfig.InvalidBaseUrl | InvalidProxy
> => Layer.provide(layerOver(options), GatewayConfig.layerConfig(options))

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
 *   const managementKey = yield* Config.Redacted("MODEL_GATEWAY_MANAGEMENT_KEY")
 *   const managing = yield* NodeGateway.make({ credential: managementKey })
 *   const { data } = yield* managing.listKeys()
 *   const request = { model: "sandbox/bm25", query: "pears", documents: ["apples", "pears"] }
 *   const { results } = yield* ranking.rerank(request)
 *   return { keys: data.length, results }
 * }).pipe(Effect.scoped)
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  options: Options
): Effect.Effect<Gateway.Gateway["Service"], GatewayConfig.InvalidBaseUrl | InvalidProxy, Scope.Scope> =>
  Effect.map(Layer.build(layer(options)), Context.get(Gateway.Gateway))

/**
 * Adds a `.env` file, if it exists, to the current `ConfigProvider`. Environment variables take
 * precedence over the file. Default for `path`: `.env` in the working directory.
 *
 * @category layers
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
