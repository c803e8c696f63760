// The tests of the workspace as a whole; each package's own are in its own folder.
import { defineConfig, mergeConfig } from "vitest/config"
import shared from "./vitest.shared.ts"

export default mergeConfig(
  shared,
  defineConfig({
    // Otherwise it warns about each source map that names no sources.
    logLevel: "error",
    test: {
      include: ["scripts/test/**/*.test.ts"],
      // It imports JSON without an import attribute, which Node rejects.
      server: { deps: { inline: ["@actions/workflow-parser"] } }
    }
  })
)
