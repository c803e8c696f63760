import { availableParallelism } from "node:os"
import { mergeConfig } from "vitest/config"
import shared from "../../vitest.shared.ts"

export default mergeConfig(shared, {
  test: {
    // Two files at a time on two cores too, where vitest runs one: the tests wait for timers and
    // for processes.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // Processes take seconds to start where the machine is busy.
    testTimeout: 60_000
  }
})
