/** Runs the tests that the README shows, and compiles all examples of the README. */
import { execFile } from "node:child_process"
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { describe, expect, it } from "vitest"

const root = join(import.meta.dirname, "..")
// Inside the package, so that imports resolve it by name as a user's do. Not part of what is
// published.
const folder = join(root, "test-results", "readme")

const readme = readFileSync(join(root, "README.md"), "utf8")

const blocks = Array.from(readme.matchAll(/^```ts(?: file=(\S+))?\n([\s\S]*?)^```$/gm), (match, index) => ({
  name: match[1] ?? `block-${index}.ts`,
  code: match[2] ?? ""
}))

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
for (const { code, name } of blocks) writeFileSync(join(folder, name), code)
writeFileSync(
  join(folder, "tsconfig.json"),
  JSON.stringify({
    extends: "../../../../tsconfig.base.json",
    compilerOptions: {
      lib: ["ES2024", "DOM", "DOM.Iterable"],
      types: ["node"],
      composite: false,
      declaration: false,
      declarationMap: false,
      noEmit: true,
      // An example may leave what it declares unused.
      noUnusedLocals: false,
      rewriteRelativeImportExtensions: false,
      allowImportingTsExtensions: true
    },
    include: ["*.ts"]
  })
)

const tests = blocks.filter(({ code }) => /^it\./m.test(code))

describe("README", async () => {
  for (const { name } of tests) await import(join(folder, name))

  it("has tests, and files for the rest of its code", () => {
    expect(tests.length).toBeGreaterThanOrEqual(6)
    expect(blocks.length).toBeGreaterThanOrEqual(tests.length + 2)
  })

  it("shows a retry in ten lines", () => {
    const body = tests[0]?.code.split("it.effect(")[1]?.trim().split("\n") ?? []
    expect(body.length).toBeLessThanOrEqual(10)
  })

  it("quotes the message for an operation without a handler", async () => {
    expect(readme).toContain(
      'the program called "listModels" (GET /api/v1/models), and this test has no handler for it.'
    )
  })

  it("has examples that compile", { timeout: 60_000 }, async () => {
    const tsc = join(root, "../../node_modules/typescript/bin/tsc")
    const result = await promisify(execFile)(process.execPath, [tsc, "-p", folder, "--pretty", "false"]).catch(
      (error: { readonly stdout: string }) => error
    )
    expect(result.stdout).toBe("")
  })
})
