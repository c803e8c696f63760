import * as Core from "@model-gateway/core"
import { Schema } from "effect"
import { execFile } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, it } from "vitest"

const source = join(import.meta.dirname, "../src")

const modules = readdirSync(source)
  .filter((name) => name.endsWith(".ts") && name !== "index.ts")
  .map((name) => name.slice(0, -3))
  .concat("CohereRerank", "FileShapes", "WireNames")

it("exports exactly these modules", () => {
  expect(Object.keys(Core).toSorted((a, b) => a.localeCompare(b))).toEqual([
    "Activity",
    "Alerts",
    "AuditLog",
    "Byok",
    "ClientError",
    "CohereRerank",
    "ConsoleSessions",
    "Credits",
    "CurrentKey",
    "Destinations",
    "ErrorResponse",
    "Estimate",
    "FetchGateway",
    "Files",
    "FileShapes",
    "Gateway",
    "GatewayApi",
    "GatewayClient",
    "GatewayConfig",
    "GatewayError",
    "Generations",
    "Guardrails",
    "IdempotencyKeySource",
    "Identifiers",
    "Keys",
    "ModelEndpoints",
    "Models",
    "Operation",
    "ProviderFiles",
    "ProviderHealth",
    "Providers",
    "RejectedRequests",
    "Rerank",
    "Reservations",
    "RetryBudget",
    "RetryPolicy",
    "Routing",
    "System",
    "Telemetry",
    "Trace",
    "Transcription",
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
  for (const path of ["internal/execute", "dialect/FileShapes"]) {
    const specifier = `@model-gateway/core/${path}`
    await expect(import(specifier)).rejects.toThrow(path)
  }
})

it("modules for servers and platforms have a subpath that is called unstable, and are not in the list", async () => {
  const unstable = readdirSync(join(source, "unstable")).map((name) => name.slice(0, -3))
  expect(unstable).toContain("Authorization")
  for (const name of unstable) {
    expect(Object.keys(Core)).not.toContain(name)
    await import(`@model-gateway/core/unstable/${name}`)
  }
})

it("loads no code that makes the OpenAPI document", async () => {
  const program = `
    import { registerHooks } from "node:module"
    const loaded = []
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
    await import("@model-gateway/core")
    console.log(JSON.stringify(loaded))`
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: import.meta.dirname
  })
  const loaded = Schema.decodeSync(Schema.fromJsonString(Schema.Array(Schema.String)))(stdout)
  expect(loaded.filter((url) => url.endsWith("/core/dist/Gateway.js"))).toHaveLength(1)
  // `HttpApi` describes the contract; `OpenApi` and the modules of Effect that import it are for
  // servers.
  expect(loaded.filter((url) => url.endsWith("/http-api/HttpApi.js"))).toHaveLength(1)
  expect(loaded.filter((url) => /open-?api|codeSamples|descriptions/i.test(url))).toEqual([])
})

it("depends only on modules of effect, and on none that only lists others", () => {
  for (const name of readdirSync(source, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".ts")
  )) {
    const imports = Array.from(
      readFileSync(join(source, name), "utf8").matchAll(/^(?:import|export) .* from "([^"]+)"/gm)
    )
    for (const [, specifier = ""] of imports) {
      expect([name, specifier, /^(effect(\/[a-z-]+)*\/[A-Z]\w*|\.\.?\/[\w/]+\.ts)$/.test(specifier)]).toEqual([
        name,
        specifier,
        true
      ])
    }
  }
})
