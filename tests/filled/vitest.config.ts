import { defineConfig } from "vitest/config"
import { project, run, withSlow } from "../../vitest.shared.ts"

export default defineConfig({
  test: {
    ...project,
    ...run,
    ...withSlow(["test/*.test.ts"]),
    // Only the release tests have files here.
    passWithNoTests: true,
    testTimeout: 120_000,
    hookTimeout: 240_000
  }
})
