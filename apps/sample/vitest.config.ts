import { mergeConfig } from "vitest/config"
import shared from "../../vitest.shared.ts"

// Several tests start processes, which takes seconds where the machine is busy.
export default mergeConfig(shared, { test: { testTimeout: 120_000 } })
