import { defineConfig, mergeConfig } from "vitest/config"
import shared from "../../vitest.shared.ts"

// Packing and installing comes first, once for all files. A compiler and a bundler on a busy machine take their time.
export default mergeConfig(
  shared,
  defineConfig({ test: { globalSetup: "test/setup.ts", testTimeout: 60_000, hookTimeout: 60_000 } })
)
