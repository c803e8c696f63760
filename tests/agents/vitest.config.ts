import { defineConfig } from "vitest/config"
import { project, run } from "../../vitest.shared.ts"

export default defineConfig({
  test: {
    ...project,
    ...run,
    globalSetup: [run.globalSetup, "test/setup.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000
  }
})
