import { defineConfig } from "vitest/config"
import { project, run } from "../../vitest.shared.ts"

// A process for each file: the canvas library has native code.
export default defineConfig({ test: { ...project, ...run, isolate: true } })
