/** What the commands print: help and error messages, tables for people, JSON for programs. */
import { Console, type Effect } from "effect"
import { CliOutput, Flag } from "effect/cli"

const formatter = CliOutput.defaultFormatter({ colors: process.stdout.isTTY && !process.env.NO_COLOR })

/** Help and version go to stdout. Each error of an invocation is one sentence on stderr. */
export const layerPresenter = CliOutput.layerPresenter({
  present: (event) => {
    switch (event._tag) {
      case "Help":
        return Console.log(formatter.formatHelpDoc(event.helpDoc))
      case "Version":
        return Console.log(event.version)
      case "InvalidInvocation":
        return Console.error(
          [
            ...event.errors.map((error) => error.message.replaceAll(/\s*\n\s*/g, " ")),
            `See ${event.commandPath.join(" ")} --help.`
          ].join("\n")
        )
    }
  }
})

/** The flag of every command that has something for programs. */
export const jsonFlag = Flag.Boolean("json").pipe(
  Flag.withDescription("Print JSON and nothing else on standard output, for programs"),
  Flag.withDefault(false)
)

/** A value for a program to read. */
export const json = (value: unknown): Effect.Effect<void> => Console.log(JSON.stringify(value, null, 2))

/**
 * Escapes control and direction characters: names are free text and could otherwise control the
 * terminal.
 */
export const printable = (text: string): string =>
  text.replaceAll(
    /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`
  )

/** A text from elsewhere for a sentence, which must not be as long as a file. */
export const shortened = (text: string): string => (text.length > 100 ? `${text.slice(0, 100)}…` : text)

/** The sentence of a text that may lack its capital letter and its period. */
export const sentence = (text: string): string => {
  const [first = ""] = text
  return `${first.toUpperCase()}${text.slice(first.length)}${/[.!?]$/.test(text) ? "" : "."}`
}

/** Columns of the terminal, or of `COLUMNS` where stdout is no terminal. Default: unlimited. */
const terminalWidth = (): number => process.stdout.columns ?? (Number(process.env.COLUMNS) || Infinity)

const padEnd = (text: string, width: number): string =>
  text + " ".repeat(Math.max(0, width - CliOutput.displayWidth(text)))

/**
 * Rows under headings, each column as wide as its widest cell. Where the lines would not fit the
 * terminal, each row becomes a block of lines instead, one per column.
 */
export const table = (
  headings: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<string>>,
  maxWidth: number = terminalWidth()
): string => {
  const all = [headings, ...rows].map((row) => row.map(printable))
  const widths = headings.map((_, column) => Math.max(...all.map((row) => CliOutput.displayWidth(row[column] ?? ""))))
  const lines = all.map((row) =>
    row
      .map((cell, column) => padEnd(cell, widths[column] ?? 0))
      .join("  ")
      .trimEnd()
  )
  if (lines.every((line) => CliOutput.displayWidth(line) <= maxWidth)) return lines.join("\n")
  return rows
    .map((row) => fields(headings.map((heading, column) => [heading.toLowerCase(), row[column] ?? ""])))
    .join("\n\n")
}

/** One name and value per line, the values aligned. */
export const fields = (entries: ReadonlyArray<readonly [name: string, value: string]>): string => {
  const width = Math.max(...entries.map(([name]) => name.length))
  return entries.map(([name, value]) => `  ${name.padEnd(width)}  ${printable(value)}`).join("\n")
}
