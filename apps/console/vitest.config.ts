import { defineConfig } from "vitest/config"
import { project, run, withSlow } from "../../vitest.shared.ts"

export default defineConfig({
  test: {
    ...project,
    ...run,
    ...withSlow(["test/Looks.test.ts", "test/play/Looks.test.ts"]),
    // Browser tests wait for pages and for processes, which takes seconds where the machine is
    // busy.
    testTimeout: 120_000,
    hookTimeout: 120_000
  }
})
