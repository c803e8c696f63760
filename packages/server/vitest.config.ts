import { defineConfig } from "vitest/config"
import shared from "../../vitest.shared.ts"

/** The suites that also run on Postgres, besides those that choose their databases themselves. */
const onPostgres = [
  "test/access/{DeletedGuardrail,EphemeralKeys,EphemeralLimits,GuardrailStore,KeyRecords,KeyStore,WorkspaceStore}.test.ts",
  "test/objects/FileStore.test.ts",
  "test/operations/{Byok,Destinations,Files,Generations,Guardrails,Keys,Rerank,Transcription,Video}Handlers.test.ts",
  "test/video/{VideoJobs,VideoProcesses}.test.ts"
]

const { globalSetup, reporters, ...test } = { ...shared.test }

export default defineConfig({
  test: {
    // Of the whole run, so that both share one Postgres.
    globalSetup,
    reporters,
    projects: [
      { test: { ...test, name: "sqlite" } },
      { test: { ...test, name: "postgres", include: onPostgres, env: { TEST_DATABASE: "postgres" } } }
    ]
  }
})
