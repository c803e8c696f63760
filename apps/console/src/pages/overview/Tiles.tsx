/** The sums of the range, with their course over time. Each leads to its page. */
import { courseOf, sumOf, timesOf } from "../../parts/activity.ts"
import { count, credits, duration, percent } from "../../parts/format.ts"
import { Tile } from "../../parts/Tile.tsx"
import { PageLink } from "../../shell/PageLink.tsx"
import { useScope } from "../../shell/navigation.ts"
import { useWorkspaces } from "../../shell/WorkspacePicker.tsx"
import { daysText, rateDays, useCredits, useCreditsLeft, useSpendPerDay } from "./credits.ts"
import { creditEndings } from "./endings.ts"
import type { Figures } from "./figures.ts"

export const Tiles = ({ figures }: { readonly figures: Figures }) => {
  const { detailed, interval, models, range, span } = figures
  const items = models.data
  const left = useCreditsLeft()
  const { error: creditsError } = useCredits()
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
        <Tile label="Spend" hint={sums === undefined ? "" : "credits"} values={per((item) => item.usage)}>
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
          hint={p95 == null ? "" : "95% took less"}
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
          {left === undefined ? (creditsError === null ? "…" : "not known") : credits(left)}
        </Tile>
      </PageLink>
    </div>
  )
}
