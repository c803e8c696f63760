/** Compiles the examples of the docstrings. */
import { execFile } from "node:child_process"
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, it } from "vitest"

const root = join(import.meta.dirname, "..")
// Inside the package, so that imports resolve it by name as a user's do. Not part of what is
// published.
const folder = join(root, "test-results", "examples")

const examples = readdirSync(join(root, "src"))
  .filter((name) => name.endsWith(".ts"))
  .flatMap((name) =>
    Array.from(
      readFileSync(join(root, "src", name), "utf8").matchAll(/ \* ```ts\n([\s\S]*?) \* ```/g),
      (match, index) => ({
        name: `${name.replace(".ts", "")}-${index}.ts`,
        code: (match[1] ?? "").replaceAll(/^ \* ?/gm, "")
      })
    )
  )

it("the examples of the docstrings compile", { timeout: 60_000 }, async () => {
  expect(examples.length).toBeGreaterThanOrEqual(4)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const { code, name } of examples) writeFileSync(join(folder, name), `${code}\nexport {}\n`)
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({
      extends: "../../../../tsconfig.base.json",
      compilerOptions: {
        lib: ["ES2024", "DOM", "DOM.Iterable"],
        composite: false,
        declaration: false,
        declarationMap: false,
        noEmit: true,
        // An example may leave what it declares unused.
        noUnusedLocals: false
      },
      include: ["*.ts"]
    })
  )
  const result = await promisify(execFile)(join(root, "../../node_modules/.bin/tsc"), [
    "-p",
    folder,
    "--pretty",
    "false"
  ]).catch((error: { readonly stdout: string }) => error)
  expect(result.stdout).toBe("")
})
