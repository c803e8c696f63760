/**
 * Calls any operation of the contract. The functions of the modules, such as `Rerank.rerank`, need
 * only this service, so that a page bundles only the operations that it calls. `Gateway` has all
 * operations as methods.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import type * as Stream from "effect/Stream"
import type { ClientError } from "./ClientError.ts"
import { GatewayConfig } from "./GatewayConfig.ts"
import * as Execute from "./internal/execute.ts"
import type { Request } from "./internal/request.ts"
import type { Opened, Source } from "./internal/source.ts"
import type { ErrorOf, Operation } from "./Operation.ts"
import { RetryPolicy } from "./RetryPolicy.ts"
import { SchemaCompiler } from "./unstable/SchemaCompiler.ts"
import { Telemetry } from "./Telemetry.ts"

export type { Opened, Request, Source }

/**
 * Options of a call that the service recognizes by its idempotency key. A call with the same
 * `idempotencyKey` and the same request returns the first response again and is not charged twice.
 * Default: a new key for every call, shared by its retries.
 *
 * @category options
 * @since 0.1.0
 */
export interface CallOptions {
  readonly idempotencyKey?: string | undefined
}

/**
 * Selects a page of a list: `limit` items (1 to 1000, default 100) that follow the item `after`.
 *
 * @category options
 * @since 0.1.0
 */
export interface PageOptions {
  readonly after?: string | undefined
  readonly limit?: number | undefined
}

/**
 * Selects a page of a list by position: `limit` items (1 to 100, default 50) after the first
 * `offset` items (0 to 1,000,000, default 0).
 *
 * @category options
 * @since 0.1.0
 */
export interface OffsetPageOptions {
  readonly offset?: number | undefined
  readonly limit?: number | undefined
}

/**
 * Selects the bytes from `start` to `end`, both inclusive and counted from 0. Default for `end`:
 * the last byte.
 *
 * @category options
 * @since 0.1.0
 */
export interface RangeOptions {
  readonly range?: { readonly start: number; readonly end?: number | undefined } | undefined
}

/**
 * @category services
 * @since 0.1.0
 */
export class GatewayClient extends Context.Service<
  GatewayClient,
  {
    /** Sends a request and returns the decoded response. */
    readonly call: <E extends Operation>(
      operation: E,
      request: Request
    ) => Effect.Effect<E["success"]["Type"], ErrorOf<E> | ClientError>
    /**
     * Streams what `read` makes of the responses to the requests that it sends. The requests are
     * those of one call: they share its policy and its telemetry.
     */
    readonly open: <E extends Operation, A, F>(
      operation: E,
      request: Request,
      read: (source: Source<ErrorOf<E> | ClientError>) => Effect.Effect<Stream.Stream<A, F>, ErrorOf<E> | ClientError>
    ) => Effect.Effect<Stream.Stream<A, F>, ErrorOf<E> | ClientError>
    /** The `workspace_id` of calls that accept one and do not set it. */
    readonly workspaceId: string | undefined
  }
>()("@model-gateway/core/GatewayClient") {}

/**
 * Makes the service from the `HttpClient` and the configuration in the context.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make: Effect.Effect<GatewayClient["Service"], never, GatewayConfig | HttpClient.HttpClient> = Effect.gen(
  function* () {
    const config = yield* GatewayConfig
    const client = yield* HttpClient.HttpClient
    const execute = Execute.make(
      config.transformClient?.(client) ?? client,
      config,
      yield* SchemaCompiler,
      config.retryPolicy ?? (yield* RetryPolicy),
      yield* Telemetry
    )
    return GatewayClient.of({ ...execute, workspaceId: config.workspaceId })
  }
)

/**
 * Provides the service, made from the `HttpClient` and the configuration in the context.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<GatewayClient, never, GatewayConfig | HttpClient.HttpClient> = Layer.effect(
  GatewayClient,
  make
)
