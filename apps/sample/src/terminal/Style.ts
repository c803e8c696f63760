/** Formats text for the terminal. */

/** Colors and weights of text. */
export interface Style {
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
  readonly green: (text: string) => string
  readonly red: (text: string) => string
  readonly yellow: (text: string) => string
}

const code =
  (on: number, off: number) =>
  (text: string): string =>
    `\u001b[${on}m${text}\u001b[${off}m`

const unchanged = (text: string): string => text

/** With ANSI colors. */
export const colored: Style = {
  bold: code(1, 22),
  dim: code(2, 22),
  green: code(32, 39),
  red: code(31, 39),
  yellow: code(33, 39)
}

/** Without formatting. */
export const plain: Style = {
  bold: unchanged,
  dim: unchanged,
  green: unchanged,
  red: unchanged,
  yellow: unchanged
}

/** Puts text of a gateway on one line and removes control characters, such as escape sequences. */
export const clean = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, " ").trim()

/** Cuts the text to at most `width` characters. */
export const clip = (text: string, width: number): string =>
  text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`

/**
 * Wraps the text between words into lines of at most `width` characters. A longer word gets its own
 * line.
 */
export const wrap = (text: string, width: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  for (const word of text.split(" ")) {
    const last = lines.at(-1)
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines
}

/** Draws a bar. `share` is from 0 to 1. */
export const bar = (share: number, width: number): string => {
  const eighths = Math.round(Math.min(1, Math.max(0, share)) * width * 8)
  const partial = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8] ?? ""
  return "█".repeat(Math.floor(eighths / 8)) + partial
}
