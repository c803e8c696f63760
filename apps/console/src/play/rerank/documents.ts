/** Reads documents from pasted text: a line each, CSV or JSON Lines. */

/** A document of a request. */
export type Document = string | { readonly text?: string; readonly image?: string }

export const formats = ["auto", "lines", "csv", "jsonl"] as const

export type Format = (typeof formats)[number]

/** What was read. */
export interface Documents {
  readonly format: Exclude<Format, "auto">
  readonly documents: ReadonlyArray<Document>
  /** The columns of CSV. */
  readonly columns: ReadonlyArray<string>
  /** The column that has the text. */
  readonly column: string | undefined
  /** Why the text cannot be read, with its line. */
  readonly problem: string | undefined
}

/** The names of a column or field with the text, most likely first. */
const textNames = ["text", "document", "content", "body", "passage", "title"]

const isTextName = (name: string): boolean => textNames.includes(name.trim().toLowerCase())

const separators = [",", ";", "\t"]

/**
 * Reads CSV (RFC 4180): cells may be in quotes, and have line breaks and doubled quotes in them.
 */
export const readCsv = (text: string): ReadonlyArray<ReadonlyArray<string>> => {
  const source = text.replace(/^\uFEFF/, "")
  const head = source.split(/\r?\n/, 1)[0] ?? ""
  const counts = separators.map((separator) => head.split(separator).length)
  const separator = separators[counts.indexOf(Math.max(...counts))] ?? ","
  const rows: Array<ReadonlyArray<string>> = []
  let row: Array<string> = []
  let cell = ""
  let isQuoted = false
  const endRow = () => {
    row.push(cell)
    cell = ""
    if (row.some((each) => each.trim() !== "")) rows.push(row)
    row = []
  }
  for (let at = 0; at < source.length; at++) {
    const character = source.charAt(at)
    if (isQuoted) {
      if (character !== '"') cell += character
      else if (source.charAt(at + 1) === '"') {
        cell += '"'
        at++
      } else isQuoted = false
    } else if (character === '"' && cell === "") isQuoted = true
    else if (character === separator) {
      row.push(cell)
      cell = ""
    } else if (character === "\n") endRow()
    else if (character !== "\r" || source.charAt(at + 1) !== "\n") cell += character
  }
  if (cell !== "" || row.length > 0) endRow()
  return rows
}

const isRecord = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** A JSON value as a document. Undefined: it is not one. */
const documentOf = (value: unknown): Document | undefined => {
  if (typeof value === "string") return value
  if (!isRecord(value)) return undefined
  const image = typeof value["image"] === "string" ? value["image"] : undefined
  const name = textNames.find((each) => typeof value[each] === "string")
  const text = name === undefined ? undefined : value[name]
  if (image !== undefined) return typeof text === "string" ? { text, image } : { image }
  return typeof text === "string" ? text : JSON.stringify(value)
}

const lines = (text: string): ReadonlyArray<readonly [number: number, line: string]> =>
  text.split(/\r?\n/).flatMap((line, index) => (line.trim() === "" ? [] : [[index + 1, line.trim()] as const]))

const readJsonl = (text: string): Documents => {
  const documents: Array<Document> = []
  for (const [number, line] of lines(text)) {
    let value: unknown
    try {
      value = JSON.parse(line)
    } catch {
      return failed("jsonl", `Line ${number} is not JSON.`)
    }
    const document = documentOf(value)
    if (document === undefined) return failed("jsonl", `Line ${number} is neither a text nor an object.`)
    documents.push(document)
  }
  return { format: "jsonl", documents, columns: [], column: undefined, problem: undefined }
}

const failed = (format: Documents["format"], problem: string): Documents => ({
  format,
  documents: [],
  columns: [],
  column: undefined,
  problem
})

const readTable = (text: string, wanted: string): Documents => {
  const [head = [], ...rows] = readCsv(text)
  const columns = head.map((name) => name.trim())
  const column = columns.find((name) => name === wanted) ?? columns.find(isTextName) ?? columns[0]
  const at = columns.findIndex((name) => name === column)
  const documents = rows.map((row) => row[at] ?? "").filter((cell) => cell.trim() !== "")
  return { format: "csv", documents, columns, column, problem: undefined }
}

const guess = (text: string): Documents["format"] => {
  const [first] = lines(text)
  if (first === undefined) return "lines"
  if (/^[{"]/.test(first[1])) {
    try {
      JSON.parse(first[1])
      return "jsonl"
    } catch {
      // A line that begins like JSON.
    }
  }
  const [head = []] = readCsv(first[1])
  return head.length > 1 && head.some(isTextName) ? "csv" : "lines"
}

/** Reads documents. `column`: of CSV, the column with the text. Empty: it is found by its name. */
export const read = (text: string, format: Format, column = ""): Documents => {
  const known = format === "auto" ? guess(text) : format
  switch (known) {
    case "jsonl":
      return readJsonl(text)
    case "csv":
      return readTable(text, column)
    case "lines":
      return {
        format: "lines",
        documents: lines(text).map(([, line]) => line),
        columns: [],
        column: undefined,
        problem: undefined
      }
  }
}

/** The text of a document, or what stands for its image. */
export const textOf = (document: Document): string =>
  typeof document === "string" ? document : (document.text ?? "(image)")
