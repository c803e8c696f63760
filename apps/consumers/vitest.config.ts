import { defineConfig, mergeConfig } from "vitest/config"
import shared from "../../vitest.shared.ts"

// Packs and installs first, once for all files. A compiler and a bundler are slow on a busy machine.
export default mergeConfig(
  shared,
  defineConfig({ test: { globalSetup: "test/setup.ts", testTimeout: 60_000, hookTimeout: 60_000 } })
)
