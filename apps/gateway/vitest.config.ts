import { availableParallelism } from "node:os"
import { defineConfig } from "vitest/config"
import { project, run, withSlow } from "../../vitest.shared.ts"

export default defineConfig({
  test: {
    ...project,
    ...run,
    ...withSlow(["test/{ConcurrentUploads,Crash,Failures,Kills}.test.ts"]),
    // Two files at a time on two cores too, where vitest runs one: the tests wait for timers and
    // for processes.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // Processes take seconds to start where the machine is busy.
    testTimeout: 60_000
  }
})
