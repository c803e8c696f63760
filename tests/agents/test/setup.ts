// One gateway process for all test files, with /mcp switched on.
import { startGateway } from "@model-gateway/test-services/GatewayProcess"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TestProject } from "vitest/node"

declare module "vitest" {
  interface ProvidedContext {
    readonly gateway: { readonly origin: string; readonly managementKey: string }
  }
}

export const setup = async (project: TestProject) => {
  const folder = mkdtempSync(join(tmpdir(), "model-gateway-"))
  const { managementKey, origin, stop } = await startGateway(folder, {
    MODEL_GATEWAY_MCP: "on",
    MODEL_GATEWAY_MCP_BODY_LIMIT: "1 MiB",
    MODEL_GATEWAY_CORS_ORIGINS: "https://agents.example",
    // Slow enough to see what a call takes.
    MODEL_GATEWAY_RATE_LIMIT_REQUESTS: "100",
    MODEL_GATEWAY_RATE_LIMIT_WINDOW: "100 seconds"
  })
  project.provide("gateway", { origin, managementKey })
  return async () => {
    await stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
