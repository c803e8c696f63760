/**
 * The names of the contract's operations, and the types of their requests and responses, all
 * derived from `GatewayApi`.
 *
 * @since 0.1.0
 */
import type { GatewayApi } from "@model-gateway/core/GatewayApi"
import type { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import type * as Multipart from "effect/http/Multipart"
import type * as Stream from "effect/Stream"
import { endpoints } from "./internal/contract.ts"

type Groups = (typeof GatewayApi)["groups"]

type Endpoints = HttpApiGroup.Endpoints<Groups[keyof Groups]>

/**
 * An operation's name in the contract: `"rerank"`, `"deleteFile"`, …
 *
 * @category models
 * @since 0.1.0
 */
export type OperationName = Endpoints["identifier"]

/**
 * The endpoint of an operation.
 *
 * @category models
 * @since 0.1.0
 */
export type Endpoint<Op extends OperationName> = HttpApiEndpoint.WithIdentifier<Endpoints, Op>

/**
 * The errors of an operation: exactly those of its statuses.
 *
 * @category errors
 * @since 0.1.0
 */
export type Failure<Op extends OperationName> = Endpoint<Op>["~Error"]["Type"]

/**
 * The error statuses of an operation.
 *
 * @category models
 * @since 0.1.0
 */
export type Status<Op extends OperationName> = Failure<Op>["error"]["code"]

/**
 * The response of an operation in its wire format: GET `/key` returns `{ data: … }`. If the
 * contract returns bytes: a `Uint8Array` or a Stream.
 *
 * @category models
 * @since 0.1.0
 */
export type Success<Op extends OperationName> = Endpoint<Op>["~Success"] extends HttpApiSchema.StreamUint8Array
  ? Uint8Array | Stream.Stream<Uint8Array>
  : Endpoint<Op>["~Success"]["Type"]

/**
 * A request, decoded with the operation's schemas. It has only the parts that the operation has. An
 * uploaded file is a `File`.
 *
 * @category models
 * @since 0.1.0
 */
export type Request<Op extends OperationName> = { readonly operation: Op } & Part<"params", Endpoint<Op>["~Params"]> &
  Part<"query", Endpoint<Op>["~Query"]> &
  Part<"headers", Endpoint<Op>["~Headers"]> &
  PayloadPart<Endpoint<Op>["~Payload"]>

type Part<Name extends string, S extends { readonly Type: unknown }> = [S] extends [never]
  ? unknown
  : { readonly [_ in Name]: S["Type"] }

type PayloadPart<S extends { readonly Type: unknown }> = [S] extends [never]
  ? unknown
  : { readonly payload: Payload<S["Type"]> }

type Payload<A> = A extends { readonly file: Multipart.PersistedFile }
  ? {
      readonly [K in keyof A as K extends `~${string}` ? never : K]: A[K] extends Multipart.PersistedFile ? File : A[K]
    }
  : A

/**
 * The names of all operations.
 *
 * @category constants
 * @since 0.1.0
 */
export const operationNames: ReadonlyArray<OperationName> = Array.from(endpoints, ({ identifier }) => identifier)
