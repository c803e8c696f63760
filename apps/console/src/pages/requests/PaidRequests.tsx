/** The paid requests: GET `/generations`. */
import { useEffect, useMemo, useState } from "react"
import { call } from "../../api/call.ts"
import type { Item } from "../../api/Contract.ts"
import { usePages, useRead } from "../../api/hooks.ts"
import { courseOf, fewEnoughFrom, spanOf, timesOf, useActivity } from "../../parts/activity.ts"
import { StatusBadge } from "../../parts/Badge.tsx"
import { Chart } from "../../parts/Chart.tsx"
import { FilterSelect } from "../../parts/Filter.tsx"
import { count, credits, duration, shortId, time } from "../../parts/format.ts"
import { FirstRequest } from "../../parts/FirstRequest.tsx"
import { Empty, Loaded } from "../../parts/Loaded.tsx"
import { useKeyName, useKeys } from "../../parts/names.ts"
import { type Column, Table } from "../../parts/Table.tsx"
import { Time } from "../../parts/Time.tsx"
import { TooManyRequests } from "../../parts/TooManyRequests.tsx"
import { intervalOf } from "../../shell/range.ts"
import { usePageSearch, useScope, useSetRange, useSetSearch } from "../../shell/navigation.ts"
import { CsvButton } from "./Csv.tsx"
import { distinct, errorStatus, FilterExact } from "./Filters.tsx"
import { LiveButton } from "./LiveButton.tsx"

export type PaidRequest = Item<"GET /generations">

const statuses = ["completed", "failed", "cancelled", "expired"] as const
const operations = ["rerank", "transcription", "video"] as const

/** How often the live list reads again, in milliseconds. */
const liveEvery = 5000

/** What the URL selects, as the API takes it. */
const useQuery = () => {
  const search = usePageSearch("requests")
  const { range, workspace } = useScope()
  return useMemo(() => {
    const { error_status, key, model, operation, provider, status, user } = search
    const filters = {
      user,
      operation: operations.find((known) => known === operation),
      model,
      provider,
      status: statuses.find((known) => known === status),
      error_status: error_status !== undefined && errorStatus.test(error_status) ? Number(error_status) : undefined
    }
    return {
      range,
      filters,
      list: { ...filters, workspace_id: workspace, key_hash: key, from: range.from, to: range.to }
    }
  }, [search, range, workspace])
}

const Bars = ({ refetchInterval }: { readonly refetchInterval: number | undefined }) => {
  const setRange = useSetRange()
  const { filters, list, range } = useQuery()
  const interval = intervalOf(range)
  const span = { from: range.from, ...(range.to !== undefined && { to: range.to }) }
  const query = { ...span, interval, workspace_id: list.workspace_id, api_key_hash: list.key_hash }
  const exact = useActivity(
    { ...query, ...filters, details: "true" },
    refetchInterval === undefined ? {} : { refetchInterval }
  )
  const isFiltered = Object.values(filters).some((value) => value !== undefined)
  // Sums of days have no bound, but no filters either.
  const tooMany = fewEnoughFrom(exact.error) !== undefined
  const daily = spanOf(range, "day")
  const sums = useActivity(tooMany && !isFiltered ? { ...query, ...daily, interval: "day" } : undefined)
  if (tooMany && exact.error !== null && isFiltered) {
    return <TooManyRequests what="Bars of filtered requests" error={exact.error} to={range.to} />
  }
  const shown = tooMany ? sums : exact
  const shownInterval = tooMany ? "day" : interval
  const times = timesOf(tooMany ? daily : span, shownInterval)
  const items = shown.data ?? []
  // The list says it.
  if (shown.data?.length === 0) return null
  const of = (figure: (item: (typeof items)[number]) => number) => courseOf(items, times, figure)
  return (
    <Loaded value={shown} what="The chart" rows={7}>
      {() => (
        <div className="card">
          <Chart
            label={`Requests per ${shownInterval}`}
            kind="bars"
            times={times}
            series={[
              { name: "Completed", values: of(({ failed_requests, requests }) => requests - failed_requests) },
              { name: "Failed, canceled or expired", values: of(({ failed_requests }) => failed_requests) }
            ]}
            format={count}
            onRange={setRange}
          />
        </div>
      )}
    </Loaded>
  )
}

const columnsOf = (keyName: (hash: string) => string): ReadonlyArray<Column<PaidRequest>> => [
  { key: "time", title: "Time (UTC)", width: "10rem", cell: ({ created_at }) => <Time at={created_at} /> },
  {
    key: "status",
    title: "Status",
    width: "8.5rem",
    cell: ({ error_status, status }) => (
      <>
        <StatusBadge status={status} /> {error_status}
      </>
    )
  },
  { key: "operation", title: "Operation", width: "6.5rem", cell: ({ operation }) => operation },
  {
    key: "model",
    title: "Model",
    width: "minmax(8rem, 2fr)",
    cell: ({ model }) => <span title={model}>{model}</span>
  },
  { key: "provider", title: "Provider", width: "minmax(5rem, 1fr)", cell: ({ provider }) => provider ?? "none" },
  { key: "key", title: "Key", width: "minmax(6rem, 1fr)", cell: ({ key_hash }) => keyName(key_hash) },
  { key: "cost", title: "Credits", width: "4.5rem", align: "right", cell: ({ cost }) => credits(cost) },
  {
    key: "duration",
    title: "Took",
    width: "4.5rem",
    align: "right",
    cell: ({ duration_ms }) => duration(duration_ms)
  },
  { key: "attempts", title: "Tries", width: "3rem", align: "right", cell: ({ attempts }) => attempts.length },
  {
    key: "id",
    title: "Request",
    width: "7.5rem",
    cell: ({ id, request_id }) => <code title={request_id ?? id}>{shortId(request_id ?? id)}</code>
  }
]

/** How many rows a page has at most. */
const onPage = 100

/** How many pages are read at once while few of their rows match. A page looks at 2,000 requests. */
const searchedPages = 5

export const PaidRequests = () => {
  const search = usePageSearch("requests")
  const set = useSetSearch("requests")
  const { filters, list, range } = useQuery()
  const keyName = useKeyName()
  const keys = useKeys()
  const isLive = search.live !== undefined && range.to === undefined
  const paged = usePages("GET /generations", { ...list, limit: onPage }, { enabled: !isLive })
  const latest = useRead(
    "GET /generations",
    { query: { ...list, limit: onPage } },
    { enabled: isLive, refetchInterval: liveEvery }
  )
  const rows = (isLive ? latest.data?.data : paged.rows) ?? []
  const columns = useMemo(() => columnsOf(keyName), [keys.data])

  // A page of a filtered list may have few rows or none although more follow.
  const [wanted, setWanted] = useState(searchedPages)
  const pages = paged.data?.pages.length ?? 0
  const searches = !isLive && rows.length < onPage && paged.hasNextPage && !paged.isPlaceholderData
  useEffect(() => {
    if (searches && !paged.isFetchingNextPage && pages < wanted) void paged.fetchNextPage()
  }, [searches, paged.isFetchingNextPage, pages, wanted])

  const isFiltered = Object.values({ ...filters, key: search.key }).some((value) => value !== undefined)
  const clear = {
    status: undefined,
    operation: undefined,
    model: undefined,
    provider: undefined,
    key: undefined,
    user: undefined,
    error_status: undefined
  }
  return (
    <>
      <div className="bar filters">
        <FilterSelect
          label="Status"
          all="All states"
          value={search.status}
          options={statuses.map((status) => [status, status] as const)}
          onChange={(status) => void set({ status })}
        />
        <FilterSelect
          label="Operation"
          all="All operations"
          value={search.operation}
          options={operations.map((operation) => [operation, operation] as const)}
          onChange={(operation) => void set({ operation })}
        />
        <FilterExact
          label="Model"
          value={search.model}
          known={distinct(rows.map(({ model }) => model))}
          onChange={(model) => void set({ model })}
        />
        <FilterExact
          label="Provider"
          value={search.provider}
          known={distinct(rows.map(({ provider }) => provider))}
          onChange={(provider) => void set({ provider })}
        />
        <FilterSelect
          label="Key"
          all="All keys"
          value={search.key}
          options={keys.data?.data.map(({ hash, name }) => [hash, name] as const) ?? []}
          onChange={(key) => void set({ key })}
        />
        <FilterExact
          label="User"
          value={search.user}
          known={distinct(rows.map(({ external_user }) => external_user))}
          onChange={(user) => void set({ user })}
        />
        <FilterExact
          label="Error status"
          value={search.error_status}
          known={distinct(rows.map(({ error_status }) => error_status))}
          pattern={errorStatus}
          onChange={(error_status) => void set({ error_status })}
        />
        {isFiltered && (
          <button type="button" className="quiet" onClick={() => void set(clear)}>
            Clear
          </button>
        )}
        <span className="end bar">
          {isLive && latest.dataUpdatedAt > 0 && (
            <span className="hint figures">Read at {time(new Date(latest.dataUpdatedAt).toISOString()).slice(11)}</span>
          )}
          <LiveButton isLive={isLive} />
          <CsvButton<PaidRequest>
            name="requests"
            read={(after) => call("GET /generations", { query: { ...list, limit: 1000, after } })}
            columns={csvColumns}
          />
        </span>
      </div>
      <Bars refetchInterval={isLive ? liveEvery : undefined} />
      <Loaded<unknown> value={isLive ? latest : paged} what="The requests" rows={14}>
        {() =>
          rows.length > 0 ? (
            <Table
              label="Paid requests, newest first"
              columns={columns}
              rows={rows}
              rowKey={({ id }) => id}
              selected={search.id}
              onOpen={({ id }) => void set({ id })}
              {...(!isLive && {
                more: {
                  hasMore: paged.hasNextPage,
                  isReading: paged.isFetchingNextPage,
                  read: () => paged.fetchNextPage()
                }
              })}
            />
          ) : searches ? (
            <Empty
              title={
                pages < wanted
                  ? "Searching older requests …"
                  : `None of the newest ${count(pages * 2000)} requests matches.`
              }
            >
              <button type="button" disabled={pages < wanted} onClick={() => setWanted(pages + searchedPages)}>
                Search older ones
              </button>
            </Empty>
          ) : (
            <Empty
              title={
                isFiltered
                  ? "No request of this time matches the filters."
                  : "No paid request ended in this time. Choose a longer one at the top, or send one."
              }
            >
              {isFiltered ? (
                <button type="button" onClick={() => void set(clear)}>
                  Show all requests
                </button>
              ) : (
                <FirstRequest />
              )}
            </Empty>
          )
        }
      </Loaded>
    </>
  )
}

const csvColumns: ReadonlyArray<readonly [string, (row: PaidRequest) => string | number | null]> = [
  ["created_at", ({ created_at }) => created_at],
  ["request_id", ({ request_id }) => request_id ?? null],
  ["id", ({ id }) => id],
  ["status", ({ status }) => status],
  ["error_status", ({ error_status }) => error_status],
  ["error_message", ({ error_message }) => error_message ?? null],
  ["operation", ({ operation }) => operation],
  ["model", ({ model }) => model],
  ["provider", ({ provider }) => provider],
  ["upstream_model", ({ upstream_model }) => upstream_model],
  ["key_hash", ({ key_hash }) => key_hash],
  ["workspace_id", ({ workspace_id }) => workspace_id],
  ["user", ({ external_user }) => external_user],
  ["video_id", ({ video_id }) => video_id],
  ["is_byok", ({ is_byok }) => String(is_byok)],
  ["cost", ({ cost }) => cost],
  ["duration_ms", ({ duration_ms }) => duration_ms],
  ["attempts", ({ attempts }) => attempts.length],
  [
    "usage",
    ({ usage }) =>
      Object.entries(usage)
        .map(([name, value]) => `${name}=${value}`)
        .join(" ")
  ]
]
