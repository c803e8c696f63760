import { availableParallelism } from "node:os"
import { defineConfig } from "vitest/config"
import { project, run, withSlow } from "../../vitest.shared.ts"

export default defineConfig({
  test: {
    ...project,
    ...run,
    ...withSlow(["test/Looks.test.ts", "test/play/Looks.test.ts"]),
    // Two files at a time on two cores too, where vitest runs one: the tests wait for pages and for
    // processes.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // Browser tests wait for pages and for processes, which takes seconds where the machine is
    // busy.
    testTimeout: 120_000,
    hookTimeout: 120_000
  }
})
