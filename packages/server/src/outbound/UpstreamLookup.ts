/**
 * A `lookup` for connections to upstreams, whose hosts the operator chose. It asks the operating
 * system, once for all connections that need a name at a time, and keeps the addresses for 30
 * seconds.
 *
 * @example
 * ```ts
 * import { NodeHttpClient } from "@effect/platform-node"
 * import * as UpstreamLookup from "@model-gateway/server/UpstreamLookup"
 * import { Effect } from "effect"
 *
 * const dispatcher = Effect.flatMap(UpstreamLookup.make, (lookup) =>
 *   NodeHttpClient.makeDispatcherOptions({ connect: { lookup } })
 * )
 * ```
 */
import { Effect } from "effect"
import type { LookupFunction } from "node:net"
import * as HostNames from "./HostNames.ts"

/** Makes the function, with its own addresses. */
export const make: Effect.Effect<LookupFunction> = Effect.flatMap(HostNames.system(), ({ addressesOf }) =>
  HostNames.toLookup(addressesOf)
)
