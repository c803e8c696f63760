/** The audit log: who did what, and when. */
import { type ReactNode, useEffect, useState } from "react"
import { call } from "../api/call.ts"
import type { Query } from "../api/Contract.ts"
import { usePages, useSessionState } from "../api/hooks.ts"
import { base } from "../api/http.ts"
import { csv, download } from "../parts/csv.ts"
import { FilterSelect, FilterText } from "../parts/Filter.tsx"
import { count } from "../parts/format.ts"
import { Icon } from "../parts/Icon.tsx"
import { Empty, Loaded } from "../parts/Loaded.tsx"
import { Problem } from "../parts/Problem.tsx"
import { Table } from "../parts/Table.tsx"
import { Time } from "../parts/Time.tsx"
import { Actor } from "../shell/Links.tsx"
import { usePageSearch, useScope, useSetFrame, useSetSearch } from "../shell/navigation.ts"
import { actions, actionText } from "./audit/actions.ts"
import { type Entry, summaryOf } from "./audit/difference.ts"
import { EntryDetails } from "./audit/EntryDetails.tsx"
import { FilterActor } from "./audit/FilterActor.tsx"
import { Target, useTargetName } from "./audit/Target.tsx"
import "./audit/audit.css"

type Filter = Omit<Query<"GET /audit">, "after" | "limit">

/** The entries of a CSV at most. */
const mostOfCsv = 10_000

const readAll = async (filter: Filter): Promise<ReadonlyArray<Entry>> => {
  const entries: Array<Entry> = []
  let after: string | undefined
  do {
    const page = await call("GET /audit", { query: { ...filter, after, limit: 1000 } })
    entries.push(...page.data)
    after = page.next ?? undefined
  } while (after !== undefined && entries.length < mostOfCsv)
  return entries.slice(0, mostOfCsv)
}

const columns = [
  "created_at",
  "actor",
  "actor_label",
  "actor_role",
  "address",
  "action",
  "target_kind",
  "target_id",
  "request_id",
  "id"
] as const

const CsvButton = ({ filter }: { readonly filter: Filter }) => {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const save = async () => {
    setBusy(true)
    setError(null)
    try {
      const rows = (await readAll(filter)).map((entry) => [
        ...columns.map((column) => entry[column]),
        entry.before === null ? null : JSON.stringify(entry.before),
        entry.after === null ? null : JSON.stringify(entry.after)
      ])
      download("audit.csv", "text/csv", csv([...columns, "before", "after"], rows))
    } catch (cause) {
      setError(cause instanceof Error ? cause : new Error(String(cause)))
    } finally {
      setBusy(false)
    }
  }
  return (
    <>
      <button
        type="button"
        disabled={busy}
        title={`At most ${count(mostOfCsv)} entries, the newest`}
        onClick={() => void save()}
      >
        <Icon name="download" />
        {busy ? "Reading …" : "CSV"}
      </button>
      {error !== null && <Problem what="The CSV could not be made" error={error} />}
    </>
  )
}

/** The pages that are read until there is something to show. */
const mostPages = 10

const AuditLog = () => {
  const search = usePageSearch("audit")
  const set = useSetSearch("audit")
  const setFrame = useSetFrame()
  const { range } = useScope()
  const targetName = useTargetName()
  const filter: Filter = {
    actor: search.actor,
    action: search.action,
    target: search.target,
    from: range.from,
    to: range.to
  }
  const entries = usePages("GET /audit", { ...filter, limit: 100 })
  const { data, fetchNextPage, hasNextPage, isFetching, rows = [] } = entries
  const pages = data?.pages.length ?? 0
  // A page of a filtered list may be empty although more follow.
  const goesOn = rows.length === 0 && hasNextPage && pages > 0 && pages < mostPages
  useEffect(() => {
    if (goesOn && !isFetching) void fetchNextPage()
  }, [goesOn, isFetching, fetchNextPage])
  const isFiltered = search.actor !== undefined || search.action !== undefined || search.target !== undefined
  return (
    <>
      <div className="bar">
        <FilterSelect
          label="Action"
          all="All actions"
          options={Object.entries(actions)}
          value={search.action}
          onChange={(action) => void set({ action })}
        />
        <FilterActor entries={rows} value={search.actor} onChange={(actor) => void set({ actor })} />
        <FilterText
          label="Target: the hash of a key or another id"
          placeholder="Target: hash or id"
          value={search.target}
          onChange={(target) => void set({ target }, { replace: true })}
        />
        {isFiltered && (
          <button
            type="button"
            className="quiet"
            onClick={() => void set({ actor: undefined, action: undefined, target: undefined })}
          >
            Clear
          </button>
        )}
        <span className="end">
          <CsvButton filter={filter} />
        </span>
      </div>
      <Loaded value={entries} what="The audit log" rows={12}>
        {() =>
          rows.length === 0 && !hasNextPage ? (
            <Empty
              title={
                search.id !== undefined
                  ? "No other change in this range."
                  : isFiltered
                    ? "No entry matches these filters in the range."
                    : "No change was made in the range."
              }
            >
              {search.range !== "30d" && (
                <button type="button" onClick={() => void setFrame({ range: "30d", from: undefined, to: undefined })}>
                  Show the last 30 days
                </button>
              )}
              <code>
                curl {new URL("../api/v1/audit", base).href} -H "Authorization: Bearer &lt;management key&gt;"
              </code>
            </Empty>
          ) : (
            <Table
              label="Changes"
              rows={rows}
              rowKey={({ id }) => id}
              onOpen={({ id }) => void set({ id })}
              selected={search.id}
              more={{ hasMore: hasNextPage, isReading: entries.isFetchingNextPage, read: () => fetchNextPage() }}
              columns={[
                {
                  key: "time",
                  title: "Time (UTC)",
                  width: "10rem",
                  cell: ({ created_at }) => <Time at={created_at} />
                },
                {
                  key: "actor",
                  title: "Who",
                  width: "minmax(10rem, 1fr)",
                  cell: ({ actor, actor_label }) => <Actor actor={actor} label={actor_label} />
                },
                {
                  key: "action",
                  title: "What",
                  width: "14rem",
                  cell: ({ action }) => actionText(action)
                },
                {
                  key: "target",
                  title: "Target",
                  width: "minmax(11rem, 1.2fr)",
                  cell: (entry) => <Target of={entry} name={targetName(entry)} />
                },
                {
                  key: "change",
                  title: "Change",
                  width: "minmax(12rem, 2fr)",
                  cell: (entry) => <span title={summaryOf(entry)}>{summaryOf(entry)}</span>
                },
                { key: "address", title: "From", width: "8rem", cell: ({ address }) => address ?? "" }
              ]}
            />
          )
        }
      </Loaded>
      {search.id !== undefined && (
        <EntryDetails
          key={search.id}
          id={search.id}
          entry={rows.find(({ id }) => id === search.id)}
          onClose={() => void set({ id: undefined })}
        />
      )}
    </>
  )
}

const Audit = (): ReactNode => {
  const { session } = useSessionState()
  // A session that is restricted to some workspaces may not read the audit log.
  return session?.workspace_ids === null ? (
    <AuditLog />
  ) : (
    <Empty title="The audit log is about all workspaces, and you see only some. Ask an administrator." />
  )
}

export default Audit
