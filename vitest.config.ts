// The tests of the workspace as a whole; each package's own are in its own folder.
import { defineConfig, mergeConfig } from "vitest/config"
import shared from "./vitest.shared.ts"

export default mergeConfig(shared, defineConfig({ test: { include: ["scripts/test/**/*.test.ts"] } }))
