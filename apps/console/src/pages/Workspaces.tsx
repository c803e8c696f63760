/** Workspaces: their credits, what they spend, and for how long the credits last. */
import { type ReactNode, useState } from "react"
import { useMay, useOffsetPages, useRead } from "../api/hooks.ts"
import { byGroup, fewEnoughFrom, spanOf, sumOf, useActivity } from "../parts/activity.ts"
import { Badge } from "../parts/Badge.tsx"
import { count, credits } from "../parts/format.ts"
import { Icon } from "../parts/Icon.tsx"
import { Empty, Loaded } from "../parts/Loaded.tsx"
import { Problem } from "../parts/Problem.tsx"
import { Table } from "../parts/Table.tsx"
import { usePageSearch, useScope, useSetSearch } from "../shell/navigation.ts"
import { intervalOf, type Range } from "../shell/range.ts"
import { daysLeft, daysText, rateDays, useSpendPerDay } from "./overview/credits.ts"
import { WorkspaceDetails } from "./workspaces/WorkspaceDetails.tsx"
import { CreateWorkspace } from "./workspaces/WorkspaceForm.tsx"

/**
 * What each workspace spent in a range, as the overview has it: long ranges and those with many
 * requests are of whole days.
 */
const useSpend = (range: Range) => {
  const interval = intervalOf(range)
  const exact = useActivity({ interval, group_by: "workspace", ...spanOf(range, interval) })
  const isTooMuch = fewEnoughFrom(exact.error) !== undefined
  const days = useActivity(isTooMuch ? { interval: "day", group_by: "workspace", ...spanOf(range, "day") } : undefined)
  const { data, error } = isTooMuch ? days : exact
  const groups = byGroup(data ?? [], "workspace")
  return {
    error,
    isOfDays: isTooMuch || interval === "day",
    /** Undefined: not read yet. */
    spendOf: (id: string) => (data === undefined ? undefined : sumOf(groups.get(id) ?? []).spend)
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
    <Badge tone="warning">{daysText(days)}</Badge>
  ) : (
    daysText(days)
  )

const Workspaces = (): ReactNode => {
  const search = usePageSearch("workspaces")
  const set = useSetSearch("workspaces")
  const { range, workspace } = useScope()
  const mayCreate = useMay("admin")
  const [isCreating, setCreating] = useState(false)
  const workspaces = useOffsetPages("GET /workspaces", { query: { limit: 100 } })
  const { error, isOfDays, spendOf } = useSpend(range)
  const perDay = useSpendPerDay()
  const lasts = (id: string, left: number) => daysLeft(left, perDay.data?.of.get(id) ?? 0)
  const rows = (workspaces.rows ?? []).filter(({ id }) => workspace === undefined || id === workspace)
  return (
    <>
      <div className="bar">
        <p className="hint">
          Spend is that of the range{isOfDays && ", in whole UTC days"}. For how long credits last follows from the
          spend of the last {rateDays} days.
        </p>
        {mayCreate && (
          <button type="button" className="primary end" onClick={() => setCreating(true)}>
            <Icon name="plus" />
            Create workspace
          </button>
        )}
      </div>
      {error !== null && <Problem what="The spend could not be read" error={error} />}
      {perDay.error !== null && <Problem what="The spend per day could not be read" error={perDay.error} />}
      <Loaded value={workspaces} what="The workspaces" rows={6}>
        {() =>
          rows.length === 0 ? (
            <Empty title="There is no such workspace, or you may not see it.">
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
                  width: "minmax(8rem, 1.5fr)",
                  cell: ({ name }) => name,
                  sort: ({ name }) => name
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
                  cell: ({ credits: left, id }) => (perDay.data === undefined ? "" : <Lasts days={lasts(id, left)} />),
                  sort: ({ credits: left, id }) => lasts(id, left)
                },
                {
                  key: "keys",
                  title: "Keys",
                  width: "5rem",
                  align: "right",
                  cell: ({ id }) => <KeyCount workspace={id} />
                },
                {
                  key: "slug",
                  title: "Slug",
                  width: "minmax(9rem, 1fr)",
                  cell: ({ slug }) => <code>{slug}</code>
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
