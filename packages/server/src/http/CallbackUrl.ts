/** Checks the callback URLs of callers before they are stored. */
import type { BadRequest } from "@model-gateway/core/GatewayError"
import { Effect } from "effect"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import { invalid } from "../internal/Issues.ts"
import * as OutboundUrl from "../outbound/OutboundUrl.ts"

/** Fails with the issue of the field `path` if webhooks cannot be sent to the URL. */
export const check = Effect.fnUntraced(function* (
  path: string,
  url: string | undefined
): Effect.fn.Return<void, BadRequest> {
  if (url === undefined) return
  const { outboundExemptHosts } = yield* GatewayServerConfig
  const problem = OutboundUrl.problemOf(url, outboundExemptHosts)
  if (problem !== undefined) return yield* invalid([{ path, message: problem }])
})
