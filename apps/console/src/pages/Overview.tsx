/** What is spent, what fails, and what needs attention. */
import type { ReactNode } from "react"
import {
  type ActivityQuery,
  byGroup,
  courseOf,
  fewEnoughFrom,
  seriesOf,
  spanOf,
  sumOf,
  timesOf,
  useActivity
} from "../parts/activity.ts"
import { Chart } from "../parts/Chart.tsx"
import { count, credits, duration, percent, time } from "../parts/format.ts"
import { FirstRequest } from "../parts/FirstRequest.tsx"
import { Empty, Loaded } from "../parts/Loaded.tsx"
import { useKeyName } from "../parts/names.ts"
import { type Column, Table } from "../parts/Table.tsx"
import { Tile } from "../parts/Tile.tsx"
import { intervalOf } from "../shell/range.ts"
import { useScope, useSetFrame } from "../shell/navigation.ts"
import { PageLink } from "../shell/PageLink.tsx"
import { useWorkspaces } from "../shell/WorkspacePicker.tsx"
import { Attention } from "./overview/Attention.tsx"
import { daysText, rateDays, useCreditsLeft, useSpendPerDay } from "./overview/credits.ts"
import { creditEndings } from "./overview/endings.ts"
import { RunsOut } from "./overview/RunsOut.tsx"
import "./overview/overview.css"

/**
 * Reads the activity of the range. Only requests tell durations and reasons of failures, and at
 * most 10,000 are read. A range with more has sums of whole days, and the rest of its latest
 * requests.
 */
const useFigures = () => {
  const { range, workspace } = useScope()
  const interval = intervalOf(range)
  const span = spanOf(range, interval)
  const query = { workspace_id: workspace, details: "true" } as const satisfies ActivityQuery
  const exact: ActivityQuery = { ...query, ...span, interval }
  const models = useActivity({ ...exact, group_by: "model" })
  const latestFrom = fewEnoughFrom(models.error)
  const isSummed = latestFrom !== undefined

  const days = { ...spanOf(range, "day"), interval: "day", workspace_id: workspace } as const
  const modelDays = useActivity(isSummed ? { ...days, group_by: "model" } : undefined)
  const keyDays = useActivity(isSummed ? { ...days, group_by: "key" } : undefined)

  const detailed = isSummed ? { from: latestFrom, ...(range.to !== undefined && { to: range.to }) } : span
  const course = useActivity({ ...query, ...detailed, interval })
  const whole = useActivity({ ...query, ...detailed, interval: "range" })
  const keys = useActivity({ ...query, ...span, interval: "range", group_by: "key" })
  const failures = useActivity(isSummed ? { ...query, ...detailed, interval: "range", group_by: "model" } : undefined)
  return {
    range,
    isSummed,
    /** From when on there are durations and reasons of failures. */
    latestFrom,
    interval: isSummed ? ("day" as const) : interval,
    span: isSummed ? spanOf(range, "day") : span,
    detailed: { interval, span: detailed, course, whole, failures: isSummed ? failures : models },
    models: isSummed ? modelDays : models,
    keys: isSummed ? keyDays : keys
  }
}

type Figures = ReturnType<typeof useFigures>

const Tiles = ({ figures }: { readonly figures: Figures }) => {
  const { detailed, interval, models, range, span } = figures
  const items = models.data
  const left = useCreditsLeft()
  const rates = useSpendPerDay().data
  const perDay = rates?.all ?? 0
  const { workspace } = useScope()
  const workspaces = useWorkspaces().data?.data ?? []
  const now = Date.now()
  const first = rates && creditEndings(workspaces, rates.of, now)[0]
  const times = timesOf(span, interval)
  const sums = items === undefined ? undefined : sumOf(items)
  const per = (figure: Parameters<typeof courseOf>[2]) =>
    items === undefined ? undefined : courseOf(items, times, figure)
  const requests = per((item) => item.requests)
  const failures = per((item) => item.failed_requests)
  const p95 = detailed.whole.data?.[0]?.duration_p95_ms
  const days = range.length / 86_400_000
  const slow = detailed.course.data
  const waiting = models.error === null ? "…" : "not known"
  return (
    <div className="tiles" data-stale={models.isPlaceholderData}>
      <PageLink page="usage" search={{ measure: "spend" }}>
        <Tile label="Spend" hint="credits" values={per((item) => item.usage)}>
          {sums === undefined ? waiting : credits(sums.spend)}
        </Tile>
      </PageLink>
      <PageLink page="requests">
        <Tile
          label="Requests"
          hint={sums === undefined || days <= 1 ? "" : `${count(Math.round(sums.requests / days))} a day`}
          values={requests}
        >
          {sums === undefined ? waiting : count(sums.requests)}
        </Tile>
      </PageLink>
      <PageLink page="requests" search={{ status: "failed" }}>
        <Tile
          label="Errors"
          hint={sums === undefined ? "" : `${count(sums.failures)} failed, canceled or expired`}
          values={failures?.map((failed, index) => failed / Math.max(1, requests?.[index] ?? 0))}
        >
          {sums === undefined ? waiting : percent(sums.failures / Math.max(1, sums.requests))}
        </Tile>
      </PageLink>
      <PageLink page="usage" search={{ measure: "p95", group: "none" }}>
        <Tile
          label="Duration"
          hint="95% took less"
          values={
            slow && courseOf(slow, timesOf(detailed.span, detailed.interval), (item) => item.duration_p95_ms ?? 0)
          }
        >
          {detailed.whole.data === undefined ? waiting : p95 == null ? "none" : duration(p95)}
        </Tile>
      </PageLink>
      <PageLink page="workspaces">
        <Tile
          label="Credits left"
          hint={
            left === undefined
              ? ""
              : left <= 0
                ? "Requests that cost something are refused"
                : workspace === undefined && workspaces.length > 1 && first !== undefined
                  ? first.at === 0
                    ? `${first.name} has none left`
                    : `${first.name} runs out first, in ${daysText((first.at - now) / 86_400_000)}`
                  : perDay > 0
                    ? `for ${daysText(left / perDay)} at the rate of the last ${rateDays} days`
                    : `nothing was spent in the last ${rateDays} days`
          }
        >
          {left === undefined ? "…" : credits(left)}
        </Tile>
      </PageLink>
    </div>
  )
}

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

const TopKeys = ({ figures: { keys } }: { readonly figures: Figures }) => {
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

const TopFailures = ({ figures: { detailed, latestFrom } }: { readonly figures: Figures }) => (
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

const SpendByModel = ({ figures: { interval, models, span } }: { readonly figures: Figures }) => {
  const setFrame = useSetFrame()
  const times = timesOf(span, interval)
  return (
    <section className="card" aria-label="Spend by model">
      <Loaded value={models} what="The activity" rows={8}>
        {(items) =>
          items.length === 0 ? (
            <Empty title="No request ended in this time. Choose a longer one at the top, or send one.">
              <FirstRequest />
            </Empty>
          ) : (
            <Chart
              label={`Spend by model, credits per ${interval}`}
              kind="bars"
              times={times}
              series={seriesOf(items, { group: "model", measure: "spend", nameOf: (name) => name, times })}
              format={credits}
              onRange={(from, to) =>
                void setFrame({ range: undefined, from: new Date(from).toISOString(), to: new Date(to).toISOString() })
              }
            />
          )
        }
      </Loaded>
    </section>
  )
}

const Overview = (): ReactNode => {
  const figures = useFigures()
  return (
    <>
      {figures.latestFrom !== undefined && (
        <p className="hint">
          This range has more than 10,000 requests. Spend, requests and errors are sums of whole UTC days. Durations and
          reasons of failures are of the latest 10,000 requests, since {time(figures.latestFrom)} UTC.
        </p>
      )}
      <Tiles figures={figures} />
      <div className="overview">
        <SpendByModel figures={figures} />
        <div className="overview-matters">
          <Attention />
          <RunsOut />
        </div>
        <div className="columns">
          <TopKeys figures={figures} />
          <TopFailures figures={figures} />
        </div>
      </div>
    </>
  )
}

export default Overview
