import { availableParallelism } from "node:os"
import { defineConfig } from "vitest/config"
import { project, run, withSlow } from "../../vitest.shared.ts"

/** The suites that also run on Postgres, besides those that choose their databases themselves. */
const onPostgres = [
  "test/access/{DeletedGuardrail,EphemeralKeys,EphemeralLimits,GuardrailStore,KeyResponses,KeyStore,Permission,WorkspaceStore}.test.ts",
  "test/admission/Admission.test.ts",
  "test/audit/Audited.test.ts",
  "test/broadcast/BroadcastOverHttp.test.ts",
  "test/console/Session.test.ts",
  "test/objects/FileStore.test.ts",
  "test/observability/Metrics.test.ts",
  "test/operations/{Alerts,Byok,Credits,Destinations,Files,Generations,Guardrails,Keys,Rerank,System,Transcription,Video,Workspaces}Handlers.test.ts",
  "test/video/{VideoJobs,VideoWaits}.test.ts"
]

/** Kills, lost connections and large uploads. */
const slow = [
  "test/admission/{BrokenSteps,Kill}.test.ts",
  "test/operations/{BrokenUploads,LargeUpload}.test.ts",
  "test/storage/postgres/{LostConnection,PostgresProcessLocks}.test.ts",
  "test/video/{VideoCrashes,VideoProcesses}.test.ts",
  "test/webhooks/Kill.test.ts"
]
const { include = onPostgres } = withSlow(["test/video/VideoProcesses.test.ts"])

/** Renders and processes take many seconds while other packages are tested, too. */
const testTimeout = 120_000

export default defineConfig({
  test: {
    // Both share one Postgres.
    ...run,
    // Two files at a time on two cores too, where vitest runs one: the tests wait for timers and
    // for processes.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: [
      { test: { ...project, ...withSlow(slow), testTimeout, name: "sqlite" } },
      { test: { ...project, testTimeout, name: "postgres", include, env: { TEST_DATABASE: "postgres" } } }
    ]
  }
})
