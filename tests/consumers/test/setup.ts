// Packs and installs once for all test files.
import { rmSync } from "node:fs"
import type { TestProject } from "vitest/node"
import { install } from "./support/Packed.ts"

declare module "vitest" {
  interface ProvidedContext {
    /** Where the projects are installed, beside `tarballs`. */
    readonly installed: string
  }
}

export const setup = async (project: TestProject) => {
  const folder = await install()
  project.provide("installed", folder)
  return () => rmSync(folder, { recursive: true, force: true })
}
