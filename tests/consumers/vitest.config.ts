import { defineConfig } from "vitest/config"
import { project, run } from "../../vitest.shared.ts"

// A compiler and a bundler are slow on a busy machine.
const slow = { ...project, testTimeout: 60_000, hookTimeout: 60_000 }

export default defineConfig({
  test: {
    ...run,
    projects: [
      // Packs and installs first, once for all files.
      { test: { ...slow, name: "packages", include: ["test/*.test.ts"], globalSetup: "test/setup.ts" } },
      { test: { ...slow, name: "compatibility", include: ["test/compatibility/*.test.ts"] } },
      { test: { ...slow, name: "generated", include: ["test/generated/*.test.ts"] } }
    ]
  }
})
