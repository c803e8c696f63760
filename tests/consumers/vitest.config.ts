import { defineConfig } from "vitest/config"
import { project, run, withSlow } from "../../vitest.shared.ts"

// A compiler and a bundler are slow on a busy machine.
const patient = { ...project, testTimeout: 60_000, hookTimeout: 60_000 }

export default defineConfig({
  test: {
    ...run,
    projects: [
      // Packs and installs first, once for all files.
      {
        test: {
          ...patient,
          include: ["test/*.test.ts"],
          ...withSlow(["test/{Packages,Runtimes}.test.ts"]),
          name: "packages",
          globalSetup: "test/setup.ts"
        }
      },
      { test: { ...patient, include: ["test/compatibility/*.test.ts"], ...withSlow([]), name: "compatibility" } },
      { test: { ...patient, include: ["test/generated/*.test.ts"], ...withSlow([]), name: "generated" } }
    ]
  }
})
