import { defineConfig } from "vitest/config"
import { project, run } from "../../vitest.shared.ts"

// Installations, proxies and restarts take minutes where the machine is busy.
const timeout = 300_000

export default defineConfig({ test: { ...project, ...run, testTimeout: timeout, hookTimeout: timeout } })
