// What every package's tests have in common. A package's vitest.config.ts merges this with what is
// its own.
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"
import type { InlineConfig, ProjectConfig } from "vitest/node"
import { memoryFolder } from "./tests/services/src/MemoryFolder.ts"

/** What a project of a package has. */
export const project = {
  include: ["test/**/*.test.ts"],
  allowOnly: false,
  // Test files share their modules, which is faster: state belongs in layers, never in modules.
  isolate: false,
  // Generous, because a busy machine with two cores must not turn a good test into a failed one.
  testTimeout: 20_000,
  hookTimeout: 30_000,
  // Default: one second, which is too short on such a machine.
  expect: { poll: { timeout: 15_000 } }
} satisfies ProjectConfig

/**
 * The test files of a project some of whose files take minutes. `npm run test:release` sets
 * `SLOW_TESTS` and runs those alone; everything else leaves them out.
 */
export const withSlow = (slow: Array<string>): ProjectConfig =>
  process.env["SLOW_TESTS"] === undefined ? { exclude: slow } : { include: slow }

/** What a run of a package has. */
export const run = {
  globalSetup: fileURLToPath(new URL("tests/services/src/VitestSetup.ts", import.meta.url)),
  // The file is what `npm test` counts; turbo keeps it with the cached result.
  reporters: ["default", ["json", { outputFile: "test-results/vitest.json" }]],
  env: {
    // Each process that a test starts loads a thousand modules. Node compiles each of them once.
    NODE_COMPILE_CACHE: fileURLToPath(new URL("node_modules/.cache/compiled", import.meta.url)),
    // The server's tests wait for the disk longer than they compute.
    TMPDIR: memoryFolder()
  }
} satisfies InlineConfig

export default defineConfig({ test: { ...project, ...run } })
