/** The families and labels of `/metrics` as tables in Markdown, as the documentation has them. */
import type { Family } from "../../src/observability/MetricFamily.ts"
import * as Metrics from "../../src/observability/Metrics.ts"
import * as ProcessMetrics from "../../src/observability/ProcessMetrics.ts"

/** Every family of `/metrics`. */
export const families: ReadonlyArray<Family> = [...Metrics.families, ...ProcessMetrics.families]

const code = (text: string): string => `\`${text}\``

const scopes = { process: "this process", all: "all processes" } as const

/** One row a family. */
export const familiesTable = (): string =>
  [
    "| Family | Type | Labels | Counts | Meaning |",
    "|---|---|---|---|---|",
    ...families.map(
      ({ help, labels, name, scope, type }) =>
        `| ${code(name)} | ${type} | ${labels.map(code).join(", ") || "none"} | ${scopes[scope]} | ${help} |`
    )
  ].join("\n") + "\n"

/** One row a label. */
export const labelsTable = (): string =>
  [
    "| Label | Values |",
    "|---|---|",
    ...Object.entries(Metrics.labels).map(([name, values]) => `| ${code(name)} | ${values} |`),
    // The executable adds it, see WorkerMetrics.ts.
    "| `worker` | with `--workers` of 2 or more, the number of the worker |"
  ].join("\n") + "\n"
