// The direction of imports: core, settings ← node, browser, ai-sdk, testing, offers ← mcp, providers,
// sandbox, server ← apps. Of providers, sandbox and server, none imports another; tests of the server
// may.
import { describe, expect, it } from "vitest"
import { imports, type Package, packages, sources, withoutComments } from "./Workspace.ts"

const scope = "@model-gateway/"

/** The benchmarks and the packages of tests run where they are, and nobody installs them. */
const isUnpublished = (of: Package): boolean => of.group === "tests" || of.name === "bench"

/** Which packages of this project a package's sources may import. */
const mayImport = (from: Package, to: string): boolean => {
  if (to.startsWith("test-")) return isUnpublished(from)
  if (from.group !== "packages") return packages.some((other) => other.group === "packages" && other.name === to)
  if (from.name === "core" || from.name === "settings") return false
  if (to === "settings") return from.name === "server"
  // Its executable is a client on Node.
  if (to === "node") return from.name === "mcp"
  if (to === "offers") return ["providers", "sandbox", "server"].includes(from.name)
  return to === "core"
}

/** `@scope/name/deep/path` → `@scope/name`, `effect/Schema` → `effect`. */
const packageOf = (specifier: string): string =>
  specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/")

const isRelative = (specifier: string) => specifier.startsWith(".")
const isBuiltin = (specifier: string) => specifier.startsWith("node:")

/** What is wrong with the imports of one file, as sentences; none where all is well. */
const wrong = (from: Package, folder: "src" | "test", path: string, code: string): ReadonlyArray<string> =>
  imports(code).flatMap((specifier) => {
    const at = `${from.group}/${from.name}/${path} imports ${specifier}`
    // The fault test composes the service of its internal modules, as the server's own tests do.
    if (from.name === "faults" && specifier.startsWith("../../../packages/server/")) return []
    if (isRelative(specifier)) {
      const depth = path.split("/").length - 1
      const ups = specifier.split("/").filter((part) => part === "..").length
      return ups > depth - (folder === "src" ? 1 : 0) ? [`${at}, which lies outside its package's ${folder}`] : []
    }
    if (isBuiltin(specifier)) {
      return from.name === "core" && folder === "src" ? [`${at}; core has no platform code`] : []
    }
    const name = packageOf(specifier)
    if (name === from.manifest.name) return folder === "src" ? [`${at}, which is itself`] : []
    if (specifier.includes("/internal/") || specifier.includes("/src/") || specifier.includes("/dist/")) {
      return [`${at}, which is not public`]
    }
    if (folder === "src" && name.startsWith(scope) && !mayImport(from, name.slice(scope.length))) {
      return [`${at}, against the direction of imports`]
    }
    if (folder === "src" && from.name === "core" && name !== "effect") {
      return [`${at}; core depends on effect alone`]
    }
    const { dependencies, devDependencies, peerDependencies } = from.manifest
    const published = folder === "src" && !isUnpublished(from)
    const declared = published
      ? { ...dependencies, ...peerDependencies }
      : { ...rootTools, ...devDependencies, ...dependencies, ...peerDependencies }
    return name in declared ? [] : [`${at}, which its package.json does not declare`]
  })

/** What the root installs for every package's tests. */
const rootTools = { effect: "", vitest: "", "@effect/vitest": "" }

describe("imports", () => {
  it("finds the packages and their sources", () => {
    expect(packages.map((each) => each.name)).toEqual(expect.arrayContaining(["core", "node", "server", "gateway"]))
    // The consumers' sources are in their projects, which install the packages and import no other.
    // The doubles are JavaScript, so that they also run by hand without a build.
    const written = packages.filter(
      (each) => !["agents", "consumers", "operate", "doubles", "examples"].includes(each.name)
    )
    for (const each of written) expect(sources(each, "src").length, each.name).toBeGreaterThan(0)
  })

  it.each(packages)("$group/$name: sources import in one direction, public modules only, all declared", (each) => {
    expect(sources(each, "src").flatMap(({ code, path }) => wrong(each, "src", path, code))).toEqual([])
  })

  it.each(packages)("$group/$name: tests import public modules only, all declared", (each) => {
    expect(sources(each, "test").flatMap(({ code, path }) => wrong(each, "test", path, code))).toEqual([])
  })

  it.each(packages)("$group/$name: its manifest depends on nothing that its sources may not import", (each) => {
    const own = Object.keys(each.manifest.dependencies ?? {}).filter((name) => name.startsWith(scope))
    expect(own.filter((name) => !mayImport(each, name.slice(scope.length)))).toEqual([])
    if (each.name === "core") {
      expect(Object.keys({ ...each.manifest.dependencies, ...each.manifest.peerDependencies })).toEqual(["effect"])
    }
  })

  it("would notice each kind of wrong import", () => {
    const find = (name: string) => {
      const found = packages.find((each) => each.name === name)
      if (found === undefined) throw new Error(`no package ${name}`)
      return found
    }
    const complaint = (name: string, line: string) =>
      wrong(find(name), "src", "src/A.ts", withoutComments("A.ts", line)).join("\n")

    expect(complaint("core", `import { readFile } from "node:fs"`)).toContain("no platform code")
    expect(complaint("core", String.raw`/a:\/\//i.test("'"); import { readFile } from "node:fs"`)).toContain(
      "no platform code"
    )
    expect(complaint("core", `export * from "@model-gateway/node"`)).toContain("against the direction")
    expect(complaint("core", `import { request } from "undici"`)).toContain("effect alone")
    expect(complaint("providers", `import type { A } from "@model-gateway/server/KeyStore"`)).toContain("direction")
    expect(complaint("server", `import { make } from "@model-gateway/sandbox/Sandbox"`)).toContain("direction")
    expect(complaint("server", `const a = await import("@model-gateway/core/internal/execute")`)).toContain(
      "not public"
    )
    expect(complaint("server", `import {\n  a\n} from "../../core/src/Rerank.ts"`)).toContain("outside its package")
    expect(complaint("node", `import "left-pad"`)).toContain("does not declare")
    expect(complaint("gateway", `import { a } from "@model-gateway/sample"`)).toContain("against the direction")
    expect(
      complaint("core", `// import { a } from "undici"\n/** import "undici" */\nimport { Effect } from "effect"`)
    ).toBe("")
    expect(complaint("server", `import { Gateway } from "@model-gateway/core/Gateway"`)).toBe("")
  })
})
