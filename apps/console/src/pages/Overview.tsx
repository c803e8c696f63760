/** What is spent, what fails, and what needs attention. */
import type { ReactNode } from "react"
import { seriesOf, timesOf } from "../parts/activity.ts"
import { Chart } from "../parts/Chart.tsx"
import { credits, time } from "../parts/format.ts"
import { FirstRequest } from "../parts/FirstRequest.tsx"
import { Empty, Loaded } from "../parts/Loaded.tsx"
import { useSetRange } from "../shell/navigation.ts"
import { Attention } from "./overview/Attention.tsx"
import { type Figures, useFigures } from "./overview/figures.ts"
import { RunsOut } from "./overview/RunsOut.tsx"
import { Tiles } from "./overview/Tiles.tsx"
import { TopFailures } from "./overview/TopFailures.tsx"
import { TopKeys } from "./overview/TopKeys.tsx"
import "./overview/overview.css"

const SpendByModel = ({ figures: { interval, models, span } }: { readonly figures: Figures }) => {
  const setRange = useSetRange()
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
              onRange={setRange}
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
