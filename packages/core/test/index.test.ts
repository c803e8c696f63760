import * as Core from "@model-gateway/core"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"

const source = join(import.meta.dirname, "../src")

const modules = readdirSync(source)
  .filter((name) => name.endsWith(".ts") && name !== "index.ts")
  .map((name) => name.slice(0, -3))

it("exports exactly these modules", () => {
  expect(Object.keys(Core).toSorted((a, b) => a.localeCompare(b))).toEqual([
    "Activity",
    "Authorization",
    "Byok",
    "ClientError",
    "CohereRerank",
    "Credits",
    "CurrentKey",
    "Destinations",
    "Files",
    "FileShapes",
    "Gateway",
    "GatewayApi",
    "GatewayClient",
    "GatewayConfig",
    "GatewayError",
    "Generations",
    "Guardrails",
    "Idempotency",
    "IdempotencyKeySource",
    "Identifiers",
    "Keys",
    "ModelEndpoints",
    "Models",
    "OpenApiDocument",
    "Operation",
    "ProviderFiles",
    "Providers",
    "Rerank",
    "RetryBudget",
    "RetryPolicy",
    "Routing",
    "SchemaCompiler",
    "Telemetry",
    "Trace",
    "Transcription",
    "UploadMonitor",
    "Video",
    "VideoModels",
    "VideoProgress",
    "Webhook",
    "Webhooks",
    "WireNames",
    "Workspaces"
  ])
})

it("each module has a subpath, and internal modules have none", async () => {
  expect(new Set(modules)).toEqual(new Set(Object.keys(Core)))
  for (const name of modules) {
    const module: unknown = await import(`@model-gateway/core/${name}`)
    expect([name, module]).toEqual([name, Object.entries(Core).find(([key]) => key === name)?.[1]])
  }
  const specifier = "@model-gateway/core/internal/execute"
  await expect(import(specifier)).rejects.toThrow("internal/execute")
})

it("depends only on effect", () => {
  for (const name of [...modules.map((name) => `${name}.ts`), "index.ts", "internal/execute.ts", "internal/form.ts"]) {
    const imports = Array.from(
      readFileSync(join(source, name), "utf8").matchAll(/^(?:import|export) .* from "([^"]+)"/gm)
    )
    for (const [, specifier = ""] of imports) {
      expect([name, specifier, /^(effect(\/[\w-]+)*|\.\.?\/[\w/]+\.ts)$/i.test(specifier)]).toEqual([
        name,
        specifier,
        true
      ])
    }
  }
})
