// The tests of the workspace as a whole; each package's own are in its own folder.
import { defineConfig, mergeConfig } from "vitest/config"
import shared from "./vitest.shared.ts"

export default mergeConfig(
  shared,
  defineConfig({
    // Else it reports each file of a package whose source maps name no sources.
    logLevel: "error",
    test: {
      include: ["scripts/test/**/*.test.ts"],
      // It imports JSON without saying so, which Node rejects.
      server: { deps: { inline: ["@actions/workflow-parser"] } }
    }
  })
)
