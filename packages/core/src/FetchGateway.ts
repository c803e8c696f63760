/**
 * The gateway client over the `fetch` of the runtime: for servers on Bun and Deno, workers of
 * Cloudflare and functions at the edge. It needs nothing of Node.
 *
 * A server may hold a long-lived key, so this layer accepts one. Do not use it in a web page, where
 * everyone could read the key: `@model-gateway/browser` refuses long-lived keys there. On Node,
 * `@model-gateway/node` is faster and has settings for connections and proxies.
 *
 * Build the layer once, in your main layer or a `ManagedRuntime`: it owns the retry budget. A
 * worker may build it at the first request and use it for all others, also at the same time: it
 * holds no connection, timer or promise of a request.
 *
 * @since 0.1.0
 */
import type * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpBody from "effect/http/HttpBody"
import * as HttpClient from "effect/http/HttpClient"
import type * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Layer from "effect/Layer"
import { Random } from "effect/Random"
import * as Stream from "effect/Stream"
import * as Gateway from "./Gateway.ts"
import type { GatewayClient } from "./GatewayClient.ts"
import * as GatewayConfig from "./GatewayConfig.ts"
import * as Telemetry from "./Telemetry.ts"
import * as MultipartForm from "./unstable/MultipartForm.ts"
import { maxRedirects, redirected } from "./unstable/Redirect.ts"
import { type Progress, UploadMonitor } from "./unstable/UploadMonitor.ts"

/** Bytes of a body that arrive quickly enough without reports of their progress. */
const maxUnreported = 1024 * 1024

/** Reads the parts as `fetch` takes them, and reports how far it is. */
const streamOf = (
  parts: ReadonlyArray<MultipartForm.Part>,
  total: number,
  monitor: ((progress: Progress) => void) | undefined
): ReadableStream<Uint8Array> => {
  const next = MultipartForm.reader(parts)
  let sent = 0
  return new ReadableStream(
    {
      pull: async (controller) => {
        monitor?.({ sent, total })
        const block = await next()
        if (block === undefined) return controller.close()
        sent += block.byteLength
        controller.enqueue(block)
      }
    },
    // Without a buffer, nothing is read ahead of the connection.
    { highWaterMark: 0 }
  )
}

/** Whether `fetch` sends a stream. Otherwise it refuses one, or sends the name of its type. */
const sendsStreams = (): boolean => {
  const init = { method: "POST", body: new ReadableStream(), duplex: "half" }
  try {
    return !new Request("http://localhost", init).headers.has("content-type")
  } catch {
    return false
  }
}

/** Replaces a form and a large body by a stream. Other requests are returned unchanged. */
const streamed = (
  request: HttpClientRequest.HttpClientRequest,
  fiber: Fiber.Fiber<unknown, unknown>
): HttpClientRequest.HttpClientRequest => {
  const { body } = request
  const encoded =
    body._tag === "FormData"
      ? MultipartForm.encode(body.formData, fiber.getRef(Random))
      : body._tag === "Uint8Array" && body.contentLength > maxUnreported
        ? { contentType: body.contentType, contentLength: body.contentLength, parts: [body.body] }
        : undefined
  if (encoded === undefined || !sendsStreams()) return request
  const { parts, ...headers } = encoded
  const stream = streamOf(parts, headers.contentLength, fiber.getRef(UploadMonitor))
  return HttpClientRequest.setBody(request, HttpBody.raw(stream, headers))
}

/** Ends a response whose body nobody needs, and which may be endless. */
const discard = (response: HttpClientResponse.HttpClientResponse): Effect.Effect<void> =>
  Effect.ignore(Stream.runDrain(Stream.take(response.stream, 1)))

/**
 * Provides the `HttpClient` that {@link layer} uses, over the `fetch` of the runtime.
 *
 * Forms, and bodies over 1 MiB, are streams, so that a large Blob is read while it is sent and its
 * time limit is extended while it makes progress. A runtime whose `fetch` sends no streams gets
 * them as a whole.
 *
 * It follows up to 5 redirects of GET and HEAD on the same origin. All other redirects are
 * responses.
 *
 * `FetchHttpClient.RequestInit` adds headers and other options, and `FetchHttpClient.Fetch`
 * replaces `fetch`. Provide them to the layer, or to a call, which takes precedence.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerHttpClient: Layer.Layer<HttpClient.HttpClient> = Layer.effect(
  HttpClient.HttpClient,
  Effect.gen(function* () {
    const client = yield* HttpClient.HttpClient
    const below = Context.getOrUndefined(yield* Effect.context<never>(), FetchHttpClient.RequestInit)
    const follow = (
      request: HttpClientRequest.HttpClientRequest,
      left: number
    ): Effect.Effect<HttpClientResponse.HttpClientResponse, HttpClientError.HttpClientError> =>
      Effect.flatMap(client.execute(request), (response) => {
        const next = left > 0 ? redirected(request, response) : undefined
        return next === undefined ? Effect.succeed(response) : Effect.andThen(discard(response), follow(next, left - 1))
      })
    return HttpClient.makeWith<never, never, HttpClientError.HttpClientError, never>(
      Effect.flatMap((request) =>
        Effect.withFiber((fiber) =>
          Effect.provideContext(
            follow(streamed(request, fiber), maxRedirects),
            Context.make(FetchHttpClient.RequestInit, {
              ...(Context.getOrUndefined(fiber.context, FetchHttpClient.RequestInit) ?? below),
              redirect: "manual"
            })
          )
        )
      ),
      Effect.succeed
    )
  })
).pipe(Layer.provide(FetchHttpClient.layer))

/**
 * Options that do not depend on how the client is configured.
 *
 * @category options
 * @since 0.1.0
 */
export interface RuntimeOptions {
  /**
   * Whether calls are recorded as spans, debug logs and metrics; see `Telemetry`. Spans are created
   * only if a tracer is installed. Default: true.
   */
  readonly telemetry?: boolean | undefined
}

/**
 * The configuration of the client by values.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options extends GatewayConfig.Options, RuntimeOptions {}

/**
 * The configuration of the client by `Config`s.
 *
 * @category options
 * @since 0.1.0
 */
export interface ConfigOptions extends GatewayConfig.ConfigOptions, RuntimeOptions {}

// Fresh: each client has its own retry budget, and the `RequestInit` and `fetch` that it was given.
const layerOver = ({ telemetry = true }: RuntimeOptions) =>
  Layer.fresh(
    Gateway.layer.pipe(Layer.provide(telemetry ? Telemetry.layer : Layer.empty), Layer.provide(layerHttpClient))
  )

/**
 * Provides the client, configured by values. The layer fails with `InvalidBaseUrl`.
 *
 * @example
 * ```ts
 * import { FetchGateway, Gateway } from "@model-gateway/core"
 * import { Effect, ManagedRuntime, Redacted } from "effect"
 *
 * interface Bindings {
 *   readonly MODEL_GATEWAY_BASE_URL: string
 *   readonly MODEL_GATEWAY_API_KEY: string
 * }
 *
 * const runtimeOf = (bindings: Bindings) =>
 *   ManagedRuntime.make(
 *     FetchGateway.layer({
 *       baseUrl: bindings.MODEL_GATEWAY_BASE_URL,
 *       credential: Redacted.make(bindings.MODEL_GATEWAY_API_KEY)
 *     })
 *   )
 *
 * let runtime: ReturnType<typeof runtimeOf> | undefined
 *
 * const best = Effect.gen(function* () {
 *   const gateway = yield* Gateway.Gateway
 *   const { results } = yield* gateway.rerank({
 *     model: "sandbox/bm25",
 *     query: "pears",
 *     documents: ["apples", "pears"]
 *   })
 *   return Response.json(results)
 * }).pipe(Effect.catch((error) => Effect.succeed(new Response(error.message, { status: 502 }))))
 *
 * export default {
 *   fetch: (request: Request, bindings: Bindings): Promise<Response> =>
 *     (runtime ??= runtimeOf(bindings)).runPromise(best, { signal: request.signal })
 * }
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options): Layer.Layer<Gateway.Gateway | GatewayClient, GatewayConfig.InvalidBaseUrl> =>
  Layer.provide(layerOver(options), GatewayConfig.layer(options))

/**
 * Provides the client, configured by the current `ConfigProvider`: `MODEL_GATEWAY_API_KEY`
 * (required), `MODEL_GATEWAY_BASE_URL`, `MODEL_GATEWAY_WORKSPACE_ID` and
 * `MODEL_GATEWAY_WIRE_NAMES`, or the `Config`s that you pass. Default: the environment variables of
 * the process. For the bindings of a worker, provide `ConfigProvider.fromUnknown(bindings)`.
 *
 * @example
 * ```ts
 * import { FetchGateway } from "@model-gateway/core"
 * import { ConfigProvider, Layer } from "effect"
 *
 * declare const bindings: { readonly [name: string]: string }
 *
 * const layer = FetchGateway.layerConfig().pipe(
 *   Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(bindings)))
 * )
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerConfig = (
  options: ConfigOptions = {}
): Layer.Layer<Gateway.Gateway | GatewayClient, Config.ConfigError | GatewayConfig.InvalidBaseUrl> =>
  Layer.provide(layerOver(options), GatewayConfig.layerConfig(options))

/**
 * Makes a client that is a value, for a program that uses several keys.
 *
 * @example
 * ```ts
 * import { FetchGateway } from "@model-gateway/core"
 * import { Effect, Redacted } from "effect"
 *
 * declare const key: string
 * declare const managementKey: string
 *
 * const program = Effect.gen(function* () {
 *   const ranking = yield* FetchGateway.make({ credential: Redacted.make(key) })
 *   const managing = yield* FetchGateway.make({ credential: Redacted.make(managementKey) })
 *   const { data } = yield* managing.listKeys()
 *   return { keys: data.length, current: yield* ranking.currentKey }
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options): Effect.Effect<Gateway.Gateway["Service"], GatewayConfig.InvalidBaseUrl> =>
  Effect.provide(Gateway.Gateway, layer(options))
