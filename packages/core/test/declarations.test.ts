/** What the compiler writes into a `.d.ts` for helpers that a program exports. */
import { execFile } from "node:child_process"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, it } from "vitest"

const root = join(import.meta.dirname, "..")
const folder = join(root, "test-results", "declarations")

const code = `import { Gateway, Keys, Rerank, Transcription, Video } from "@model-gateway/core"
import { Effect } from "effect"
export const best = (q: string) => Rerank.rerank({ model: "m", query: q, documents: ["apples", "pears"] })
export const first = (q: string) => Effect.map(best(q), ({ results }) => results[0]?.document.text)
export const ranked = (q: string, documents: Array<string>) =>
  Effect.gen(function* () {
    const gateway = yield* Gateway.Gateway
    return yield* gateway.rerank({ model: "m", query: q, documents })
  })
export const method = (q: string) =>
  Effect.flatMap(Gateway.Gateway, (gateway) => gateway.rerank({ model: "m", query: q, documents: ["d"] }))
export const spoken = (file: Blob) => Transcription.transcribe({ model: "m", file })
export const filmed = (prompt: string) => Video.submitVideo({ model: "m", prompt })
export const made = (name: string) => Keys.createKey({ name })
`

const declarations = async (): Promise<ReadonlyMap<string, string>> => {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, "helpers.ts"), code)
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({
      extends: "../../../../tsconfig.base.json",
      compilerOptions: { lib: ["ES2024", "DOM", "DOM.Iterable"], composite: false, emitDeclarationOnly: true },
      include: ["helpers.ts"]
    })
  )
  const { stdout } = await promisify(execFile)(process.execPath, [
    join(root, "../../node_modules/typescript/bin/tsc"),
    "-p",
    folder
  ]).catch((error: { readonly stdout: string }) => error)
  expect(stdout).toBe("")
  const text = readFileSync(join(folder, "helpers.d.ts"), "utf8")
  return new Map(
    Array.from(text.matchAll(/^export declare const (\w+): [^]*?;$/gm), ([declaration, name = ""]) => [
      name,
      declaration
    ])
  )
}

it("a helper's declaration names the response and the errors in under 300 bytes", { timeout: 60_000 }, async () => {
  const found = await declarations()
  expect(Array.from(found.keys())).toEqual(["best", "first", "ranked", "method", "spoken", "filmed", "made"])
  for (const name of ["best", "ranked", "method"]) {
    expect(found.get(name)).toContain("Effect.Effect<Rerank.Response, Rerank.Failure, ")
  }
  for (const [name, declaration] of found) {
    expect([name, declaration, Buffer.byteLength(declaration) < 300]).toEqual([name, declaration, true])
  }
})
