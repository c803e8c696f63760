/** What was added to and taken from the credits of a workspace. */
import { useIdPages } from "../../api/hooks.ts"
import { credits } from "../../parts/format.ts"
import { Empty, Loaded } from "../../parts/Loaded.tsx"
import { Table } from "../../parts/Table.tsx"
import { Time } from "../../parts/Time.tsx"
import { Actor } from "../../shell/Links.tsx"
import type { Workspace } from "./WorkspaceForm.tsx"

const kinds = { initial: "First run", added: "Added", correction: "Correction", moved: "Moved" } as const

/** With its sign. */
const signed = (amount: number): string => (amount > 0 ? `+${credits(amount)}` : credits(amount))

export const Ledger = ({ of }: { readonly of: Workspace }) => {
  const entries = useIdPages("GET /credits/ledger", { workspace_id: of.id, limit: 50 })
  return (
    <section className="lines">
      <h3>Ledger of credits</h3>
      <Loaded value={entries} what="The ledger" rows={4}>
        {() =>
          entries.rows?.length === 0 ? (
            <Empty title="No credits were added yet.">
              <code>model-gateway credits add --amount 25 --workspace {of.slug}</code>
            </Empty>
          ) : (
            <Table
              label="Ledger of credits"
              rows={entries.rows ?? []}
              rowKey={({ id }) => id}
              more={entries.more}
              columns={[
                {
                  key: "time",
                  title: "Time (UTC)",
                  width: "10rem",
                  cell: ({ created_at }) => <Time at={created_at} />
                },
                { key: "kind", title: "Kind", width: "5rem", cell: ({ kind }) => kinds[kind] },
                {
                  key: "amount",
                  title: "Amount",
                  width: "4.75rem",
                  align: "right",
                  cell: ({ amount }) => signed(amount)
                },
                {
                  key: "balance",
                  title: "Balance",
                  width: "4.75rem",
                  align: "right",
                  cell: ({ balance }) => credits(balance)
                },
                {
                  key: "note",
                  title: "Note",
                  width: "minmax(5.5rem, 1fr)",
                  wraps: true,
                  cell: ({ note }) => note ?? ""
                },
                { key: "actor", title: "By", width: "7rem", wraps: true, cell: ({ actor }) => <Actor actor={actor} /> }
              ]}
            />
          )
        }
      </Loaded>
      <p className="hint">What requests cost is not listed here. It is in the balance of each entry.</p>
    </section>
  )
}
