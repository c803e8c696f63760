/** Accessibility problems that axe finds in a page. */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type axe from "axe-core"
import type { Page } from "playwright-core"

const source = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8")

/** Runs the script of axe, once. It bypasses the page's policy, which forbids other scripts. */
export const loadAxe = async (page: Page): Promise<void> => {
  if (await page.evaluate(() => "axe" in globalThis)) return
  await page.evaluate(source)
}

/** The problems that axe finds in the current page, as text. */
export const findings = (page: Page): Promise<ReadonlyArray<string>> =>
  page.evaluate(async () => {
    const { axe: checker } = globalThis as typeof globalThis & { readonly axe: typeof axe }
    const { violations } = await checker.run(document, {
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
      // Nobody reads the rest, and a large page has thousands.
      resultTypes: ["violations"]
    })
    return violations.flatMap(({ help, id, impact, nodes }) =>
      nodes.map((node) => `${impact} ${id}: ${help}: ${node.html} ${node.failureSummary}`)
    )
  })

/** The problems of the current page in light and in dark. It follows the system at once. */
export const findingsInBoth = async (page: Page) => {
  await page.emulateMedia({ colorScheme: "dark" })
  const dark = await findings(page)
  await page.emulateMedia({ colorScheme: "light" })
  return { dark, light: await findings(page) }
}
