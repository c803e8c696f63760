import { availableParallelism } from "node:os"
import { mergeConfig } from "vitest/config"
import shared from "../../vitest.shared.ts"

export default mergeConfig(shared, {
  test: {
    // Two files at a time on two cores too, where vitest runs one: the tests wait for pages and for
    // processes.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // Several tests start processes, which takes seconds where the machine is busy.
    testTimeout: 120_000
  }
})
