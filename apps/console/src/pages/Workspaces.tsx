/** Workspaces: their credits, what they spend, and for how long the credits last. */
import { type ReactNode, useState } from "react"
import { useMay, useOffsetPages, useRead } from "../api/hooks.ts"
import { spanOf, useActivity } from "../parts/activity.ts"
import { Badge } from "../parts/Badge.tsx"
import { count, credits } from "../parts/format.ts"
import { Icon } from "../parts/Icon.tsx"
import { Empty, Loaded } from "../parts/Loaded.tsx"
import { Problem } from "../parts/Problem.tsx"
import { Table } from "../parts/Table.tsx"
import { usePageSearch, useScope, useSetSearch } from "../shell/navigation.ts"
import type { Range } from "../shell/range.ts"
import { WorkspaceDetails } from "./workspaces/WorkspaceDetails.tsx"
import { CreateWorkspace } from "./workspaces/WorkspaceForm.tsx"

const day = 86_400_000

/** What each workspace spent on the whole days of a range, and how many days that is. */
const useSpend = (range: Range) => {
  const { from, to } = range
  const start = Math.floor(Date.parse(from) / day) * day
  const spend = useActivity({ interval: "day", group_by: "workspace", ...spanOf(range, "day") })
  const end = to === undefined ? Date.now() : Math.min(Date.now(), Math.ceil(Date.parse(to) / day) * day)
  const sums = new Map<string, number>()
  for (const { usage, workspace_id = "" } of spend.data ?? []) {
    sums.set(workspace_id, (sums.get(workspace_id) ?? 0) + usage)
  }
  const days = (end - start) / day
  return {
    error: spend.error,
    /** Undefined: not read yet. */
    spendOf: (id: string) => (spend.data === undefined ? undefined : (sums.get(id) ?? 0)),
    /** For how many days some credits last if as much is spent each day. */
    daysLeft: (id: string, left: number): number => {
      const sum = sums.get(id) ?? 0
      return left <= 0 ? 0 : sum === 0 ? Infinity : left / (sum / days)
    }
  }
}

const KeyCount = ({ workspace }: { readonly workspace: string }) => {
  const { data } = useRead("GET /keys", { query: { workspace_id: workspace, include_disabled: true, limit: 1 } })
  return data === undefined ? "" : count(data.total_count)
}

const Lasts = ({ days }: { readonly days: number }) =>
  days === 0 ? (
    <Badge tone="bad">Nothing left</Badge>
  ) : days === Infinity ? (
    <span className="hint">Spends nothing</span>
  ) : days < 7 ? (
    <Badge tone="warning">{days < 1 ? "Less than a day" : `${Math.floor(days)} days`}</Badge>
  ) : (
    `${count(Math.floor(days))} days`
  )

const Workspaces = (): ReactNode => {
  const search = usePageSearch("workspaces")
  const set = useSetSearch("workspaces")
  const { range, workspace } = useScope()
  const mayCreate = useMay("admin")
  const [isCreating, setCreating] = useState(false)
  const workspaces = useOffsetPages("GET /workspaces", { query: { limit: 100 } })
  const { daysLeft, error, spendOf } = useSpend(range)
  const rows = (workspaces.rows ?? []).filter(({ id }) => workspace === undefined || id === workspace)
  return (
    <>
      <div className="bar">
        <p className="hint">
          Spend is that of the whole days (UTC) of the range. How long credits last assumes that it goes on so.
        </p>
        {mayCreate && (
          <button type="button" className="primary end" onClick={() => setCreating(true)}>
            <Icon name="plus" />
            Create workspace
          </button>
        )}
      </div>
      {error !== null && <Problem what="The spend could not be read" error={error} />}
      <Loaded value={workspaces} what="The workspaces" rows={6}>
        {() =>
          rows.length === 0 ? (
            <Empty title="You see no workspace of this choice.">
              <button type="button" onClick={() => void set({ workspace: undefined })}>
                Show all workspaces
              </button>
            </Empty>
          ) : (
            <Table
              label="Workspaces"
              rows={rows}
              rowKey={({ id }) => id}
              onOpen={({ id }) => void set({ id })}
              selected={search.id}
              more={workspaces.more}
              columns={[
                {
                  key: "name",
                  title: "Name",
                  width: "minmax(11rem, 1.5fr)",
                  cell: ({ name }) => name,
                  sort: ({ name }) => name
                },
                {
                  key: "slug",
                  title: "Slug",
                  width: "minmax(9rem, 1fr)",
                  cell: ({ slug }) => <code>{slug}</code>
                },
                {
                  key: "credits",
                  title: "Credits left",
                  width: "8rem",
                  align: "right",
                  cell: ({ credits: left }) => credits(left),
                  sort: ({ credits: left }) => left
                },
                {
                  key: "spend",
                  title: "Spend",
                  width: "7rem",
                  align: "right",
                  cell: ({ id }) => {
                    const spend = spendOf(id)
                    return spend === undefined ? "" : credits(spend)
                  },
                  sort: ({ id }) => spendOf(id) ?? 0
                },
                {
                  key: "lasts",
                  title: "Credits last",
                  width: "9rem",
                  cell: ({ credits: left, id }) =>
                    spendOf(id) === undefined ? "" : <Lasts days={daysLeft(id, left)} />,
                  sort: ({ credits: left, id }) => daysLeft(id, left)
                },
                {
                  key: "keys",
                  title: "Keys",
                  width: "5rem",
                  align: "right",
                  cell: ({ id }) => <KeyCount workspace={id} />
                }
              ]}
            />
          )
        }
      </Loaded>
      {search.id !== undefined && (
        <WorkspaceDetails key={search.id} id={search.id} onClose={() => void set({ id: undefined })} />
      )}
      {isCreating && (
        <CreateWorkspace
          onClose={() => setCreating(false)}
          onCreated={(id) => {
            setCreating(false)
            void set({ id })
          }}
        />
      )}
    </>
  )
}

export default Workspaces
