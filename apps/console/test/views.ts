/** The pages of the console, for tests that look at all of them. */
import { expect } from "vitest"
import type { Site } from "@model-gateway/test-filled/Browser"
import { pageNames } from "../src/console/pages.ts"

/** Every page, and the second views of some. */
export const views: ReadonlyArray<readonly [name: string, path: string]> = [
  ...pageNames.map((name) => [name, name === "overview" ? "/console/" : `/console/${name}`] as const),
  ["usage-compared", "/console/usage?range=30d&group=key&compare=before"],
  ["requests-rejected", "/console/requests?view=rejected"],
  ["alerts-firings", "/console/alerts?view=firings"]
]

/** Waits until the page has read what it shows. */
export const isRead = async ({ page }: Site): Promise<void> => {
  await page.locator("main h1").waitFor()
  // The code of charts is read after their figures.
  const waiting = page.locator(".skeleton, [aria-busy='true'], .plot:not(:has(canvas))")
  await expect.poll(() => waiting.count(), { timeout: 60_000 }).toBe(0)
}

/** Opens the first item of a page. */
export const openDetails = async (site: Site, name: string): Promise<void> => {
  await site.go(`/console/${name}?range=30d`)
  await site.page.locator("button.open").first().click()
  await site.page.locator("dialog .facts").waitFor()
}
