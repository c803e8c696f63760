/**
 * The client's half of an operation: its method, path and responses. `GatewayApi` adds the request.
 * The split keeps pages small: a page that only makes calls bundles neither the server's half nor
 * the request schemas, because requests need no encoding.
 *
 * @since 0.1.0
 */
import type { HttpMethod } from "effect/http/HttpMethod"
import type * as Schema from "effect/Schema"

/**
 * @since 0.1.0
 */
export interface Operation<
  Identifier extends string = string,
  Method extends HttpMethod = HttpMethod,
  Path extends `/${string}` = `/${string}`,
  Success extends Schema.Codec<unknown, unknown> = Schema.Codec<unknown, unknown>,
  Failures extends ReadonlyArray<Schema.Codec<unknown, unknown>> = ReadonlyArray<Schema.Codec<unknown, unknown>>
> {
  /** Its name in the contract and in the client, such as `rerank`. */
  readonly identifier: Identifier
  readonly method: Method
  /** The path below `/api/v1`, with parameters as `:name`. */
  readonly path: Path
  /** The body of a successful response. */
  readonly success: Success
  /** The errors, one for each status that the operation can return. */
  readonly error: Failures
}

/**
 * @since 0.1.0
 */
export const make = <
  const Identifier extends string,
  const Method extends HttpMethod,
  const Path extends `/${string}`,
  Success extends Schema.Codec<unknown, unknown>,
  const Failures extends ReadonlyArray<Schema.Codec<unknown, unknown>>
>(
  identifier: Identifier,
  method: Method,
  path: Path,
  answers: { readonly success: Success; readonly error: Failures }
): Operation<Identifier, Method, Path, Success, Failures> => ({ identifier, method, path, ...answers })
