/**
 * A table of rows. Only the rows in view are in the document, so 10,000 rows scroll as 30 do. On
 * narrow screens it scrolls sideways within its own frame.
 */
import { useVirtualizer } from "@tanstack/react-virtual"
import { type ReactNode, useMemo, useRef, useState } from "react"
import { Icon } from "./Icon.tsx"

export interface Column<Row> {
  /** Unique in the table. */
  readonly key: string
  readonly title: string
  readonly cell: (row: Row) => ReactNode
  /** Width as CSS of a grid, such as `8rem` or `minmax(10rem, 1fr)`. */
  readonly width: string
  /** Figures stand at the right. */
  readonly align?: "right"
  /** Its text goes on in further lines, in tables of at most 100 rows. */
  readonly wraps?: boolean
  /** What the rows are sorted by when the title is clicked. Undefined: they are not. */
  readonly sort?: (row: Row) => number | string
}

type Order = { readonly key: string; readonly descending: boolean } | undefined

const compare = (a: number | string, b: number | string): number =>
  typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b))

const sorted = <Row,>(rows: ReadonlyArray<Row>, columns: ReadonlyArray<Column<Row>>, order: Order) => {
  const by = columns.find(({ key }) => key === order?.key)?.sort
  if (order === undefined || by === undefined) return rows
  const direction = order.descending ? -1 : 1
  return rows.toSorted((a, b) => direction * compare(by(a), by(b)))
}

const rowHeight = () => (matchMedia("(pointer: coarse)").matches ? 44 : 32)

/** Fewer rows are all in the document, where the page can be searched and printed. */
const virtualFrom = 100

interface TableProps<Row> {
  /** What the table lists. */
  readonly label: string
  readonly columns: ReadonlyArray<Column<Row>>
  readonly rows: ReadonlyArray<Row>
  readonly rowKey: (row: Row) => string
  /** Opens the details of a row. */
  readonly onOpen?: (row: Row) => void
  /** The key of the row whose details are open. */
  readonly selected?: string | undefined
  /** Reads further rows, if there are any. */
  readonly more?: { readonly hasMore: boolean; readonly isReading: boolean; readonly read: () => unknown } | undefined
}

export const Table = <Row,>(props: TableProps<Row>) => {
  const { columns, label, more, onOpen, rowKey, rows, selected } = props
  // While the table scrolls, the cells of rows that stay in view are not made again. The properties
  // are others when the page is drawn again.
  const made = useMemo(() => new Map<string, ReactNode>(), [props])
  const frame = useRef<HTMLDivElement>(null)
  const [order, setOrder] = useState<Order>()
  const shown = useMemo(() => sorted(rows, columns, order), [rows, columns, order])
  const isVirtual = shown.length > virtualFrom
  const virtual = useVirtualizer({
    count: isVirtual ? shown.length : 0,
    getScrollElement: () => frame.current,
    estimateSize: rowHeight,
    overscan: 6
  })
  const template = useMemo(() => ({ gridTemplateColumns: columns.map(({ width }) => width).join(" ") }), [columns])
  const items = isVirtual
    ? virtual.getVirtualItems()
    : shown.map((_, index) => ({ index, start: undefined as number | undefined }))
  const cellsOf = (row: Row, key: string): ReactNode => {
    const cells =
      made.get(key) ??
      columns.map((column, position) => (
        <div
          key={column.key}
          role="cell"
          className={[column.align, column.wraps === true && "wraps"].filter(Boolean).join(" ") || undefined}
        >
          {position === 0 && onOpen !== undefined ? (
            <button type="button" className="open" onClick={() => onOpen(row)}>
              {column.cell(row)}
            </button>
          ) : (
            column.cell(row)
          )}
        </div>
      ))
    made.set(key, cells)
    return cells
  }
  return (
    <div className="table-frame">
      <div
        ref={frame}
        className="table"
        role="table"
        aria-label={label}
        aria-rowcount={shown.length + 1}
        data-virtual={isVirtual}
        tabIndex={0}
      >
        <div role="rowgroup" className="table-head">
          <div role="row" className="row" style={template}>
            {columns.map(({ align, key, sort, title }) => (
              <div
                key={key}
                role="columnheader"
                className={align}
                aria-sort={order?.key === key ? (order.descending ? "descending" : "ascending") : undefined}
              >
                {sort === undefined ? (
                  title
                ) : (
                  <button
                    type="button"
                    onClick={() => setOrder({ key, descending: order?.key === key ? !order.descending : true })}
                  >
                    {title}
                    {order?.key === key && <Icon name={order.descending ? "down" : "up"} />}
                  </button>
                )}
              </div>
            ))}
          </div>
        </div>
        <div
          role="rowgroup"
          className="table-body"
          {...(isVirtual && { style: { height: `${virtual.getTotalSize()}px` } })}
        >
          {items.map(({ index, start }) => {
            const row = shown[index]
            if (row === undefined) return null
            const key = rowKey(row)
            return (
              <div
                key={key}
                role="row"
                aria-rowindex={index + 2}
                className={onOpen === undefined ? "row" : "row opens"}
                data-selected={selected === key}
                style={start === undefined ? template : { ...template, transform: `translateY(${start}px)` }}
                onClick={(event) => {
                  // Clicking a button or a link, or selecting text, does not open the row.
                  if (event.target instanceof Element && event.target.closest("a, button") !== null) return
                  if (getSelection()?.isCollapsed !== false) onOpen?.(row)
                }}
              >
                {cellsOf(row, key)}
              </div>
            )
          })}
        </div>
      </div>
      {more?.hasMore === true && (
        <button type="button" className="more" disabled={more.isReading} onClick={() => more.read()}>
          {more.isReading ? "Reading …" : "Show more"}
        </button>
      )}
    </div>
  )
}
