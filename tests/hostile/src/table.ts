/** A table in Markdown. The first cell of a row is its name. */
export const table = (
  title: string,
  columns: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<string>>
): string =>
  [
    `### ${title}`,
    "",
    `| | ${columns.join(" | ")} |`,
    `|---|${columns.map(() => "---:").join("|")}|`,
    ...rows.map((cells) => `| ${cells.join(" | ")} |`),
    ""
  ].join("\n")
