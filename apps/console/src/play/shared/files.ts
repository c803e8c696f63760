/** Files that the page makes. */

/** Saves a text as a file. */
export const save = (name: string, type: string, text: string): void => {
  const url = URL.createObjectURL(new Blob([text], { type }))
  const link = document.createElement("a")
  link.href = url
  link.download = name
  link.click()
  // The browser reads it after the click.
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

/** A row of CSV. Texts that a spreadsheet would run as formulas get an apostrophe. */
export const csvRow = (cells: ReadonlyArray<string | number>): string =>
  cells
    .map((cell) => {
      const text = typeof cell === "string" && /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : String(cell)
      return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
    })
    .join(",")
