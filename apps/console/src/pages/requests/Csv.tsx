/** Saves all rows that the filters select, up to a bound, as CSV. */
import { useState } from "react"
import { count } from "../../parts/format.ts"
import { csv, download } from "../../parts/csv.ts"
import { Icon } from "../../parts/Icon.tsx"
import { Problem } from "../../parts/Problem.tsx"

/** The most rows of a file. */
const most = 10_000

interface PageOf<Row> {
  readonly data: ReadonlyArray<Row>
  readonly next: string | null
}

/** Reads pages until there are no more, or enough rows. */
const readAll = async <Row,>(
  read: (after: string | undefined) => Promise<PageOf<Row>>
): Promise<{ readonly rows: ReadonlyArray<Row>; readonly isWhole: boolean }> => {
  const rows: Array<Row> = []
  let after: string | undefined
  do {
    const page = await read(after)
    rows.push(...page.data)
    after = page.next ?? undefined
  } while (after !== undefined && rows.length < most)
  return { rows: rows.slice(0, most), isWhole: after === undefined && rows.length <= most }
}

type Cell = string | number | null

export const CsvButton = <Row,>({
  columns,
  name,
  read
}: {
  /** The name of the file, without `.csv`. */
  readonly name: string
  readonly columns: ReadonlyArray<readonly [title: string, cell: (row: Row) => Cell]>
  /** Reads a page of the list. */
  readonly read: (after: string | undefined) => Promise<PageOf<Row>>
}) => {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Error>()
  const [note, setNote] = useState("")
  const save = async () => {
    setBusy(true)
    setError(undefined)
    try {
      const { isWhole, rows } = await readAll(read)
      const lines = rows.map((row) => columns.map(([, cell]) => cell(row)))
      download(
        `${name}.csv`,
        "text/csv; charset=utf-8",
        csv(
          columns.map(([title]) => title),
          lines
        )
      )
      setNote(
        isWhole ? `${count(rows.length)} rows saved.` : `Saved the newest ${count(rows.length)} rows. There are more.`
      )
    } catch (cause) {
      setError(cause instanceof Error ? cause : new Error(String(cause)))
    } finally {
      setBusy(false)
    }
  }
  return (
    <>
      <button type="button" disabled={busy} title={`At most ${count(most)} rows`} onClick={() => void save()}>
        <Icon name="download" />
        {busy ? "Reading …" : "CSV"}
      </button>
      <span className="hint" role="status">
        {note}
      </span>
      {error !== undefined && <Problem what="The file could not be made" error={error} />}
    </>
  )
}
