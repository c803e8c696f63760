// What the playground loads before the first task can be used.
import { readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"

const web = join(import.meta.dirname, "../../dist/web")

interface Chunk {
  readonly file: string
  readonly css?: ReadonlyArray<string>
  readonly imports?: ReadonlyArray<string>
}

type Manifest = { readonly [source: string]: Chunk }

/** The files of a chunk and of all that it needs. */
const filesOf = (manifest: Manifest, source: string, found = new Set<string>()): Set<string> => {
  const chunk = manifest[source]
  if (chunk === undefined) throw new Error(`${source} is not in the manifest`)
  if (found.has(chunk.file)) return found
  found.add(chunk.file)
  for (const css of chunk.css ?? []) found.add(css)
  for (const other of chunk.imports ?? []) filesOf(manifest, other, found)
  return found
}

it("is at most 90 KB in Brotli, of which React is 59", () => {
  const manifest = JSON.parse(readFileSync(join(web, ".vite/manifest.json"), "utf8")) as Manifest
  const files = filesOf(manifest, "play/rerank/Rerank.tsx", filesOf(manifest, "play.html"))
  const sizes = [...files].map((file) => [file, statSync(join(web, `${file}.br`)).size] as const)
  const total = sizes.reduce((sum, [, size]) => sum + size, statSync(join(web, "play.html.br")).size)
  expect(total, JSON.stringify(sizes)).toBeGreaterThan(60_000)
  expect(total, JSON.stringify(sizes)).toBeLessThan(90_000)
})
