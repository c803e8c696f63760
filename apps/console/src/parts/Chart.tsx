/**
 * A chart over time: stacked bars or lines, with a legend, and the same figures as a table. The code
 * that draws is loaded when the first chart is shown.
 */
import { lazy, Suspense, useState } from "react"
import { Table } from "./Table.tsx"
import { time } from "./format.ts"

export interface Series {
  readonly name: string
  /** One figure for each time. Null: none. */
  readonly values: ReadonlyArray<number | null>
  /** From 1 to 8. Undefined: that of its place. */
  readonly color?: number | undefined
}

export const colorOf = ({ color }: Series, index: number): number => color ?? (index % 8) + 1

export interface ChartProps {
  /** What the chart shows. */
  readonly label: string
  readonly kind: "bars" | "lines"
  /** The start of each interval, in milliseconds. */
  readonly times: ReadonlyArray<number>
  /** At most eight have a color of their own. */
  readonly series: ReadonlyArray<Series>
  readonly format: (value: number) => string
  /** Is called with a range of times that was dragged over. */
  readonly onRange?: ((from: number, to: number) => void) | undefined
}

const Plot = lazy(() => import("./Plot.tsx"))

export const Chart = (props: ChartProps) => {
  const [asTable, setAsTable] = useState(false)
  const { format, label, onRange, series, times } = props
  return (
    <figure className="chart">
      <figcaption>
        <span>
          {label}
          {onRange !== undefined && !asTable && <span className="hint drag"> Drag over it to choose a time.</span>}
        </span>
        <button type="button" className="quiet" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
          {asTable ? "Show as chart" : "Show as table"}
        </button>
      </figcaption>
      {asTable ? (
        <Table
          label={label}
          rows={times.map((_, index) => index)}
          rowKey={String}
          columns={[
            {
              key: "time",
              title: "From (UTC)",
              width: "11rem",
              cell: (index) => time(new Date(times[index] ?? 0).toISOString())
            },
            ...series.map(({ name, values }, position) => ({
              key: String(position),
              title: name,
              width: "minmax(7rem, 1fr)",
              align: "right" as const,
              cell: (index: number) => {
                const value = values[index]
                return value == null ? "" : format(value)
              }
            }))
          ]}
        />
      ) : (
        <Suspense fallback={<div className="plot" />}>
          <Plot {...props} />
        </Suspense>
      )}
      {!asTable && series.length > 1 && (
        <ul className="legend">
          {series.map((one, index) => (
            <li key={one.name}>
              <span className={`swatch series-${colorOf(one, index)}`} />
              {one.name}
            </li>
          ))}
        </ul>
      )}
    </figure>
  )
}
