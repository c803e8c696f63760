/** The requests that failed before they were admitted: GET `/requests/rejected`. */
import { useMemo } from "react"
import { call } from "../../api/call.ts"
import type { Item } from "../../api/Contract.ts"
import { usePages } from "../../api/hooks.ts"
import { startOf, timesOf } from "../../parts/activity.ts"
import { Badge } from "../../parts/Badge.tsx"
import { Chart } from "../../parts/Chart.tsx"
import { FilterSelect } from "../../parts/Filter.tsx"
import { count, shortId } from "../../parts/format.ts"
import { Empty, Loaded } from "../../parts/Loaded.tsx"
import { useKeyName, useKeys } from "../../parts/names.ts"
import { type Column, Table } from "../../parts/Table.tsx"
import { Time } from "../../parts/Time.tsx"
import { intervalOf } from "../../shell/range.ts"
import { usePageSearch, useScope, useSetRange, useSetSearch } from "../../shell/navigation.ts"
import { CsvButton } from "./Csv.tsx"
import { distinct, errorStatus, FilterExact } from "./Filters.tsx"
import { LiveButton } from "./LiveButton.tsx"

export type Rejected = Item<"GET /requests/rejected">

const columnsOf = (keyName: (hash: string) => string): ReadonlyArray<Column<Rejected>> => [
  { key: "time", title: "Time (UTC)", width: "10rem", cell: ({ created_at }) => <Time at={created_at} /> },
  { key: "status", title: "Status", width: "4rem", cell: ({ status }) => <Badge tone="bad">{status}</Badge> },
  { key: "operation", title: "Operation", width: "6.5rem", cell: ({ operation }) => operation },
  {
    key: "message",
    title: "Message",
    width: "minmax(12rem, 3fr)",
    cell: ({ message }) => <span title={message ?? ""}>{message}</span>
  },
  {
    key: "model",
    title: "Model",
    width: "minmax(6rem, 1fr)",
    cell: ({ model }) => <span title={model ?? ""}>{model}</span>
  },
  {
    key: "key",
    title: "Key",
    width: "minmax(6rem, 1fr)",
    cell: ({ key_hash }) => (key_hash === null ? "no key" : keyName(key_hash))
  },
  { key: "address", title: "Address", width: "7.5rem", cell: ({ address }) => address },
  {
    key: "omitted",
    title: "More",
    width: "3.5rem",
    align: "right",
    cell: ({ omitted }) => (omitted === 0 ? "" : `+${count(omitted)}`)
  },
  {
    key: "id",
    title: "Request",
    width: "7.5rem",
    cell: ({ request_id }) => <code title={request_id}>{shortId(request_id)}</code>
  }
]

/** The rows over time, by status. What is omitted counts too. */
const seriesOf = (rows: ReadonlyArray<Rejected>, times: ReadonlyArray<number>, interval: "minute" | "hour" | "day") =>
  Array.from(
    Map.groupBy(rows, ({ status }) => status),
    ([status, found]) => {
      const values = times.map(() => 0)
      for (const { created_at, omitted } of found) {
        const index = times.indexOf(startOf(Date.parse(created_at), interval))
        if (index >= 0) values[index] = (values[index] ?? 0) + 1 + omitted
      }
      return { name: String(status), values }
    }
  ).toSorted((a, b) => a.name.localeCompare(b.name))

export const RejectedRequests = () => {
  const search = usePageSearch("requests")
  const set = useSetSearch("requests")
  const setRange = useSetRange()
  const { range, workspace } = useScope()
  const keys = useKeys()
  const keyName = useKeyName()
  const columns = useMemo(() => columnsOf(keyName), [keys.data])
  const { error_status, key, operation } = search
  const query = {
    workspace_id: workspace,
    key_hash: key,
    operation,
    status: error_status !== undefined && errorStatus.test(error_status) ? Number(error_status) : undefined,
    from: range.from,
    to: range.to
  }
  const isLive = search.live !== undefined && range.to === undefined
  const listed = usePages("GET /requests/rejected", { ...query, limit: 1000 }, isLive ? { refetchInterval: 5000 } : {})
  const rows = listed.rows ?? []
  const oldest = listed.hasNextPage ? (rows.at(-1)?.created_at ?? range.from) : range.from
  const interval = intervalOf(range)
  const times = timesOf({ from: oldest, ...(range.to !== undefined && { to: range.to }) }, interval)
  const omitted = rows.reduce((sum, row) => sum + row.omitted, 0)
  const isFiltered = key !== undefined || operation !== undefined || error_status !== undefined
  const clear = { key: undefined, operation: undefined, error_status: undefined }
  return (
    <>
      <div className="bar filters">
        <FilterExact
          label="Error status"
          value={error_status}
          known={distinct(rows.map(({ status }) => status))}
          pattern={errorStatus}
          onChange={(error_status) => void set({ error_status })}
        />
        <FilterExact
          label="Operation"
          value={operation}
          known={distinct(rows.map((row) => row.operation))}
          onChange={(operation) => void set({ operation })}
        />
        <FilterSelect
          label="Key"
          all="All keys"
          value={key}
          options={keys.data?.data.map(({ hash, name }) => [hash, name] as const) ?? []}
          onChange={(key) => void set({ key })}
        />
        {isFiltered && (
          <button type="button" className="quiet" onClick={() => void set(clear)}>
            Clear
          </button>
        )}
        <span className="end bar">
          <LiveButton isLive={isLive} />
          <CsvButton<Rejected>
            name="rejected-requests"
            read={(after) => call("GET /requests/rejected", { query: { ...query, limit: 1000, after } })}
            columns={csvColumns}
          />
        </span>
      </div>
      <p className="hint">
        These failed before they were admitted, and cost nothing. They are kept for a limited time, 7 days by default.
        {omitted > 0 &&
          ` Of many alike, at most 30 a minute are listed: ${count(omitted)} more were rejected than are listed below.`}
      </p>
      <Loaded value={listed} what="The rejected requests" rows={14}>
        {() =>
          rows.length > 0 ? (
            <>
              <div className="card">
                <Chart
                  label={`Rejected requests per ${interval}, by status`}
                  kind="bars"
                  times={times}
                  series={seriesOf(rows, times, interval)}
                  format={count}
                  onRange={setRange}
                />
                {listed.hasNextPage && (
                  <p className="hint">Of the {count(rows.length)} newest, which are listed below.</p>
                )}
              </div>
              <Table
                label="Rejected requests, newest first"
                columns={columns}
                rows={rows}
                rowKey={({ id }) => id}
                onOpen={({ request_id }) => void set({ id: request_id })}
                more={{
                  hasMore: listed.hasNextPage,
                  isReading: listed.isFetchingNextPage,
                  read: () => listed.fetchNextPage()
                }}
              />
            </>
          ) : listed.hasNextPage ? (
            <Empty title="None of the newest requests matches.">
              <button type="button" disabled={listed.isFetchingNextPage} onClick={() => void listed.fetchNextPage()}>
                Search older ones
              </button>
            </Empty>
          ) : (
            <Empty
              title={
                isFiltered ? "No request of this time matches the filters." : "No request was rejected in this time."
              }
            >
              {isFiltered ? (
                <button type="button" onClick={() => void set(clear)}>
                  Show all rejected requests
                </button>
              ) : (
                <p>Choose a longer time at the top.</p>
              )}
            </Empty>
          )
        }
      </Loaded>
    </>
  )
}

const csvColumns: ReadonlyArray<readonly [string, (row: Rejected) => string | number | null]> = [
  ["created_at", ({ created_at }) => created_at],
  ["request_id", ({ request_id }) => request_id],
  ["status", ({ status }) => status],
  ["message", ({ message }) => message],
  ["operation", ({ operation }) => operation],
  ["model", ({ model }) => model],
  ["key_hash", ({ key_hash }) => key_hash],
  ["workspace_id", ({ workspace_id }) => workspace_id],
  ["address", ({ address }) => address],
  ["duration_ms", ({ duration_ms }) => duration_ms],
  ["omitted", ({ omitted }) => omitted]
]
