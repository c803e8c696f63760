import { readFileSync } from "node:fs"
import { expect } from "vitest"

const row = (cells: ReadonlyArray<string>): string => `| ${cells.join(" | ")} |`

/** A table in Markdown. */
export const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string =>
  [row(head), row(head.map(() => "---")).replaceAll(" ", ""), ...rows.map(row)].join("\n")

/** Expects the tables between the marks of a page to be these. `vitest run --update` writes them. */
export const expectTables = async (page: URL, tables: ReadonlyArray<string>): Promise<void> => {
  const begin = "<!-- results -->\n"
  const end = "\n<!-- end of results -->"
  const results = `${begin}\n${tables.join("\n\n")}\n${end}`
  const written = readFileSync(page, "utf8").replace(new RegExp(`${begin}[^]*${end}`), () => results)
  expect(written).toContain(results)
  await expect(written).toMatchFileSnapshot(page.pathname)
}
