import { defineConfig } from "vitest/config"
import { project, run } from "../../vitest.shared.ts"

// A process for each file: rendering threads of other files could still be ending in a shared one,
// with native code.
export default defineConfig({ test: { ...project, ...run, isolate: true } })
