// The public surface of each package: its modules and the types of what they export, written down
// in api/<package>.txt. A change there is a change people see. When it is meant: build,
// `pnpm vitest run --update` in the root, and a changeset.
import { readFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { isDeepStrictEqual } from "node:util"
import { describe, expect, it } from "vitest"
import { apiReport } from "./ApiReport.ts"
import { exportedNames, imports, type Package, packages, sources } from "./Workspace.ts"

/** The gateway is published, too, but nobody imports it. */
const published = packages.filter((each) => each.group === "packages" && each.manifest.private !== true)

/** Packages that export only the modules that their index names. */
const curated = published.filter((each) => !("./*" in (each.manifest.exports ?? {})))
const open = published.filter((each) => !curated.includes(each))

const subpathOf = (module: string) => (module === "index" ? "." : `./${module}`)

/** The source modules of a package, without `src/` and the extension. */
const modulesOf = (each: Package) =>
  sources(each, "src").map(({ code, path }) => ({ code, module: path.replace(/^src\//, "").replace(/\.tsx?$/, "") }))

const isClosed = ({ manifest }: Package, module: string) =>
  module.split("/").includes("internal") || manifest.exports?.[`./${dirname(module)}/*`] === null

/** The modules that others may import, with their subpaths. Those that are named have flat ones. */
const publicModules = (each: Package) =>
  modulesOf(each).flatMap(({ code, module }) => {
    const subpath = subpathOf(basename(module))
    const target = { types: `./dist/${module}.d.ts`, default: `./dist/${module}.js` }
    if (isDeepStrictEqual(each.manifest.exports?.[subpath], target)) return [{ code, module, subpath }]
    return curated.includes(each) || isClosed(each, module) ? [] : [{ code, module, subpath: subpathOf(module) }]
  })

describe("public exports", () => {
  it.each(open)("$name: internal modules are closed, every other one is open", ({ manifest }) => {
    expect(manifest.exports).toMatchObject({
      ".": { types: "./dist/index.d.ts", default: "./dist/index.js" },
      "./internal/*": null,
      "./*": { types: "./dist/*.d.ts", default: "./dist/*.js" }
    })
  })

  it("the server is the only package that names its public modules one by one", () => {
    expect(curated.map(({ name }) => name)).toEqual(["server"])
  })

  it.each(curated)("$name: the subpaths are the modules that the index names", (each) => {
    const index = modulesOf(each).find(({ module }) => module === "index")?.code ?? ""
    const named = imports(index).map((specifier) => specifier.replace(/^\.\//, "").replace(/\.ts$/, ""))
    const expected = ["index", ...named].map((module) => [
      subpathOf(basename(module)),
      { types: `./dist/${module}.d.ts`, default: `./dist/${module}.js` }
    ])
    expect(each.manifest.exports).toEqual({ "./package.json": "./package.json", ...Object.fromEntries(expected) })
    expect(exportedNames(index)).toEqual(named.map((module) => basename(module)).toSorted())
  })

  it.each(curated)("$name: the README lists the public modules", (each) => {
    const readme = readFileSync(join(each.folder, "README.md"), "utf8")
    const table = readme.slice(readme.indexOf("These are the public modules."))
    const named = Array.from(table.matchAll(/^\| (`[^|]+) \|/gm), ([, cell = ""]) =>
      cell.split(", ").map((name) => name.replaceAll("`", ""))
    ).flat()
    expect([...named.map(subpathOf), "."].toSorted()).toEqual(
      publicModules(each)
        .map(({ subpath }) => subpath)
        .toSorted()
    )
  })

  it.each(published)("$name: the types are those of the report", async (each) => {
    const modules = publicModules(each)
      // They may change in any release.
      .filter(({ module }) => !module.startsWith("unstable/"))
      // A module of an adapter has this one name. `Adapters.ts` lists them.
      .filter(({ code }) => exportedNames(code).join() !== "adapter")
    expect(modules.length).toBeGreaterThan(0)
    const report = apiReport(
      each.folder,
      modules.map(({ module }) => module)
    )
    await expect(report).toMatchFileSnapshot(`api/${each.name}.txt`)
  })
})
