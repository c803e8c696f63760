/** What a key has spent in 30 days. */
import { useState } from "react"
import type { Item } from "../../api/Contract.ts"
import { useRead } from "../../api/hooks.ts"
import { Chart } from "../../parts/Chart.tsx"
import { count, counted, credits } from "../../parts/format.ts"
import { Loaded } from "../../parts/Loaded.tsx"
import { PageLink } from "../../shell/PageLink.tsx"
import type { Key } from "./Key.tsx"

/** The days of the last 30, oldest first, as milliseconds. */
const lastDays = (): ReadonlyArray<number> => {
  const today = Math.floor(Date.now() / 86_400_000) * 86_400_000
  return Array.from({ length: 30 }, (_, index) => today - (29 - index) * 86_400_000)
}

export const KeySpend = ({ of }: { readonly of: Key }) => {
  const [days] = useState(lastDays)
  const activity = useRead("GET /activity", {
    query: { interval: "day", api_key_hash: of.hash, from: new Date(days[0] ?? 0).toISOString() }
  })
  return (
    <section className="card">
      <Loaded value={activity} what="The spend of the key" rows={6}>
        {({ data }) => {
          const items = new Map(data.map((item: Item<"GET /activity">) => [Date.parse(item.date), item]))
          const requests = data.reduce((sum, item) => sum + item.requests, 0)
          const failed = data.reduce((sum, item) => sum + item.failed_requests, 0)
          return (
            <>
              {data.some(({ usage }) => usage > 0) ? (
                <Chart
                  label="Spend by day, in credits"
                  kind="bars"
                  times={days}
                  series={[{ name: "Spend", values: days.map((day) => items.get(day)?.usage ?? 0) }]}
                  format={credits}
                />
              ) : (
                <h3>No spend in 30 days</h3>
              )}
              <p className="hint">
                {counted(requests, "request")} in 30 days, {count(failed)} failed.
              </p>
            </>
          )
        }}
      </Loaded>
      <div className="bar">
        <PageLink page="usage" className="button" search={{ key: of.hash, group: "model" }}>
          Usage by model
        </PageLink>
        <PageLink page="requests" className="button" search={{ key: of.hash }}>
          Requests
        </PageLink>
      </div>
    </section>
  )
}
