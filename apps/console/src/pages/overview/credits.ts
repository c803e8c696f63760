/** What is left of the credits, and how fast they are spent. */
import { useMemo } from "react"
import { useRead } from "../../api/hooks.ts"
import { byGroup, startOf, sumOf, useActivity } from "../../parts/activity.ts"
import { count } from "../../parts/format.ts"
import { useScope } from "../../shell/navigation.ts"

const day = 86_400_000

/** The days that the present rate is an average of, besides today. */
export const rateDays = 7

export const useCredits = () => {
  const { workspace } = useScope()
  return useRead("GET /credits", { query: { workspace_id: workspace } })
}

/** What is left of the workspace that is shown, or of all, in credits. Undefined: it is read. */
export const useCreditsLeft = (): number | undefined => {
  const { data } = useCredits()
  // Sums of decimals are a hair off.
  return data === undefined ? undefined : Math.round((data.data.total_credits - data.data.total_usage) * 1e6) / 1e6
}

/** The whole days that the present rate is an average of, and today. */
export const rateSpan = (): { readonly from: string; readonly days: number } => {
  const from = startOf(Date.now(), "day") - rateDays * day
  return { from: new Date(from).toISOString(), days: (Date.now() - from) / day }
}

/** What each workspace spends per day, and all that are shown, by the sums of the last days. */
export const useSpendPerDay = () => {
  const { workspace } = useScope()
  const { days, from } = rateSpan()
  const read = useActivity({ interval: "day", group_by: "workspace", from, workspace_id: workspace })
  return useMemo(() => {
    const { data, error } = read
    if (data === undefined) return { error, data: undefined }
    const groups = Array.from(byGroup(data, "workspace"), ([id, items]) => [id, sumOf(items).spend / days] as const)
    return { error, data: { all: sumOf(data).spend / days, of: new Map(groups) } }
  }, [read.data, read.error, from])
}

/** For how many days credits last if as much is spent each day as `perDay`. */
export const daysLeft = (left: number, perDay: number): number =>
  left <= 0 ? 0 : perDay === 0 ? Number.POSITIVE_INFINITY : left / perDay

/** Such as `9 hours`, `12 days` or `over 10 years`. */
export const daysText = (days: number): string =>
  days < 1 / 24
    ? "less than an hour"
    : days < 2
      ? `${Math.floor(days * 24)} ${Math.floor(days * 24) === 1 ? "hour" : "hours"}`
      : days > 3650
        ? "over 10 years"
        : `${count(Math.floor(days))} days`
