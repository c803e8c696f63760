/** The keys that spent most in the range. */
import { byGroup, sumOf } from "../../parts/activity.ts"
import { count, credits, percent } from "../../parts/format.ts"
import { Loaded } from "../../parts/Loaded.tsx"
import { useKeyName } from "../../parts/names.ts"
import { type Column, Table } from "../../parts/Table.tsx"
import { PageLink } from "../../shell/PageLink.tsx"
import type { Figures } from "./figures.ts"

interface TopKey {
  readonly hash: string
  readonly name: string
  readonly spend: number
  readonly requests: number
  readonly failures: number
}

const keyColumns: ReadonlyArray<Column<TopKey>> = [
  {
    key: "key",
    title: "Key",
    width: "minmax(7rem, 1fr)",
    cell: ({ hash, name }) => (
      <PageLink page="requests" search={{ key: hash }}>
        {name}
      </PageLink>
    )
  },
  { key: "spend", title: "Credits", width: "5.5rem", align: "right", cell: ({ spend }) => credits(spend) },
  { key: "requests", title: "Requests", width: "5rem", align: "right", cell: ({ requests }) => count(requests) },
  {
    key: "failed",
    title: "Failed",
    width: "4rem",
    align: "right",
    cell: ({ failures, requests }) => percent(failures / Math.max(1, requests))
  }
]

export const TopKeys = ({ figures: { keys } }: { readonly figures: Figures }) => {
  const keyName = useKeyName()
  return (
    <section className="card" aria-labelledby="top-keys">
      <div className="bar">
        <h2 id="top-keys">Keys that spent most</h2>
        <PageLink page="usage" search={{ group: "key" }} className="end">
          All keys
        </PageLink>
      </div>
      <Loaded value={keys} what="The keys" rows={5}>
        {(items) => {
          const rows = Array.from(byGroup(items, "key"), ([hash, found]) => ({
            hash,
            name: keyName(hash),
            ...sumOf(found)
          }))
            .toSorted((a, b) => b.spend - a.spend || b.requests - a.requests)
            .slice(0, 6)
          return rows.length === 0 ? (
            <p className="hint">No key was used in this time.</p>
          ) : (
            <Table label="Keys that spent most" columns={keyColumns} rows={rows} rowKey={({ hash }) => hash} />
          )
        }}
      </Loaded>
    </section>
  )
}
