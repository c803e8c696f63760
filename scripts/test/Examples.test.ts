// The examples of the docstrings compile as they stand.
import { execFile } from "node:child_process"
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, posix } from "node:path"
import { promisify } from "node:util"
import { expect, it } from "vitest"
import { type Package, packages, root } from "./Workspace.ts"

/** The packages that run without Node. */
const everywhere: ReadonlyArray<string> = ["ai-sdk", "browser", "core"]

const sourcesOf = ({ folder }: Package): ReadonlyArray<string> =>
  readdirSync(join(folder, "src"), { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"))

/** Writes the examples of a package, and returns their files. */
const write = (of: Package): ReadonlyArray<string> => {
  // Inside the package, so that imports resolve its name as a user's do. Not part of what is
  // published.
  const folder = join(of.folder, "test-results", "examples")
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  return sourcesOf(of).flatMap((name) =>
    Array.from(
      readFileSync(join(of.folder, "src", name), "utf8").matchAll(/^ *\* ```ts\n([\s\S]*?)^ *\* ```$/gm),
      ([, example = ""], index) => {
        const file = join(folder, `${name.replace(".ts", "").replaceAll(/[\\/]/g, "-")}-${index}.ts`)
        const code = example
          .replaceAll(/^ *\* ?/gm, "")
          // Examples of internal modules import the files beside them.
          .replaceAll(/(?<=from ")\.[^"]+/g, (path) => posix.join("../../src", posix.dirname(name), path))
        // An example without imports would share its names with the others.
        writeFileSync(file, `${code}\nexport {}\n`)
        return file
      }
    )
  )
}

const libraries = packages.filter(({ group }) => group === "packages")

it.each([
  ["without Node", libraries.filter(({ name }) => everywhere.includes(name)), []],
  ["on Node", libraries.filter(({ name }) => !everywhere.includes(name)), ["node"]]
] as const)("the examples of the docstrings compile %s", { timeout: 120_000 }, async (where, some, types) => {
  const files = some.flatMap(write)
  expect(files.length).toBeGreaterThan(30)
  const folder = join(root, "test-results", "examples")
  mkdirSync(folder, { recursive: true })
  const project = join(folder, `${where.replaceAll(" ", "-")}.json`)
  writeFileSync(
    project,
    JSON.stringify({
      extends: join(root, "tsconfig.base.json"),
      compilerOptions: {
        lib: ["ES2024", "DOM", "DOM.Iterable"],
        types,
        composite: false,
        declaration: false,
        declarationMap: false,
        noEmit: true,
        // An example may leave what it declares unused.
        noUnusedLocals: false
      },
      files
    })
  )
  const tsc = join(root, "node_modules/typescript/bin/tsc")
  const result = await promisify(execFile)(process.execPath, [tsc, "-p", project, "--pretty", "false"]).catch(
    (error: { readonly stdout: string }) => error
  )
  expect(result.stdout).toBe("")
})
