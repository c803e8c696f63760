// Packs the executable once for all test files. Its path is `inject("gatewayTarball")`;
// tests/services/src/Packages.ts says how to install it.
import { gateway, pack } from "@model-gateway/test-services/Packages"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TestProject } from "vitest/node"

declare module "vitest" {
  interface ProvidedContext {
    /** The tarball of the executable's package, as it is published. */
    readonly gatewayTarball: string
  }
}

export default async (project: TestProject): Promise<() => void> => {
  const folder = mkdtempSync(join(tmpdir(), "model-gateway-packed-"))
  project.provide("gatewayTarball", await pack(gateway, folder))
  return () => rmSync(folder, { recursive: true, force: true })
}
