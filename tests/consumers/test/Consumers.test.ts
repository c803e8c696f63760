/**
 * Each project installs the packages as they are published, is checked, built and run, and makes a
 * call.
 */
import { once } from "node:events"
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { chromium } from "playwright-core"
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { launchOptions } from "@model-gateway/test-services/Chromium"
import { run, succeed } from "@model-gateway/test-services/Command"
import { examples } from "./support/Examples.ts"
import { nodes } from "@model-gateway/test-services/Nodes"
import { gateway as gatewayPackage, libraries } from "@model-gateway/test-services/Packages"
import { manifestOf, type Project, projects } from "./support/Packed.ts"
import { type Gateway, startGateway } from "@model-gateway/test-services/GatewayProcess"
import { serve } from "./support/Site.ts"

const installed = inject("installed")
const folderOf = (project: Project) => join(installed, project)
const tool = (project: Project, name: string) => join(folderOf(project), "node_modules/.bin", name)
const answer = "Reset a forgotten password"

let data: string
let gateway: Gateway

beforeAll(async () => {
  for (const project of projects) {
    mkdirSync(join(folderOf(project), "examples"))
    for (const { code, name } of examples(project)) writeFileSync(join(folderOf(project), "examples", name), code)
  }
  data = mkdtempSync(join(tmpdir(), "model-gateway-"))
  gateway = await startGateway(data)
})

afterAll(async () => {
  await gateway?.stop()
  rmSync(data, { recursive: true, force: true })
})

describe.each(projects)("%s", (project) => {
  const cwd = folderOf(project)

  it("finds the packages where they were installed", () => {
    const { dependencies = {} } = manifestOf(installed, project)
    const ours = Object.keys(dependencies).filter((name) => name.startsWith("@model-gateway/"))
    expect(ours.length).toBeGreaterThan(0)
    for (const name of ours) {
      expect(realpathSync(join(cwd, "node_modules", name)).startsWith(realpathSync(installed))).toBe(true)
    }
  })

  it("compiles with every declaration checked, and so do the examples in the documents [spec V8]", async () => {
    // The declarations of `ai` and `zod` would take seven seconds of a processor.
    const skips = String(project === "ai-sdk")
    const { stdout } = await run(tool(project, "tsc"), ["--skipLibCheck", skips, "--pretty", "false"], { cwd })
    // Errors in the declarations of others are ignored: Effect's name types of the DOM, which a
    // project for Node does not have.
    const theirs = (line: string) =>
      line.startsWith("../node_modules/") && !line.includes("/node_modules/@model-gateway/")
    // An indented line continues the one before.
    expect(stdout.split("\n").filter((line) => /^\S/.test(line) && !theirs(line))).toEqual([])
  })
})

it("runs on the oldest Node that the packages allow", async () => {
  const engines = [...libraries, gatewayPackage].map(({ manifest }) => manifest.engines?.["node"])
  expect(new Set(engines)).toEqual(new Set(["^22.19.0 || >=24.0.0"]))
  const versions = await Promise.all(nodes.map(({ node }) => succeed(node, ["--version"], { cwd: installed })))
  expect(versions).toEqual(nodes.map(({ version }) => `v${version}\n`))
})

describe.each(nodes)("node, by Node $version", ({ node, version }) => {
  const cwd = folderOf("node")

  it("makes a call", async () => {
    const env = { MODEL_GATEWAY_BASE_URL: `${gateway.origin}/api/v1`, MODEL_GATEWAY_API_KEY: gateway.key }
    expect(await succeed(node, ["src/rerank.ts"], { cwd, env })).toBe(`${answer}\n`)
  })

  it("runs the service, including the thread that renders a video", async () => {
    const { code, stdout } = await run(node, ["src/serve.ts", join(cwd, `data-${version}`)], { cwd })
    expect({ code, stdout }).toEqual({ code: 0, stdout: "completed, a video\n" })
  })

  it("tests its program with the scripted gateway", async () => {
    expect(await succeed(node, ["--test", "--test-reporter=tap"], { cwd })).toContain("# pass 3")
  })
})

describe("the examples of the six operations", () => {
  /** What each prints. */
  const shown = [
    /^Meeting notes .*file_deleted/s,
    /: 0.* credits used/,
    /Reset a forgotten password\n(?:.*\n)?0.001 credits/,
    /1: 1/,
    /^555 ?0199\n.* s: 5\n/,
    /completed 1\ndawn.mp4/,
    /^1 assigned, 0 unknown/
  ]
  const guide = examples("node").filter(({ name }) => name.startsWith("docs-client-operations-"))

  it("are six, and one with images", () => {
    expect(guide).toHaveLength(shown.length)
  })

  it.each(guide.map(({ name }, index) => ({ name, shows: shown[index] ?? /^$/ })))(
    "$name does what it shows",
    async ({ name, shows }) => {
      const env = {
        MODEL_GATEWAY_BASE_URL: `${gateway.origin}/api/v1`,
        MODEL_GATEWAY_API_KEY: gateway.key,
        MODEL_GATEWAY_MANAGEMENT_KEY: gateway.managementKey
      }
      const { code, stderr, stdout } = await run(process.execPath, [`examples/${name}`], { cwd: folderOf("node"), env })
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      expect(stdout).toMatch(shows)
    }
  )
})

describe.each(nodes)("promise, by Node $version", ({ node }) => {
  const cwd = folderOf("promise")
  const search = (env: Readonly<Record<string, string>>, seconds: string) =>
    run(node, ["src/search.ts", seconds], { cwd, env })

  it("makes a call with async and await, and ends by itself", async () => {
    const env = { MODEL_GATEWAY_BASE_URL: `${gateway.origin}/api/v1`, MODEL_GATEWAY_API_KEY: gateway.key }
    expect(await search(env, "30")).toEqual({ code: 0, stdout: `${answer}\n`, stderr: "" })
  })

  it("tells errors apart by their classes", async () => {
    const env = { MODEL_GATEWAY_BASE_URL: `${gateway.origin}/api/v1`, MODEL_GATEWAY_API_KEY: "mg_sk_unknown" }
    expect(await search(env, "30")).toMatchObject({ code: 1, stderr: "Check MODEL_GATEWAY_API_KEY.\n" })
  })

  it("gives up by its signal, closes its request and ends", async () => {
    let closed = 0
    const server = createServer((_, response) => response.once("close", () => closed++)).listen(0, "127.0.0.1")
    await once(server, "listening")
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    const env = { MODEL_GATEWAY_BASE_URL: `http://127.0.0.1:${port}/api/v1`, MODEL_GATEWAY_API_KEY: "mg_sk_any" }
    const { code, stderr } = await search(env, "2")
    expect({ code, stderr }).toEqual({ code: 1, stderr: "TimeoutError: The operation was aborted due to timeout\n" })
    await expect.poll(() => closed).toBe(1)
    server.close()
  })
})

describe("ai-sdk, installed with what its README says", () => {
  const cwd = folderOf("ai-sdk")

  it("runs the first program of the README", async () => {
    expect(Object.keys(manifestOf(installed, "ai-sdk").dependencies ?? {})).toEqual(["@model-gateway/ai-sdk", "ai"])
    const env = { MODEL_GATEWAY_BASE_URL: `${gateway.origin}/api/v1`, MODEL_GATEWAY_API_KEY: gateway.key }
    expect(await run(process.execPath, ["examples/packages-ai-sdk-README-0.ts"], { cwd, env })).toEqual({
      code: 0,
      stdout: "rainy afternoon in the city\n0.001 credits\n",
      stderr: ""
    })
  })
})

it("an agent starts the server as the README of mcp says, lists its tools and calls one", async () => {
  const env = { MODEL_GATEWAY_BASE_URL: `${gateway.origin}/api/v1`, MODEL_GATEWAY_API_KEY: gateway.key }
  const { code, stderr, stdout } = await run(process.execPath, ["src/tools.ts"], { cwd: folderOf("promise"), env })
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  const [tools, ranked = ""] = stdout.split("\n")
  expect(tools?.split(" ")).toContain("make_video")
  expect(JSON.parse(ranked)).toMatchObject({
    results: [{ index: 1, excerpt: answer }],
    cost: 0.001,
    session: { limit: 1, remaining: 0.999 }
  })
})

const options = launchOptions()

describe.skipIf(options === undefined)("page", () => {
  it("is built and opened, and makes a call", async () => {
    const cwd = folderOf("page")
    await succeed(tool("page", "vite"), ["build"], { cwd })
    const site = await serve(join(cwd, "dist"), gateway)
    const browser = await chromium.launch(options)
    try {
      const page = await browser.newPage()
      const complaints: Array<string> = []
      page.on("console", (message) => complaints.push(message.text()))
      page.on("pageerror", (error) => complaints.push(error.message))
      await page.goto(site.origin)
      await page.getByRole("button", { name: "Ask" }).click()
      await page.locator("output").filter({ hasText: /./ }).waitFor()
      expect(await page.locator("output").textContent()).toBe(answer)
      expect(site.calls).toEqual(["POST /api/v1/rerank 200 mg_ek_"])
      expect(complaints).toEqual([])
    } finally {
      await browser.close()
      await site.close()
    }
  })
})
