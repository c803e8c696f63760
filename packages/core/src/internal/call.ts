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

/** The workspace of a call. Default: that of the client's configuration. */
export const workspaceOf = (
  options: { readonly workspace_id?: string | undefined } | undefined
): Effect.Effect<string | undefined, never, GatewayClient> =>
  Effect.map(GatewayClient, ({ workspaceId }) => options?.workspace_id ?? workspaceId)

/** Returns only the `data` of a response. */
export const dataOf = <A, E, R>(response: Effect.Effect<{ readonly data: A }, E, R>): Effect.Effect<A, E, R> =>
  Effect.map(response, ({ data }) => data)
