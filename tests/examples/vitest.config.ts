import { defineConfig } from "vitest/config"
import { project, run, withSlow } from "../../vitest.shared.ts"

export default defineConfig({
  test: {
    ...project,
    ...run,
    ...withSlow(["test/Next.test.ts"]),
    globalSetup: [run.globalSetup, "test/setup.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000
  }
})
