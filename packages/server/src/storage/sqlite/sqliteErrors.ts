/** What the errors of `node:sqlite` mean. */

/** SQLite's primary result codes that have their own message. */
const sentenceOfCode = (code: number): string | undefined => {
  switch (code & 0xff) {
    case 5:
    case 6:
      return "The database is locked by another process."
    case 8:
      return "The database is read-only."
    case 10:
      return "The disk holding the database failed."
    case 11:
    case 26:
      return "The file is not a SQLite database or is damaged."
    case 13:
      return "The disk holding the database is full."
    case 14:
      return "The path does not lead to a readable file."
    default:
      return undefined
  }
}

const codeOf = (cause: unknown): number | undefined =>
  typeof cause === "object" && cause !== null && "errcode" in cause && typeof cause.errcode === "number"
    ? cause.errcode
    : undefined

/** One sentence for an error, or `undefined` if only a general one applies. */
export const describe = (cause: unknown): string | undefined => {
  const code = codeOf(cause)
  return code === undefined ? undefined : sentenceOfCode(code)
}

/** Whether another connection holds the lock (`SQLITE_BUSY`), so that a retry may help. */
export const isLocked = (cause: unknown): boolean => {
  const code = codeOf(cause)
  return code !== undefined && (code & 0xff) === 5
}

/** Whether the disk failed or is full. SQLite may have rolled back the transaction by itself. */
export const isOfDisk = (cause: unknown): boolean => {
  const code = codeOf(cause)
  return code !== undefined && [10, 13].includes(code & 0xff)
}
