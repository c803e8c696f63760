/**
 * What the client reads of an operation: where it is, and what it answers. What
 * the service takes is joined to it in `GatewayApi`, so that a page that only calls
 * carries neither the server's half of the contract nor the schemas of requests,
 * which go out as they are typed.
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
  /** Its name in the contract, the same as the client's: `rerank`. */
  readonly identifier: Identifier
  readonly method: Method
  /** Below `/api/v1`; `:name` stands for a parameter. */
  readonly path: Path
  /** The body of its success. */
  readonly success: Success
  /** One a status of its set. */
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
