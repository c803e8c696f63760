import { defineConfig, mergeConfig } from "vitest/config"
import shared from "../../vitest.shared.ts"

// A browser on a busy machine takes its time.
export default mergeConfig(shared, defineConfig({ test: { testTimeout: 60_000, hookTimeout: 60_000 } }))
