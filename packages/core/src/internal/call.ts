/** Sends requests through the {@link GatewayClient} in the context. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { ClientError } from "../ClientError.ts"
import { GatewayClient, type RangeOptions, type Request } from "../GatewayClient.ts"
import type { ErrorOf, Operation } from "../Operation.ts"

/** Sends a request and returns the decoded response. */
export const call = <E extends Operation>(
  operation: E,
  request: Request
): Effect.Effect<E["success"]["Type"], ErrorOf<E> | ClientError, GatewayClient> =>
  Effect.flatMap(GatewayClient, (client) => client.call(operation, request))

/** Sends a request and streams the bytes of the response. */
export const open = <E extends Operation>(
  operation: E,
  request: Request
): Stream.Stream<Uint8Array, ErrorOf<E> | ClientError, GatewayClient> =>
  Stream.unwrap(Effect.flatMap(GatewayClient, (client) => client.open(operation, request)))

/** Returns only the `data` of a response. */
export const dataOf = <A, E, R>(response: Effect.Effect<{ readonly data: A }, E, R>): Effect.Effect<A, E, R> =>
  Effect.map(response, ({ data }) => data)

/** The `Range` header. */
export const rangeHeader = (options: RangeOptions | undefined): Request["headers"] =>
  options?.range === undefined ? undefined : { range: `bytes=${options.range.start}-${options.range.end ?? ""}` }
