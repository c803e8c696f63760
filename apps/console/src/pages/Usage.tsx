/** What was used: one measure over time, by group, as bars and as a table with shares. */
import type { ReactNode } from "react"
import {
  type ActivityQuery,
  byGroup,
  fewEnoughFrom,
  type Group,
  type Interval,
  type Measure,
  seriesOf,
  spanBefore,
  spanOf,
  sumOf,
  timesOf,
  useActivity
} from "../parts/activity.ts"
import { Chart } from "../parts/Chart.tsx"
import { FilterSelect } from "../parts/Filter.tsx"
import { count, credits, duration, percent, short, time } from "../parts/format.ts"
import { FirstRequest } from "../parts/FirstRequest.tsx"
import { Empty, Loaded } from "../parts/Loaded.tsx"
import { useGuardrailName, useKeyName, useKeys } from "../parts/names.ts"
import { TooManyRequests } from "../parts/TooManyRequests.tsx"
import { intervalOf } from "../shell/range.ts"
import { usePageSearch, useScope, useSetRange, useSetSearch } from "../shell/navigation.ts"
import { useWorkspaceName } from "../shell/WorkspacePicker.tsx"
import { ActivityCsv } from "./usage/ActivityCsv.tsx"
import { Choice } from "./usage/Choice.tsx"
import { type GroupRow, UsageTable } from "./usage/UsageTable.tsx"
import "./usage/usage.css"

const measures: ReadonlyArray<readonly [Measure, string]> = [
  ["spend", "Spend"],
  ["requests", "Requests"],
  ["failures", "Failures"],
  ["tokens", "Tokens"],
  ["p95", "Duration (p95)"]
]

const groups: ReadonlyArray<readonly [Group | "none", string]> = [
  ["model", "Model"],
  ["provider", "Provider"],
  ["key", "Key"],
  ["user", "User"],
  ["workspace", "Workspace"],
  ["guardrail", "Guardrail"],
  ["none", "All together"]
]

const formats: { readonly [M in Measure]: (value: number) => string } = {
  spend: credits,
  requests: count,
  failures: count,
  tokens: short,
  p95: duration
}

/** Each with the longest range, in days, whose bars can be told apart. */
const intervals: ReadonlyArray<readonly [interval: Interval, label: string, days: number]> = [
  ["minute", "Minute", 1],
  ["hour", "Hour", 31],
  ["day", "Day", Number.POSITIVE_INFINITY]
]

const find = <A extends string>(options: ReadonlyArray<readonly [A, string]>, value: string | undefined, other: A): A =>
  options.find(([option]) => option === value)?.[0] ?? other

/** The words for what has no name in its group. */
const unnamed: { readonly [G in Group]: string } = {
  key: "No key",
  user: "No user",
  workspace: "No workspace",
  model: "No model",
  provider: "No provider was tried",
  guardrail: "No guardrail"
}

/** The name of a group of the activity, for people. */
const useGroupName = (group: Group | undefined): ((name: string) => string) => {
  const keyName = useKeyName(group === "key")
  const guardrailName = useGuardrailName(group === "guardrail")
  const workspaceName = useWorkspaceName()
  return (name) => {
    if (group === undefined) return "All requests"
    if (name === "") return unnamed[group]
    if (group === "key") return keyName(name)
    if (group === "guardrail") return guardrailName(name)
    return group === "workspace" ? workspaceName(name) : name
  }
}

const Usage = (): ReactNode => {
  const search = usePageSearch("usage")
  const set = useSetSearch("usage")
  const setRange = useSetRange()
  const { range, workspace } = useScope()
  const measure = find(measures, search.measure, "spend")
  const grouped = find(groups, search.group, "model")
  const group = grouped === "none" ? undefined : grouped
  const possible = intervals
    .filter(([, , days]) => range.length <= days * 86_400_000)
    .map(([name, label]) => [name, label] as const)
  const interval = find(possible, search.interval, intervalOf(range))
  const nameOf = useGroupName(group)
  const keys = useKeys(true)
  const span = spanOf(range, interval)
  const query: ActivityQuery = {
    ...span,
    interval,
    group_by: group,
    workspace_id: workspace,
    api_key_hash: search.key,
    details: measure === "p95" ? "true" : undefined
  }
  const activity = useActivity(query)
  // A percentile of the range cannot be made from those of its intervals.
  const totals = useActivity(measure === "p95" ? { ...query, interval: "range" } : undefined)
  const isCompared = search.compare === "before"
  const earlier = spanBefore(span, interval)
  const before = useActivity(
    isCompared ? { ...query, ...earlier, ...(measure === "p95" && { interval: "range" }) } : undefined
  )
  const label = measures.find(([name]) => name === measure)?.[1] ?? ""
  const refused = [activity.error, totals.error].find((error) => fewEnoughFrom(error) !== undefined)

  const sums = sumOf(activity.data ?? [])

  const rowsOf = (): ReadonlyArray<GroupRow> => {
    const earlierGroups = before.data === undefined ? undefined : byGroup(before.data, group)
    return Array.from(byGroup((measure === "p95" ? totals.data : activity.data) ?? [], group), ([name, items]) => {
      const old = earlierGroups?.get(name) ?? []
      return {
        id: name,
        name: nameOf(name),
        ...sumOf(items),
        p95: items[0]?.duration_p95_ms ?? undefined,
        before:
          earlierGroups === undefined
            ? undefined
            : measure === "p95"
              ? (old[0]?.duration_p95_ms ?? undefined)
              : sumOf(old)[measure]
      }
    })
  }

  return (
    <>
      <div className="bar">
        <Choice
          label="Measure"
          value={measure}
          options={measures}
          onChange={(measure) => void set({ measure: measure === "spend" ? undefined : measure })}
        />
        <Choice
          label="By"
          value={grouped}
          options={groups}
          onChange={(group) => void set({ group: group === "model" ? undefined : group })}
        />
        <Choice label="Per" value={interval} options={possible} onChange={(interval) => void set({ interval })} />
        <FilterSelect
          label="Key"
          all="All keys"
          value={search.key}
          options={keys.data?.data.map(({ hash, name }) => [hash, name] as const) ?? []}
          onChange={(key) => void set({ key })}
        />
        <label className="check">
          <input
            type="checkbox"
            checked={isCompared}
            onChange={({ target }) => void set({ compare: target.checked ? "before" : undefined })}
          />
          Compare with the time before
        </label>
        {refused === undefined && <ActivityCsv query={query} />}
      </div>
      {refused != null ? (
        <TooManyRequests what={`${label} by ${grouped === "none" ? interval : grouped}`} error={refused} to={range.to}>
          Spend and requests per day by model, provider, key or workspace have no such limit.
        </TooManyRequests>
      ) : (
        <Loaded value={activity} what="The activity" rows={14}>
          {(items) =>
            items.length === 0 ? (
              <Empty title="No request ended in this time. Choose a longer one at the top, or send one.">
                <FirstRequest />
              </Empty>
            ) : (
              <>
                <div className="card">
                  <p className="figures">
                    <strong>{credits(sums.spend)}</strong> credits, <strong>{count(sums.requests)}</strong> requests,{" "}
                    <strong>{percent(sums.failures / Math.max(1, sums.requests))}</strong> of them failed.
                  </p>
                  <Chart
                    label={`${label} per ${interval}${group === undefined ? "" : ` by ${group}`}`}
                    kind={measure === "p95" ? "lines" : "bars"}
                    times={timesOf(span, interval)}
                    series={seriesOf(items, { group, measure, nameOf, times: timesOf(span, interval) })}
                    format={formats[measure]}
                    onRange={setRange}
                  />
                  {interval === "day" && <p className="hint">Whole UTC days.</p>}
                </div>
                {isCompared && (
                  <p className="hint">
                    Before: {time(earlier.from).slice(0, 16)} to {time(earlier.to).slice(0, 16)} UTC
                    {before.error !== null && `, which could not be read: ${before.error.message}`}
                  </p>
                )}
                {(measure !== "p95" || totals.data !== undefined) && (
                  <UsageTable
                    group={group}
                    label={label}
                    measure={measure}
                    format={formats[measure]}
                    rows={rowsOf()}
                    total={measure === "p95" ? undefined : sums}
                    isCompared={isCompared && before.data !== undefined}
                    keyHash={search.key}
                  />
                )}
              </>
            )
          }
        </Loaded>
      )}
    </>
  )
}

export default Usage
