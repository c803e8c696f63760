import { defineConfig } from "vitest/config"
import { project, run } from "../../vitest.shared.ts"

// Installations, proxies and restarts take minutes where the machine is busy.
const timeout = 300_000

export default defineConfig({
  test: {
    ...project,
    ...run,
    globalSetup: [run.globalSetup, "test/setup.ts"],
    testTimeout: timeout,
    hookTimeout: timeout
  }
})
