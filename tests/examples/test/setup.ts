// One gateway process for all test files.
import { startGateway } from "@model-gateway/test-services/GatewayProcess"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TestProject } from "vitest/node"

declare module "vitest" {
  interface ProvidedContext {
    /** The gateway of all examples. */
    readonly gateway: {
      readonly origin: string
      /** An ordinary key of its first workspace. */
      readonly key: string
      readonly managementKey: string
    }
  }
}

export const setup = async (project: TestProject) => {
  const folder = mkdtempSync(join(tmpdir(), "model-gateway-"))
  const { key, managementKey, origin, stop } = await startGateway(folder)
  project.provide("gateway", { origin, key, managementKey })
  return async () => {
    await stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
