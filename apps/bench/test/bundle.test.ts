// A size that grows by more than 5 % fails here. To accept it, in apps/bench:
//   UPDATE_BUNDLE_SIZES=1 ../../node_modules/.bin/vitest run test/bundle.test.ts
// It measures the output of `pnpm build`: tsc alone omits the comments by which bundlers drop
// unused code.
import { readFileSync, writeFileSync } from "node:fs"
import { Schema } from "effect"
import { expect, it } from "vitest"
import { measureAll, modulesOf, type Page, pages, type Size, targets } from "../src/bundle/index.ts"

const file = new URL("./bundle-sizes.json", import.meta.url)

const Baseline = Schema.Record(Schema.String, Schema.Struct({ minified: Schema.Int, gzipped: Schema.Int }))

const baselineOf = (page: Page): Size => {
  const size = Schema.decodeSync(Schema.fromJsonString(Baseline))(readFileSync(file, "utf8"))[page]
  if (size === undefined) throw new Error(`${page} has no baseline`)
  return size
}

const sizes = await measureAll()

const sizeOf = (page: Page): Size => {
  const size = sizes.get(page)
  if (size === undefined) throw new Error(`${page} was not measured`)
  return size
}

if (process.env["UPDATE_BUNDLE_SIZES"]) {
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(sizes), null, 2)}\n`)
}

it.each(pages)("$name grew by no more than 5 %", ({ page }) => {
  const baseline = baselineOf(page)
  expect(sizeOf(page).gzipped).toBeLessThanOrEqual(baseline.gzipped * 1.05)
  // A baseline that is far too large would let a page grow unseen.
  expect(sizeOf(page).gzipped).toBeGreaterThan(baseline.gzipped * 0.9)
})

it("a page with this project is at most 50 KB gzipped, and 7 KB more than with Effect alone", () => {
  expect(sizeOf("this-project").gzipped).toBeLessThanOrEqual(targets.gzipped)
  expect(sizeOf("this-project").gzipped - sizeOf("effect-by-hand").gzipped).toBeLessThanOrEqual(targets.overEffect)
})

it("a page with the provider for the AI SDK is at most 25 KB larger, gzipped, than one with the client's own call", () => {
  expect(sizeOf("ai-sdk").gzipped - sizeOf("core-fetch").gzipped).toBeLessThanOrEqual(targets.adapterOverCore)
})

it("a page with all methods contains no code that makes the OpenAPI document, and no endpoints", async () => {
  const modules = await modulesOf("all-methods")
  expect(modules.filter((module) => module.endsWith("/core/dist/Gateway.js"))).toHaveLength(1)
  expect(modules.filter((module) => /open-?api|http-api/i.test(module))).toEqual([])
})
