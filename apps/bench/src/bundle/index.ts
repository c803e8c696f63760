/**
 * Fourth table: the size of a page that makes one rerank call, minified and gzipped, built with
 * Vite's default settings.
 */
import { fileURLToPath } from "node:url"
import { constants, gzipSync } from "node:zlib"
import { build } from "vite"

/** The pages, one per file in `pages/`. */
export const pages = [
  { name: "@model-gateway/browser, one function", page: "this-project" },
  { name: "@model-gateway/browser, all methods", page: "all-methods" },
  { name: "@model-gateway/core over fetch", page: "core-fetch" },
  { name: "@model-gateway/ai-sdk, without ai", page: "ai-sdk" },
  { name: "Effect by hand", page: "effect-by-hand" },
  { name: "@openrouter/sdk, one function", page: "openrouter-function" },
  { name: "@openrouter/sdk, class", page: "openrouter-class" },
  { name: "openai", page: "openai" },
  { name: "cohere-ai", page: "cohere-ai" }
] as const

export type Page = (typeof pages)[number]["page"]

/** The size of all of a page's scripts in bytes. */
export interface Size {
  readonly minified: number
  readonly gzipped: number
}

/**
 * Targets of a page that imports one function, gzipped: 50 KB in total, and 7 KB more than
 * handwritten Effect code. The provider for the AI SDK adds at most 25 KB to the same call of the
 * client. KB are 1000 bytes, as in Vite.
 */
export const targets = { gzipped: 50_000, overEffect: 7_000, adapterOverCore: 25_000 }

// The compiled module next to this file, or the source if a test imports it.
const extension = import.meta.url.endsWith(".ts") ? "ts" : "js"

const chunks = async (page: Page) => {
  const built = await build({
    configFile: false,
    logLevel: "silent",
    define: { "process.env.NODE_ENV": JSON.stringify("production") },
    build: {
      write: false,
      modulePreload: false,
      rolldownOptions: { input: fileURLToPath(new URL(`./pages/${page}.${extension}`, import.meta.url)) }
    }
  })
  return (Array.isArray(built) ? built : [built])
    .flatMap((each) => ("output" in each ? each.output : []))
    .filter((each) => each.type === "chunk")
}

/** The files whose code a page contains. */
export const modulesOf = async (page: Page): Promise<ReadonlyArray<string>> =>
  (await chunks(page)).flatMap(({ modules }) => Object.keys(modules))

export const measure = async (page: Page): Promise<Size> => {
  const sizes = (await chunks(page)).map(({ code }) => ({
    minified: Buffer.byteLength(code),
    gzipped: gzipSync(code, { level: constants.Z_BEST_COMPRESSION }).byteLength
  }))
  return {
    minified: sizes.reduce((sum, size) => sum + size.minified, 0),
    gzipped: sizes.reduce((sum, size) => sum + size.gzipped, 0)
  }
}

export const measureAll = async (): Promise<ReadonlyMap<Page, Size>> => {
  const sizes = new Map<Page, Size>()
  for (const { page } of pages) sizes.set(page, await measure(page))
  return sizes
}

const kilobytes = (bytes: number): string => (bytes / 1000).toFixed(1)

const verdict = (reached: boolean) => (reached ? "reached" : "missed")

/** The table. It does not depend on the load of the machine. */
export const run = async (_quick: boolean): Promise<ReadonlyArray<string>> => {
  const sizes = await measureAll()
  const size = (page: Page): Size => sizes.get(page) ?? { minified: Number.NaN, gzipped: Number.NaN }
  const ours = size("this-project").gzipped
  const byHand = size("effect-by-hand").gzipped
  const overCore = size("ai-sdk").gzipped - size("core-fetch").gzipped
  const rows = pages.map(({ name, page }) => {
    const { gzipped, minified } = size(page)
    const note =
      page === "this-project"
        ? `≤ 50 KB: ${verdict(ours <= targets.gzipped)}; ≤ 7 KB over Effect by hand: ` +
          `${kilobytes(ours - byHand)}, ${verdict(ours - byHand <= targets.overEffect)}`
        : page === "ai-sdk"
          ? `≤ 25 KB over core: ${kilobytes(overCore)}, ${verdict(overCore <= targets.adapterOverCore)}`
          : ""
    return [name, kilobytes(minified), kilobytes(gzipped), (gzipped / ours).toFixed(2), note] as const
  })
  const header = ["page", "min KB", "gzip KB", "× ours", ""] as const
  const table = [header, ...rows].map(([name, ...numbers]) =>
    `${name.padEnd(38)}${numbers.map((cell, i) => (i < 3 ? cell.padStart(10) : `   ${cell}`)).join("")}`.trimEnd()
  )
  return [["Bundle: a page that makes one rerank call", ...table, ""].join("\n")]
}
