/** Tables as CSV (RFC 4180), and files that the page offers for download. */

/** A text that begins like a formula gets an apostrophe: a spreadsheet would run it. */
const safe = (text: string): string => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text)

const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

/** A line of names, and a line for each row. */
export const csv = (
  names: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<string | number | null>>
): string => {
  const lines = rows.map((row) =>
    row.map((value) => (typeof value === "string" ? quoted(safe(value)) : String(value ?? ""))).join(",")
  )
  return `${[names.join(","), ...lines].join("\r\n")}\r\n`
}

/** Saves a text as a file. */
export const download = (name: string, type: string, text: string): void => {
  const address = URL.createObjectURL(new Blob([text], { type }))
  const link = document.createElement("a")
  link.href = address
  link.download = name
  link.click()
  URL.revokeObjectURL(address)
}
