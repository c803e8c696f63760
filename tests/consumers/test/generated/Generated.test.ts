// Clients that others generate from the document of a gateway process. They are made here,
// compiled, and used against it. `@redocly/cli` checks the document first.
import { Schema } from "effect"
import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, it } from "vitest"
import { perlProgram } from "@model-gateway/test-services/Perl"
import { type Gateway, startGateway } from "@model-gateway/test-services/GatewayProcess"

const Sampled = Schema.Struct({ "x-code-samples": Schema.Array(Schema.Struct({ source: Schema.String })) })
const Paths = Schema.Record(Schema.String, Schema.Record(Schema.String, Sampled))
const Document = Schema.fromJsonString(Schema.Struct({ paths: Paths }))

const consumers = join(import.meta.dirname, "../..")
const bin = (name: string) => join(consumers, "node_modules/.bin", name)
const root = join(consumers, "../..")
const perl = perlProgram()

let folder: string
let gateway: Gateway
let document: string

/** The output of a command. If it fails, the test fails with all it said. */
const run = async (command: string, args: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}) => {
  try {
    const { stdout } = await promisify(execFile)(command, args, {
      cwd: folder,
      env: { PATH: process.env["PATH"], NO_COLOR: "1", ...env },
      maxBuffer: 64 * 1024 * 1024
    })
    return stdout
  } catch (error) {
    const { stderr, stdout } = error as { readonly stderr?: string; readonly stdout?: string }
    throw new Error(`${command} failed:\n${stdout}\n${stderr}`, { cause: error })
  }
}

beforeAll(async () => {
  // Below the package, so that a program finds its dependencies.
  mkdirSync(join(consumers, "test-results"), { recursive: true })
  folder = mkdtempSync(join(consumers, "test-results", "generated-"))
  mkdirSync(join(folder, "data"))
  gateway = await startGateway(join(folder, "data"))
  document = join(folder, "openapi.json")
  const response = await fetch(`${gateway.origin}/openapi.json`)
  writeFileSync(document, await response.text())
  cpSync(join(import.meta.dirname, "fixtures"), folder, { recursive: true })
})

afterAll(async () => {
  await gateway?.stop()
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
})

it("the document passes the recommended rules of @redocly/cli", async () => {
  const report = await run(bin("redocly"), ["lint", "--extends", "recommended", "--format", "json", document], {
    REDOCLY_TELEMETRY: "off",
    REDOCLY_SUPPRESS_UPDATE_NOTICE: "true"
  })
  expect(JSON.parse(report)).toMatchObject({ totals: { errors: 0, warnings: 0 } })
})

it("a client of openapi-typescript and openapi-fetch compiles and works", async () => {
  await run(bin("openapi-typescript"), [document, "--output", "schema.ts"])
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({
      extends: "../../../../tsconfig.base.json",
      compilerOptions: {
        composite: false,
        noEmit: true,
        rewriteRelativeImportExtensions: false,
        allowImportingTsExtensions: true,
        types: ["node"],
        lib: ["ES2024", "DOM", "DOM.Iterable"]
      },
      files: ["client.ts"]
    })
  )
  await run(join(root, "node_modules/.bin/tsc"), ["-p", folder])
  const { key, managementKey, origin } = gateway
  const output = await run(process.execPath, [join(folder, "client.ts")], {
    KEY: key,
    MANAGEMENT_KEY: managementKey,
    ORIGIN: origin
  })
  expect(JSON.parse(output)).toEqual({
    best: "pears",
    count: 2,
    replayed: "true",
    unknown: [404, 404],
    stranger: [401, true],
    video: "completed",
    range: [206, 100],
    uploaded: true,
    key: "mg_sk_"
  })
})

it("the curl samples of rerank, videos and the calling key work on a new gateway", async () => {
  const { paths } = Schema.decodeUnknownSync(Document)(readFileSync(document, "utf8"))
  const env = { MODEL_GATEWAY_BASE_URL: `${gateway.origin}/api/v1`, MODEL_GATEWAY_API_KEY: gateway.key }
  const call = async (path: string, method: string): Promise<unknown> => {
    const [curl] = paths[path]?.[method]?.["x-code-samples"] ?? []
    return JSON.parse(await run("bash", ["--norc", "-c", curl?.source ?? ""], env))
  }
  expect(await call("/rerank", "post")).toMatchObject({ results: [{ index: 1 }] })
  expect(await call("/videos", "post")).toMatchObject({ status: "pending" })
  expect(await call("/key", "get")).toMatchObject({ data: { is_management_key: false } })
})

it.skipIf(perl === undefined)("a Perl client of OpenAPI::Client works, and finds no response invalid", async () => {
  // The schema of OpenAPI documents is not in Debian's package. The linter has checked the
  // document.
  const schema = createHash("md5").update("https://spec.openapis.org/oas/3.1/schema/2021-05-20").digest("hex")
  mkdirSync(join(folder, "cache"))
  writeFileSync(join(folder, "cache", schema), JSON.stringify({ type: "object" }))
  const { key, managementKey, origin } = gateway
  const args = ["client.pl", `file://${document}`, origin, key, managementKey]
  const output = await run(perl ?? "perl", args, { JSON_VALIDATOR_CACHE_PATH: join(folder, "cache") })
  expect(JSON.parse(output)).toEqual({
    best: "pears",
    unsent: "/body/documents",
    unknown: 404,
    stranger: 401,
    video: 1,
    key: "mg_sk_",
    invalid: []
  })
})
