import { defineConfig } from "vitest/config"
import { project, run } from "../../vitest.shared.ts"

/** The suites that also run on Postgres, besides those that choose their databases themselves. */
const onPostgres = [
  "test/access/{DeletedGuardrail,EphemeralKeys,EphemeralLimits,GuardrailStore,KeyRecords,KeyStore,WorkspaceStore}.test.ts",
  "test/admission/Admission.test.ts",
  "test/broadcast/BroadcastOverHttp.test.ts",
  "test/objects/FileStore.test.ts",
  "test/operations/{Byok,Credits,Destinations,Files,Generations,Guardrails,Keys,Rerank,Transcription,Video,Workspaces}Handlers.test.ts",
  "test/video/{VideoJobs,VideoProcesses,VideoWaits}.test.ts"
]

export default defineConfig({
  test: {
    // Both share one Postgres.
    ...run,
    projects: [
      { test: { ...project, name: "sqlite" } },
      { test: { ...project, name: "postgres", include: onPostgres, env: { TEST_DATABASE: "postgres" } } }
    ]
  }
})
