/**
 * What is published: complete, nothing besides, and found by every resolver that a consumer may
 * have.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { publint } from "publint"
import { describe, expect, inject, it } from "vitest"
import { root, run, succeed } from "@model-gateway/test-services/Command"
import { libraries, parseManifest, readManifest } from "@model-gateway/test-services/Packages"
import { manifestOf, projects, tarballs } from "./support/Packed.ts"

const installed = inject("installed")

/**
 * The repository's address, from its own manifest. The READMEs link to it, because they are read on
 * npm, too.
 */
const repository = readManifest(root).repository?.url.replace(/^git\+(.*)\.git$/, "$1") ?? ""

const attw = join(root, "tests/consumers/node_modules/.bin/attw")

/** The modules that anyone may import, as subpaths: `.`, `./Rerank`. */
const entrypoints = (folder: string, exports: Readonly<Record<string, unknown>>) => [
  ...Object.keys(exports).filter((subpath) => subpath !== "./package.json" && !subpath.endsWith("/*")),
  ...("./*" in exports ? modules(folder) : [])
    .filter((module) => !module.split("/").includes("internal") && exports[`./${dirname(module)}/*`] !== null)
    .flatMap((module) => (module === "index" ? [] : [`./${module}`]))
]

/** The modules in `src`, without their extension. */
const modules = (folder: string) =>
  readdirSync(join(folder, "src"), { recursive: true, encoding: "utf8" })
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => path.replace(/\.tsx?$/, ""))

/** The files of a tarball, without the folder that it unpacks to. */
const contents = async (tarball: string) =>
  (await succeed("tar", ["-tzf", tarball], { cwd: installed }))
    .trim()
    .split("\n")
    .map((path) => path.replace(/^package\//, ""))

/** The script of the reference page, which the service's build copies, and the catalog. */
const assets: Readonly<Record<string, ReadonlyArray<string>>> = {
  providers: ["dist/catalog.json", "src/catalog.json"],
  server: ["assets/openapi-explorer.LICENSE", "assets/openapi-explorer.min.js"]
}

describe.each(libraries)("$manifest.name", ({ folder, manifest, name }) => {
  const tarball = join(tarballs(installed), `${name}.tgz`)

  it("contains its sources, the compiled files, the README and the license, and nothing else", async () => {
    const sources = readdirSync(join(folder, "src"), { recursive: true, encoding: "utf8" })
      .filter((path) => /\.tsx?$/.test(path))
      .map((path) => `src/${path}`)
    const compiled = modules(folder).flatMap((module) =>
      [".js", ".js.map", ".d.ts", ".d.ts.map"].map((extension) => `dist/${module}${extension}`)
    )
    expect((await contents(tarball)).toSorted()).toEqual(
      [...sources, ...compiled, ...(assets[name] ?? []), "LICENSE", "README.md", "package.json"].toSorted()
    )
  })

  it("depends on exact versions", async () => {
    const packed = parseManifest(await succeed("tar", ["-xzOf", tarball, "package/package.json"], { cwd: installed }))
    expect(packed.version).toBe(manifest.version)
    const inexact = Object.entries(packed.dependencies ?? {}).filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))
    expect(inexact).toEqual([])
  })

  it("names its folder in the repository, and its page", async () => {
    const packed = parseManifest(await succeed("tar", ["-xzOf", tarball, "package/package.json"], { cwd: installed }))
    const directory = relative(root, folder)
    expect(packed.repository).toEqual({ type: "git", url: `git+${repository}.git`, directory })
    expect(packed.homepage).toBe(`${repository}/tree/main/${directory}#readme`)
  })

  it("has a README whose links lead somewhere", async () => {
    const readme = await succeed("tar", ["-xzOf", tarball, "package/README.md"], { cwd: installed })
    const files = await contents(tarball)
    const links = [...readme.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link)
    const lost = links.filter((link) => {
      const [, path] = link.split(`${repository}/`)[1]?.match(/^(?:blob|tree)\/main\/([^#]+)/) ?? []
      if (path !== undefined) return !existsSync(join(root, path))
      return !/^(?:https:|#)/.test(link) && !files.includes(link.replace(/^\.\//, "").replace(/#.*/, ""))
    })
    expect(lost).toEqual([])
  })

  it("publint finds nothing", async () => {
    const bytes = readFileSync(tarball)
    const { messages } = await publint({ pack: { tarball: new Uint8Array(bytes).buffer }, strict: true })
    expect(messages).toEqual([])
  })

  it.skipIf(manifest.exports === undefined)("@arethetypeswrong/cli finds nothing", async () => {
    // The packages are ESM alone: `esm-only` ignores what an old `require()` would find. The
    // wildcard is expanded, because attw would skip the modules behind it.
    const options = ["--profile", "esm-only", "--no-definitely-typed", "--no-color", "--no-emoji"]
    const { code, stdout } = await run(
      attw,
      [tarball, ...options, "--format", "ascii", "--entrypoints", ...entrypoints(folder, manifest.exports ?? {})],
      { cwd: installed }
    )
    expect(code, stdout).toBe(0)
    expect(stdout).toContain(`"${manifest.name}"`)
  })

  it("has a changeset or a version that was published", () => {
    const changesets = readdirSync(join(root, ".changeset"))
      .filter((file) => file.endsWith(".md"))
      .map((file) => readFileSync(join(root, ".changeset", file), "utf8"))
    const announced = changesets.some((text) => text.includes(`"${manifest.name}": `))
    expect(announced || existsSync(join(folder, "CHANGELOG.md"))).toBe(true)
  })
})

it("every package is installed by one of the projects", () => {
  const wanted = projects.flatMap((project) => {
    const { dependencies, devDependencies } = manifestOf(installed, project)
    return Object.keys({ ...dependencies, ...devDependencies })
  })
  expect(wanted).toEqual(expect.arrayContaining(libraries.map(({ manifest }) => manifest.name)))
})
