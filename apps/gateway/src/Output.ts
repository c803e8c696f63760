/** What the commands print: help and complaints, tables for people, JSON for programs. */
import { Console, type Effect } from "effect"
import { CliOutput } from "effect/cli"

const formatter = CliOutput.defaultFormatter({ colors: process.stdout.isTTY && !process.env.NO_COLOR })

/** Help and version on stdout; what is wrong with an invocation as one sentence each on stderr, and how to get help. */
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

/** A value for a program to read. */
export const json = (value: unknown): Effect.Effect<void> => Console.log(JSON.stringify(value, null, 2))

/** Names are whatever somebody chose: what would steer a terminal is shown as what it is. */
export const printable = (text: string): string =>
  text.replaceAll(
    /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`
  )

/** Rows under headings, each column as wide as its widest cell. */
export const table = (headings: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const all = [headings, ...rows].map((row) => row.map(printable))
  const widths = headings.map((_, column) => Math.max(...all.map((row) => (row[column] ?? "").length)))
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd()
    )
    .join("\n")
}

/** Names and values, one a line, the values aligned. */
export const fields = (entries: ReadonlyArray<readonly [name: string, value: string]>): string => {
  const width = Math.max(...entries.map(([name]) => name.length))
  return entries.map(([name, value]) => `  ${name.padEnd(width)}  ${printable(value)}`).join("\n")
}
