/**
 * The gateway client for plain `async`/`await`: every operation as a method that returns a Promise,
 * or a `ReadableStream` for bytes. A rejected call is an instance of the error classes that this
 * module exports.
 *
 * @example
 * ```ts
 * import { createClient, PaymentRequired } from "@model-gateway/node/promise"
 *
 * await using gateway = await createClient() // MODEL_GATEWAY_API_KEY, MODEL_GATEWAY_BASE_URL
 * try {
 *   const { results } = await gateway.rerank(
 *     { model: "sandbox/bm25", query: "pears", documents: ["apples", "pears"] },
 *     { signal: AbortSignal.timeout(10_000) }
 *   )
 *   console.log(results)
 * } catch (error) {
 *   if (!(error instanceof PaymentRequired)) throw error
 *   console.error(`Add credits first: ${error.error.message}`)
 * }
 * ```
 *
 * @since 0.1.0
 */
import {
  ErrorResponse,
  Gateway,
  GatewayConfig,
  type GatewayClient,
  RetryPolicy,
  type Video,
  VideoProgress,
  Webhook,
  WireNames
} from "@model-gateway/core"
import { Cause, Config, Context, Effect, Exit, Layer, ManagedRuntime, Redacted, Scope, Stream } from "effect"
import type { IncomingMessage } from "node:http"
import { type Open, toReadable } from "./internal/readable.ts"
import * as NodeGateway from "./NodeGateway.ts"
import * as NodeUpload from "./NodeUpload.ts"

export { InvalidBaseUrl } from "@model-gateway/core/GatewayConfig"
export { InvalidProxy } from "./NodeGateway.ts"
export { InvalidResponse, TimeoutError, TransportError } from "@model-gateway/core/ClientError"
export {
  BadGateway,
  BadRequest,
  Forbidden,
  GatewayTimeout,
  InternalServerError,
  NotFound,
  PayloadTooLarge,
  PaymentRequired,
  ProviderOverloaded,
  ServiceUnavailable,
  TooManyRequests,
  Unauthorized,
  UpstreamTimeout
} from "@model-gateway/core/GatewayError"
export { NotCompleted as VideoNotCompleted } from "@model-gateway/core/VideoProgress"
export { WebhookError } from "@model-gateway/core/Webhook"

/**
 * Returns the text of a secret. New keys are secrets, which a log and `JSON.stringify` hide.
 *
 * @example
 * ```ts
 * import { createClient, reveal } from "@model-gateway/node/promise"
 *
 * const gateway = await createClient()
 *
 * // What the server of a page answers when the page asks for a token:
 * const token = async () => {
 *   const { expires_at, key } = await gateway.createEphemeralKey({ operations: ["rerank"] })
 *   return Response.json({ key: reveal(key), expires_at })
 * }
 * ```
 *
 * @category getters
 * @since 0.1.0
 */
export const reveal: (secret: Redacted.Redacted<string>) => string = Redacted.value

/**
 * When a failed call is retried, and for how long. Durations are milliseconds or texts such as
 * `"10 seconds"`.
 *
 * @category options
 * @since 0.1.0
 */
export interface RetryOptions extends Omit<RetryPolicy.Options, "schedule"> {}

/**
 * What every method accepts as its last argument, besides its own options.
 *
 * @category models
 * @since 0.1.0
 */
export interface CallSettings {
  /**
   * Ends the call: no further request is sent, the one that is running is closed, and the Promise
   * is rejected with the signal's `reason`. The service may have done the work of a request that
   * it received.
   */
  readonly signal?: AbortSignal | undefined
  /** Default: the client's `retryPolicy`. */
  readonly retryPolicy?: RetryOptions | undefined
}

/**
 * @category options
 * @since 0.1.0
 */
export interface Options {
  /**
   * The key, or a function that returns it. The function runs before every request, and once more
   * after the gateway rejected the key. Default: `MODEL_GATEWAY_API_KEY` of the environment.
   */
  readonly apiKey?: string | (() => string | Promise<string>) | undefined
  /** Default: `MODEL_GATEWAY_BASE_URL`, or else `http://127.0.0.1:8787/api/v1`. */
  readonly baseUrl?: string | undefined
  /** Default: `MODEL_GATEWAY_WORKSPACE_ID`, or else the key's default workspace. */
  readonly workspaceId?: string | undefined
  /**
   * The words for vendors on the wire: `neutral`, or `openrouter` for a service that uses those of
   * OpenRouter's clients. Default: `MODEL_GATEWAY_WIRE_NAMES`, or else `neutral`.
   */
  readonly wireNames?: WireNames.Preset | undefined
  /** The policy of calls that do not set one. */
  readonly retryPolicy?: RetryOptions | undefined
  /** The budget of retries that all calls of the client share. */
  readonly retryBudget?: GatewayConfig.Options["retryBudget"]
  readonly pool?: NodeGateway.PoolOptions | undefined
}

/** The arguments of a method, with {@link CallSettings} added to its options, or after them. */
type WithSettings<Args extends ReadonlyArray<unknown>> = Args["length"] extends Required<Args>["length"]
  ? [...Args, options?: CallSettings | undefined]
  : Required<Args> extends readonly [...infer Head, infer Last]
    ? [...Head, options?: (Last & CallSettings) | undefined]
    : never

/** A method of `Gateway` without Effect. */
type Plain<Method> =
  Method extends Effect.Effect<infer A, unknown>
    ? (options?: CallSettings) => Promise<A>
    : Method extends (...args: infer Args) => Effect.Effect<infer A, unknown>
      ? (...args: WithSettings<Args>) => Promise<A>
      : Method extends (...args: infer Args) => Stream.Stream<infer A, unknown>
        ? (...args: WithSettings<Args>) => ReadableStream<A>
        : never

/** Any method of `Gateway`. */
type Method =
  | Effect.Effect<unknown, unknown>
  | ((...args: ReadonlyArray<never>) => Effect.Effect<unknown, unknown> | Stream.Stream<unknown, unknown>)

type Methods = { readonly [Name in keyof Gateway.Gateway["Service"]]: Plain<Gateway.Gateway["Service"][Name]> }

/**
 * The operations of `Gateway`. Close the client at the end with `close()`, or with `await using` on
 * Node 24 or newer: its connections would keep the process running for a while.
 *
 * @category models
 * @since 0.1.0
 */
export interface Client extends Methods, AsyncDisposable {
  /**
   * Waits until a video job has completed. Rejects with {@link VideoNotCompleted} if it ends
   * otherwise.
   */
  readonly awaitVideo: (id: string, options?: VideoProgress.Options & CallSettings) => Promise<Video.Job>
  /** The job's current state, then every change of it, up to and including its final state. */
  readonly watchVideo: (id: string, options?: VideoProgress.Options & CallSettings) => ReadableStream<Video.Job>
  /**
   * Runs a program over the gateway, such as `gateway.run(Activity.listAllActivity())` of
   * `@model-gateway/core`.
   */
  readonly run: <A, E>(
    operation: Effect.Effect<A, E, Gateway.Gateway | GatewayClient.GatewayClient>,
    options?: CallSettings
  ) => Promise<A>
  /** Ends running calls, which are rejected with an `AbortError`, and closes the connections. */
  readonly close: () => Promise<void>
}

const credentialOf = (apiKey: string | (() => string | Promise<string>)): GatewayConfig.Credential =>
  typeof apiKey === "string" ? Redacted.make(apiKey) : Effect.tryPromise(async () => Redacted.make(await apiKey()))

const given = (value: string | undefined) => (value === undefined ? undefined : Config.succeed(value))

const closed = () => new DOMException("The client is closed.", "AbortError")

const failAll = (streams: Open) => {
  for (const fail of streams) fail(closed())
}

/** Takes {@link CallSettings} out of the last argument. */
const split = (
  args: ReadonlyArray<unknown>
): { readonly own: ReadonlyArray<unknown>; readonly settings: CallSettings } => {
  const last = args.at(-1)
  if (typeof last !== "object" || last === null) return { own: args, settings: {} }
  const { retryPolicy, signal, ...own }: CallSettings = last
  return { own: args.with(-1, own), settings: { signal, retryPolicy } }
}

/**
 * Makes a client over any layer, such as `GatewayTest.layer` in a test. Rejects with the error of
 * the layer if it cannot be built.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromLayer = async <E>(
  layer: Layer.Layer<Gateway.Gateway | GatewayClient.GatewayClient, E>
): Promise<Client> => {
  const runtime = ManagedRuntime.make(layer)
  const context = await runtime.context().catch(async (error: unknown) => {
    await runtime.dispose()
    throw error
  })
  const streams: Open = new Set()
  let isClosed = false

  const run: Client["run"] = async (operation, { retryPolicy, signal } = {}) => {
    if (isClosed) throw closed()
    signal?.throwIfAborted()
    const call =
      retryPolicy === undefined
        ? operation
        : Effect.provideService(operation, RetryPolicy.RetryPolicy, RetryPolicy.make(retryPolicy))
    const exit = await runtime.runPromiseExit(call, { signal })
    if (Exit.isSuccess(exit)) return exit.value
    if (Cause.hasInterruptsOnly(exit.cause)) throw signal?.aborted === true ? signal.reason : closed()
    throw Cause.squash(exit.cause)
  }

  const open = <A, E>(
    stream: Stream.Stream<A, E, Gateway.Gateway | GatewayClient.GatewayClient>,
    { retryPolicy, signal }: CallSettings = {}
  ): ReadableStream<A> => {
    const call =
      retryPolicy === undefined
        ? stream
        : Stream.provideService(stream, RetryPolicy.RetryPolicy, RetryPolicy.make(retryPolicy))
    const readable = toReadable(call, context, streams, signal)
    if (isClosed) failAll(streams)
    return readable
  }

  const close = async () => {
    isClosed = true
    failAll(streams)
    await runtime.dispose()
  }

  const plain =
    (method: Method) =>
    (...args: ReadonlyArray<unknown>) => {
      const { own, settings } = split(args)
      // The method's own arguments, since `WithSettings` added nothing but the settings to them.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      const result = Effect.isEffect(method) ? method : method(...(own as ReadonlyArray<never>))
      return Effect.isEffect(result) ? run(result, settings) : open(result, settings)
    }
  const service: Readonly<Record<string, Method>> = { ...Context.get(context, Gateway.Gateway) }
  const methods = Object.fromEntries(Object.entries(service).map(([name, method]) => [name, plain(method)]))

  return {
    // `Plain` says of each method what `plain` does to it.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    ...(methods as Methods),
    watchVideo: (id, options) => open(VideoProgress.watch(id, options), options),
    awaitVideo: (id, options) => run(VideoProgress.awaitFinal(id, options), options),
    run,
    close,
    [Symbol.asyncDispose]: close
  }
}

/**
 * Makes a client with its own connections. Rejects if the key is missing, and with
 * {@link InvalidBaseUrl} or {@link InvalidProxy}.
 *
 * @example
 * ```ts
 * import { createClient } from "@model-gateway/node/promise"
 * import { createWriteStream } from "node:fs"
 * import { pipeline } from "node:stream/promises"
 *
 * const retryPolicy = { maxRetries: 5, deadline: "10 minutes" } as const
 * await using gateway = await createClient({ retryPolicy })
 * const request = { model: "sandbox/title-card", prompt: "Dawn", duration: 2 }
 * const { id } = await gateway.submitVideo(request)
 * await gateway.awaitVideo(id)
 * await pipeline(gateway.videoContent(id), createWriteStream("dawn.mp4"))
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const createClient = ({ apiKey, retryPolicy, ...options }: Options = {}): Promise<Client> => {
  const credential = apiKey === undefined ? undefined : credentialOf(apiKey)
  const configured = GatewayConfig.config({
    baseUrl: given(options.baseUrl),
    workspaceId: given(options.workspaceId),
    wireNames: options.wireNames && Config.succeed(WireNames.ofPreset(options.wireNames)),
    // A function is no `Config`, and replaces it below.
    credential: credential && Config.succeed(Redacted.make("")),
    retryBudget: options.retryBudget,
    retryPolicy: retryPolicy && RetryPolicy.make(retryPolicy)
  })
  return fromLayer(
    Layer.unwrap(
      Effect.map(configured, (config) =>
        NodeGateway.layer({ ...config, credential: credential ?? config.credential, pool: options.pool })
      )
    )
  )
}

/**
 * What a server answers its own caller after a call failed: `status`, `message` and `headers`.
 * Undefined for an error that is not one of this module, which the framework handles.
 *
 * @example
 * ```ts
 * import { errorResponse } from "@model-gateway/node/promise"
 *
 * const respond = (error: unknown): Response => {
 *   const answer = errorResponse(error)
 *   if (answer === undefined) throw error
 *   const { headers, message, status } = answer
 *   return Response.json({ error: message }, { status, headers })
 * }
 * ```
 *
 * @category errors
 * @since 0.1.0
 */
export const errorResponse: (error: unknown) => ErrorResponse.ErrorResponse | undefined = ErrorResponse.fromError

// Neither needs a client, so these have no runtime of their own.
// oxlint-disable-next-line no-restricted-properties
const runPromise = Effect.runPromise

/**
 * Verifies a webhook of the gateway, and returns its event. Takes a `Request` of the Fetch API or a
 * request of Node, Express or Fastify. Call it before a body parser: JSON that was parsed does not
 * verify. Rejects with {@link WebhookError}.
 *
 * @example
 * ```ts
 * import { receiveWebhook } from "@model-gateway/node/promise"
 *
 * declare const secret: string
 *
 * const POST = async (request: Request) => {
 *   const { event, id } = await receiveWebhook(request, { secret })
 *   console.log(id, event.type, event.data.id)
 *   return new Response(null, { status: 204 })
 * }
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const receiveWebhook = (
  request: Request | Webhook.NodeRequest,
  options: Webhook.Options
): Promise<Webhook.Webhook> => runPromise(Webhook.fromRequest(request, options))

/**
 * A received file. Delete it at the end with `remove()`, or with `await using` on Node 24 or newer.
 *
 * @category models
 * @since 0.1.0
 */
export interface Upload extends NodeUpload.Upload, AsyncDisposable {
  /** Deletes the file from the disk. */
  readonly remove: () => Promise<void>
}

/**
 * Receives the file of a multipart form on the disk: see `NodeUpload` of `@model-gateway/node`.
 * Rejects with `BadRequest` if the request is not a form with such a file, or ends early, and with
 * `PayloadTooLarge` if the file is too large.
 *
 * @example
 * ```ts
 * import { createClient, receiveUpload } from "@model-gateway/node/promise"
 *
 * const gateway = await createClient()
 *
 * const POST = async (request: Request) => {
 *   await using upload = await receiveUpload(request)
 *   const { file, filename } = upload
 *   return Response.json(await gateway.transcribe({ model: "sandbox/tones", file, filename }))
 * }
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const receiveUpload = async (
  request: Request | IncomingMessage,
  options?: NodeUpload.Options
): Promise<Upload> => {
  const scope = Scope.makeUnsafe()
  const remove = () => runPromise(Scope.close(scope, Exit.void))
  try {
    const upload = await runPromise(Scope.provide(NodeUpload.fromRequest(request, options), scope))
    return { ...upload, remove, [Symbol.asyncDispose]: remove }
  } catch (error) {
    await remove()
    throw error
  }
}
