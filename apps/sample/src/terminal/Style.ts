/** Colours, where they are wanted. */

/** Ways to set text apart. */
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

const same = (text: string): string => text

/** With ANSI colours. */
export const coloured: Style = {
  bold: code(1, 22),
  dim: code(2, 22),
  green: code(32, 39),
  red: code(31, 39),
  yellow: code(33, 39)
}

/** As it is. */
export const plain: Style = { bold: same, dim: same, green: same, red: same, yellow: same }

/** What a gateway says, on one line and without what would steer the terminal. */
export const clean = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, " ").trim()

/** Cut to so many characters. */
export const clip = (text: string, width: number): string =>
  text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`

/**
 * Broken between words into lines of at most so many characters; a longer word has a line of its
 * own.
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

/** A bar that is full to a share from 0 to 1. */
export const bar = (share: number, width: number): string => {
  const eighths = Math.round(Math.min(1, Math.max(0, share)) * width * 8)
  const partial = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8] ?? ""
  return "█".repeat(Math.floor(eighths / 8)) + partial
}
