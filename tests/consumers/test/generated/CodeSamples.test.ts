/**
 * The code samples of the OpenAPI document: TypeScript compiles them, and the other languages parse
 * them.
 */
import * as OpenApiDocument from "@model-gateway/server/OpenApiDocument"
import { Schema } from "effect"
import { execFile } from "node:child_process"
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { describe, expect, it } from "vitest"

const root = join(import.meta.dirname, "../..")
// Inside the package, so that imports resolve as a user's do.
const folder = join(root, "test-results", "samples")

const Document = Schema.Struct({
  paths: Schema.Record(
    Schema.String,
    Schema.Record(
      Schema.String,
      Schema.Struct({
        operationId: Schema.String,
        "x-code-samples": Schema.Array(Schema.Struct({ label: Schema.String, source: Schema.String }))
      })
    )
  )
})

const samples = Object.values(Schema.decodeUnknownSync(Document)(OpenApiDocument.make()).paths)
  .flatMap((methods) => Object.values(methods))
  .flatMap(({ operationId, "x-code-samples": list }) => list.map((sample) => ({ operationId, ...sample })))

const of = (label: string) => samples.filter((sample) => sample.label === label)

const run = (command: string, ...args: ReadonlyArray<string>) =>
  promisify(execFile)(command, args, { cwd: folder }).catch(
    (error: { readonly stdout: string; readonly stderr: string }) => error
  )

const python = "/usr/bin/python3"

describe("the code samples", () => {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })

  it("call every operation in curl, fetch, Python and with this client", () => {
    const operations = new Set(samples.map(({ operationId }) => operationId))
    expect(operations.size).toBeGreaterThan(40)
    for (const label of ["curl", "TypeScript", "fetch", "Python"]) {
      expect([label, of(label).map(({ operationId }) => operationId)]).toEqual([label, [...operations]])
    }
  })

  it("in TypeScript compile", async () => {
    for (const label of ["TypeScript", "fetch"]) {
      for (const { operationId, source } of of(label)) {
        writeFileSync(join(folder, `${label}-${operationId}.ts`), `${source}\nexport {}\n`)
      }
    }
    const compilerOptions = {
      lib: ["ES2024", "DOM", "DOM.Iterable"],
      composite: false,
      declaration: false,
      declarationMap: false,
      noEmit: true,
      noUnusedLocals: false
    }
    const config = { extends: "../../../../tsconfig.base.json", compilerOptions, include: ["*.ts"] }
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config))
    const { stdout } = await run(join(root, "../../node_modules/.bin/tsc"), "-p", ".", "--pretty", "false")
    expect(stdout).toBe("")
  })

  it("in the shell are complete", async () => {
    for (const { operationId, source } of of("curl")) {
      const { stderr } = await run("bash", "--norc", "-n", "-c", source)
      expect([operationId, stderr]).toEqual([operationId, ""])
    }
  })

  it.skipIf(!existsSync(python))("in Python are complete", async () => {
    const sources = of("Python").map(({ source }) => source)
    const program = "import ast, json, sys\nfor source in json.loads(sys.argv[1]): ast.parse(source)"
    const { stderr } = await run(python, "-c", program, JSON.stringify(sources))
    expect(stderr).toBe("")
  })
})
