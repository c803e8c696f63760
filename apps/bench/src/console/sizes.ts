/** The size of the console and the playground, as Vite's manifest says which files a page loads. */
import { existsSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"

/** Bounds in bytes, compressed with Brotli. KB are 1000 bytes, as in Vite. */
export const bounds = { overview: 130_000, page: 20_000, playground: 70_000 }

/** An entry of the manifest. */
interface Chunk {
  readonly file: string
  readonly css?: ReadonlyArray<string>
  /** Loaded with it. */
  readonly imports?: ReadonlyArray<string>
  /** Loaded when they are needed. */
  readonly dynamicImports?: ReadonlyArray<string>
}

type Manifest = Readonly<Record<string, Chunk>>

export interface Size {
  readonly name: string
  readonly bytes: number
  /** Undefined: it is a part of something that has one. */
  readonly bound?: number
}

/** The pages of the console, and the tasks of the playground. Nobody loads all of them. */
const isPage = (source: string): boolean => /^pages\/\w+\.tsx$/.test(source) || /^play\/(\w+)\/\w+\.tsx$/.test(source)

const nameOf = (source: string): string => /(\w+)\.\w+$/.exec(source)?.[1] ?? source

/**
 * All that a page loads: what it imports, and what it loads later, such as the code of charts.
 * Other pages are left out.
 */
const filesOf = (manifest: Manifest, source: string): ReadonlySet<string> => {
  const files = new Set<string>()
  const seen = new Set<string>()
  const add = (of: string): void => {
    const chunk = manifest[of]
    if (chunk === undefined) throw new Error(`The manifest has no ${of}`)
    if (seen.has(of)) return
    seen.add(of)
    for (const file of [chunk.file, ...(chunk.css ?? [])]) files.add(file)
    for (const other of chunk.imports ?? []) add(other)
    for (const other of chunk.dynamicImports ?? []) if (!isPage(other)) add(other)
  }
  add(source)
  return files
}

/** As it is sent: files that are too small to be compressed are sent as they are. */
const bytesOf = (folder: string, file: string): number => {
  const path = join(folder, file)
  return statSync(existsSync(`${path}.br`) ? `${path}.br` : path).size
}

/** Measures the pages in the folder that the console's build has written. */
export const measure = (folder: string): ReadonlyArray<Size> => {
  const manifest: Manifest = JSON.parse(readFileSync(join(folder, ".vite/manifest.json"), "utf8")) as Manifest
  const sum = (files: Iterable<string>) => [...files].reduce((total, file) => total + bytesOf(folder, file), 0)
  const together = (...sources: ReadonlyArray<string>) =>
    new Set(sources.flatMap((source) => [...filesOf(manifest, source)]))

  const overviewPage = "pages/Overview.tsx"
  const overview = together("console/index.html", overviewPage)
  const shell = filesOf(manifest, "console/index.html")
  const charts = [...filesOf(manifest, "parts/Plot.tsx")].filter((file) => !shell.has(file))
  const sources = Object.keys(manifest).filter(isPage)
  const further = sources.filter((source) => source.startsWith("pages/") && source !== overviewPage)
  const tasks = sources.filter((source) => source.startsWith("play/"))
  return [
    {
      name: "console: shell and overview",
      bytes: sum([...overview, "console/index.html"]),
      bound: bounds.overview
    },
    { name: "  of that, charts", bytes: sum(charts) },
    ...further.map((source) => ({
      name: `console: ${nameOf(source)}, more than that`,
      bytes: sum([...filesOf(manifest, source)].filter((file) => !overview.has(file))),
      bound: bounds.page
    })),
    ...tasks.map((source) => ({
      name: `playground: with ${nameOf(source)}`,
      bytes: sum([...together("play.html", source), "play.html"]),
      bound: bounds.playground
    }))
  ]
}
