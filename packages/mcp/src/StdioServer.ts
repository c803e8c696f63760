/**
 * The server over standard input and output, which an agent's program starts as a process of its
 * own. The executable `model-gateway-mcp` is this layer with the client of `@model-gateway/node`.
 *
 * @since 0.1.0
 */
import type { IllegalArgumentError } from "effect/Cause"
import * as McpProtocol from "effect/ai/McpProtocol"
import * as McpServer from "effect/ai/McpServer"
import type * as Layer from "effect/Layer"
import type { Stdio } from "effect/Stdio"
import * as GatewayTools from "./GatewayTools.ts"
import { version } from "./internal/version.ts"
import type { Session } from "./Session.ts"

/**
 * Serves the tools to the program at the other end of standard input and output. When standard input
 * ends, it ends the fiber that builds the layer, once the calls in progress have ended.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (
  options?: Omit<GatewayTools.Options, "session">
): Layer.Layer<McpServer.McpServer, IllegalArgumentError, Session | Stdio> =>
  McpServer.layerStdio({
    name: "model-gateway",
    version,
    instructions: GatewayTools.instructions,
    protocols: [...GatewayTools.protocols, McpProtocol.v2024_11_05],
    registrations: GatewayTools.layer(options)
  })
