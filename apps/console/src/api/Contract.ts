/**
 * The operations of the API, with their types, from the contract in `@model-gateway/core`. Types
 * only: none of the contract's code is in the page.
 */
import type { GatewayApi } from "@model-gateway/core/GatewayApi"
import type { HttpApi, HttpApiGroup } from "effect/http-api"
import type { Redacted, Schema } from "effect"

type GroupsOf<Api> = Api extends HttpApi.HttpApi<string, infer Groups> ? Groups : never
type Endpoints = HttpApiGroup.Endpoints<GroupsOf<typeof GatewayApi>>

/** The name of an operation, such as `createKey`, as the audit log has it. */
export type OperationName = Endpoints["identifier"]

type TypeOf<S> = [S] extends [never] ? unknown : S extends Schema.Top ? S["Type"] : unknown

/** JSON has the value of what the contract redacts. */
type Plain<T> = T extends object
  ? { readonly [Field in keyof T]: T[Field] extends Redacted.Redacted<infer A> ? A : T[Field] }
  : T

/** Fields that are undefined are not sent. */
type OrUndefined<T> = { readonly [Field in keyof T]: T[Field] | undefined }

type NameOf<E> = E extends { readonly method: infer M extends string; readonly path: `/api/v1${infer P}` }
  ? `${M} ${P}`
  : never

type Operations = {
  [E in Endpoints as NameOf<E>]: {
    readonly success: Plain<TypeOf<E["~Success"]>>
    readonly query: OrUndefined<TypeOf<E["~Query"]>>
    readonly payload: TypeOf<E["~Payload"]>
  }
}

/** Method and path of an operation, without `/api/v1`. Parameters are `:name`. */
export type Operation = keyof Operations

/** The operations that only read. */
export type ReadOperation = Extract<Operation, `GET ${string}`>

/** The operations that change something. */
export type ChangeOperation = Exclude<Operation, ReadOperation>

/** The JSON of an answer. */
export type Success<O extends Operation> = Operations[O]["success"]

/** The query of a request. */
export type Query<O extends Operation> = Operations[O]["query"]

/** The JSON body of a request. */
export type Payload<O extends Operation> = Operations[O]["payload"]

/** The parameters of a path. */
export type Params<O extends string> = O extends `${string}:${infer Name}/${infer Rest}`
  ? Record<Name, string> & Params<Rest>
  : O extends `${string}:${infer Name}`
    ? Record<Name, string>
    : unknown

/** What a request has besides its method and path. */
export interface Input<O extends Operation> {
  readonly params?: Params<O>
  readonly query?: Query<O>
  readonly payload?: Payload<O>
  /** The `Idempotency-Key`: a repeated request with it makes the change once. */
  readonly idempotencyKey?: string
}

/** An item of the answer of an operation that lists. */
export type Item<O extends ReadOperation> = Success<O> extends { readonly data: ReadonlyArray<infer A> } ? A : never

/** The operations whose pages have a cursor. */
export type PagedOperation = {
  [O in ReadOperation]: Success<O> extends { readonly data: ReadonlyArray<unknown>; readonly next: string | null }
    ? O
    : never
}[ReadOperation]

/** The operations whose pages have an offset. */
export type OffsetOperation = {
  [O in ReadOperation]: Success<O> extends { readonly data: ReadonlyArray<unknown>; readonly total_count: number }
    ? O
    : never
}[ReadOperation]

/** The operations whose pages continue with the id of their last item. */
export type IdOperation = {
  [O in ReadOperation]: Success<O> extends {
    readonly data: ReadonlyArray<{ readonly id: string }>
    readonly has_more: boolean
    readonly next?: never
  }
    ? O
    : never
}[ReadOperation]
