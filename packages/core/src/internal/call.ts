/** Sends requests through the {@link GatewayClient} in the context. */
import * as Effect from "effect/Effect"
import type { ClientError } from "../ClientError.ts"
import { GatewayClient, type Request } from "../GatewayClient.ts"
import type { ErrorOf, Operation } from "../Operation.ts"

/** Sends a request and returns the decoded response. */
export const call = <E extends Operation>(
  operation: E,
  request: Request
): Effect.Effect<E["success"]["Type"], ErrorOf<E> | ClientError, GatewayClient> =>
  Effect.flatMap(GatewayClient, (client) => client.call(operation, request))

/** Returns only the `data` of a response. */
export const dataOf = <A, E, R>(response: Effect.Effect<{ readonly data: A }, E, R>): Effect.Effect<A, E, R> =>
  Effect.map(response, ({ data }) => data)
