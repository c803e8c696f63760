/**
 * The gateway's client on Node: over an undici connection pool of its own that
 * stays open for the layer's life.
 *
 * Build the layer once (in your main layer or a `ManagedRuntime`): a pool per call
 * would open a connection per call.
 *
 * @since 0.1.0
 */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import type * as Undici from "@effect/platform-node/Undici"
import { Gateway, GatewayConfig, SchemaCompiler } from "@model-gateway/core"
import { type Config, ConfigProvider, Effect, FileSystem, Layer, type PlatformError, Random, Tracer } from "effect"
import { HttpClient, type HttpClientError } from "effect/http"
import * as SchemaJITCompiler from "effect/schema/SchemaJITCompiler"
import { canDispatch, dispatch } from "./internal/dispatch.ts"
import { toStream } from "./internal/form.ts"

/**
 * The pool's settings that are worth a change.
 *
 * @since 0.1.0
 */
export interface PoolOptions {
  /** Connections to the gateway at most. Default 64. */
  readonly connections?: number | undefined
  /**
   * How long an idle connection is kept, in milliseconds. Default 30 seconds; a
   * service that says less in its `Keep-Alive` header is believed.
   */
  readonly keepAliveTimeout?: number | undefined
  /**
   * Passed to undici's `Agent` as they are, for what is not named here (TLS, proxies' sockets). Where any are given, a large file that is sent takes
   * some 60 MiB more of memory: its blocks are left to the garbage collector, as it is not known what else holds them.
   */
  readonly agent?: Undici.Agent.Options | undefined
}

/**
 * An `HttpClient` over an undici pool, closed with the layer. Where a tracer is
 * installed every request has a client span and carries the trace on; where none
 * is, nothing is spent on spans that nobody sees.
 *
 * @since 0.1.0
 */
export const layerHttpClient = (options: PoolOptions = {}): Layer.Layer<HttpClient.HttpClient> =>
  Layer.effect(
    HttpClient.HttpClient,
    Effect.gen(function* () {
      const dispatcher = yield* NodeHttpClient.Dispatcher
      const platform = yield* NodeHttpClient.makeUndici
      // Of sockets that others make it is not known what they hold back.
      const ownSockets = options.agent === undefined
      return HttpClient.makeWith<never, never, HttpClientError.HttpClientError, never>(
        Effect.flatMap((given) =>
          Effect.withFiber((fiber) => {
            const request = toStream(given, fiber.getRef(Random.Random), ownSockets)
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
        // Requests on one connection wait for each other's answers otherwise, and a rerank would wait for a transcription.
        pipelining: 1,
        ...options.agent
      })
    )
  )

/** Node may make code from text; where it was told not to, schemas are interpreted as elsewhere. */
const layerCompiler = Layer.succeed(SchemaCompiler.SchemaCompiler, ({ ast }) => SchemaJITCompiler.enable(ast))

/**
 * The client from values.
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
  options: GatewayConfig.Options & { readonly pool?: PoolOptions | undefined }
): Layer.Layer<Gateway.Gateway> =>
  Layer.fresh(Gateway.layer).pipe(
    Layer.provide(layerCompiler),
    Layer.provide(layerHttpClient(options.pool)),
    Layer.provide(GatewayConfig.layer(options))
  )

/**
 * The client from the `Config` in force: `MODEL_GATEWAY_BASE_URL`,
 * `MODEL_GATEWAY_API_KEY` (required), `MODEL_GATEWAY_WORKSPACE_ID`. Provide
 * {@link layerDotEnv} to it where a `.env` file may hold them.
 *
 * @since 0.1.0
 */
export const layerConfig = (
  options: { readonly pool?: PoolOptions | undefined } = {}
): Layer.Layer<Gateway.Gateway, Config.ConfigError> =>
  Layer.fresh(Gateway.layer).pipe(
    Layer.provide(layerCompiler),
    Layer.provide(layerHttpClient(options.pool)),
    Layer.provide(Layer.fresh(GatewayConfig.layerConfig))
  )

/**
 * Adds a `.env` file to the configuration in force, where there is one: what the
 * environment sets wins over the file. Default path: `.env` in the working folder.
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
