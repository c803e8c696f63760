/**
 * The pages of docs/client/migrate: their code compiles with the types of each client, and what
 * stands under "Before" and "After" prints the same when it calls a gateway. The test of
 * compatibility runs this on one of its gateways.
 */
import { DtmfTone } from "@model-gateway/sandbox"
import { Schema } from "effect"
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { root, run, succeed } from "@model-gateway/test-services/Command"
import type { CompatibleGateway } from "./Gateways.ts"

interface Program {
  readonly page: string
  readonly heading: string
  /** `Before`, `After`, or `Before, with paths that this gateway does not have`. */
  readonly label: string
  readonly code: string
  readonly file: string
}

/** In this package, so that its dependencies are found. */
const folder = join(root, "tests/consumers/dist/migrate")

const programs: ReadonlyArray<Program> = globSync("docs/client/migrate/*.md", { cwd: root })
  .toSorted()
  .flatMap((path) => {
    const page = basename(path, ".md")
    const sections = readFileSync(join(root, path), "utf8").split(/^## /m).slice(1)
    return sections.flatMap((section) => {
      const heading = section.slice(0, section.indexOf("\n"))
      const blocks = section.matchAll(/^(Before[^\n]*|After):\n\n```ts\n([^]*?)^```$/gm)
      return Array.from(blocks, ([, label = "", code = ""]) => {
        const name = `${page}-${heading}-${label.split(",")[0]}`.toLowerCase().replaceAll(/[^a-z]+/g, "-")
        return { page, heading, label, code: `${code}\nexport {}\n`, file: `${name}.ts` }
      })
    })
  })

/**
 * Imports each file, and writes what all of them print as JSON. One process loads each client once.
 */
const runner = `
import { format } from "node:util"
const log = console.log
const printed = {}
for (const file of process.argv.slice(2)) {
  printed[file] = []
  console.log = (...values) => printed[file].push(format(...values))
  try { await import("./" + file) } catch (error) { printed[file].push(format(error)) }
}
log(JSON.stringify(printed))
process.exit()
`

const Printed = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Array(Schema.String)))

/** Compiled beside the pages, whose programs have the types of the DOM: the default `lib`. */
const served = `
import type { Client } from "@model-gateway/node/promise"
export const serve = (gateway: Client, id: string): Response => new Response(gateway.videoContent(id))
`

const compilerOptions = {
  target: "ESNext",
  module: "NodeNext",
  types: ["node"],
  strict: true,
  noEmit: true,
  skipLibCheck: true
}

/** `gateway` is called when the programs run. */
export const migrationTests = (gateway: () => CompatibleGateway) => {
  let data: string
  let printed: typeof Printed.Type

  beforeAll(async () => {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    for (const { code, file } of programs) writeFileSync(join(folder, file), code)
    writeFileSync(join(folder, "served.ts"), served)
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }))
    writeFileSync(join(folder, "run.mjs"), runner)
    data = mkdtempSync(join(tmpdir(), "model-gateway-"))
    writeFileSync(join(data, "call.wav"), DtmfTone.wav("555 0199"))
    const { baseUrl, key } = gateway()
    const env = { MODEL_GATEWAY_BASE_URL: baseUrl, MODEL_GATEWAY_API_KEY: key }
    const runnable = programs.filter(({ label }) => !label.includes(",")).map(({ file }) => file)
    const output = await succeed(process.execPath, [join(folder, "run.mjs"), ...runnable], { cwd: data, env })
    printed = Schema.decodeSync(Printed)(output)
    // A busy machine needs most of it to load the clients.
  }, 120_000)

  afterAll(() => rmSync(data, { recursive: true, force: true }))

  it("compile with the types of each client, and a download as the body of a `Response`", async () => {
    const { stdout } = await run("tsc", ["--pretty", "false"], { cwd: folder })
    expect(stdout).toBe("")
  })

  it("have pairs of programs", () => {
    expect(new Set(programs.map(({ page }) => page)).size).toBe(5)
    expect(programs.length).toBeGreaterThan(20)
    for (const [index, { heading, label, page }] of programs.entries()) {
      expect(`${page} ${heading} ${label}`).toContain(index % 2 === 0 ? " Before" : " After")
    }
  })

  it("run without a failure", () => {
    const lines = Object.values(printed)
    expect(lines.filter(([first]) => first === undefined)).toEqual([])
    expect(lines.flat().filter((line) => line.includes("Error"))).toEqual([])
  })

  it.each(programs.flatMap((before, index) => (before.label === "Before" ? [{ before, index }] : [])))(
    "print the same before and after: $before.page, $before.heading",
    ({ before, index }) => {
      expect(printed[before.file]).toEqual(printed[programs[index + 1]?.file ?? ""])
    }
  )
}
