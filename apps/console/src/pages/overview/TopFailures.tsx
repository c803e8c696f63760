/** The models and statuses of most failures in the range. */
import { count } from "../../parts/format.ts"
import { Loaded } from "../../parts/Loaded.tsx"
import { type Column, Table } from "../../parts/Table.tsx"
import { PageLink } from "../../shell/PageLink.tsx"
import type { Figures } from "./figures.ts"

interface TopFailure {
  readonly model: string
  readonly status: string
  readonly count: number
}

/** What `failures` has for requests without a status. */
const endings = ["failed", "cancelled", "expired"]

const failureColumns: ReadonlyArray<Column<TopFailure>> = [
  {
    key: "status",
    title: "Status",
    width: "5.5rem",
    cell: ({ model, status }) => (
      <PageLink page="requests" search={endings.includes(status) ? { model, status } : { model, error_status: status }}>
        {status}
      </PageLink>
    )
  },
  {
    key: "model",
    title: "Model",
    width: "minmax(8rem, 1fr)",
    cell: ({ model }) => <span title={model}>{model}</span>
  },
  { key: "count", title: "Requests", width: "5rem", align: "right", cell: (row) => count(row.count) }
]

export const TopFailures = ({ figures: { detailed, latestFrom } }: { readonly figures: Figures }) => (
  <section className="card" aria-labelledby="top-failures">
    <div className="bar">
      <h2 id="top-failures">What failed most</h2>
      <PageLink page="requests" search={{ status: "failed" }} className="end">
        All failures
      </PageLink>
    </div>
    <Loaded value={detailed.failures} what="The failures" rows={5}>
      {(items) => {
        const counts = new Map<string, { model: string; status: string; count: number }>()
        for (const { failures = {}, model } of items) {
          for (const [status, number] of Object.entries(failures)) {
            const name = `${status} ${model}`
            counts.set(name, { model, status, count: (counts.get(name)?.count ?? 0) + number })
          }
        }
        const rows = [...counts.values()].toSorted((a, b) => b.count - a.count).slice(0, 6)
        return rows.length === 0 ? (
          <p className="hint">
            No request failed{latestFrom === undefined ? " in this time" : " of the latest 10,000"}.
          </p>
        ) : (
          <Table
            label="What failed most"
            columns={failureColumns}
            rows={rows}
            rowKey={({ model, status }) => `${status} ${model}`}
          />
        )
      }}
    </Loaded>
  </section>
)
