/** What is left of the credits, and how fast they are spent. */
import { useMemo } from "react"
import { useRead } from "../../api/hooks.ts"
import { byGroup, startOf, sumOf, useActivity } from "../../parts/activity.ts"
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

/** What each workspace spends per day, and all that are shown, by the sums of the last days. */
export const useSpendPerDay = () => {
  const { workspace } = useScope()
  const from = startOf(Date.now(), "day") - rateDays * day
  const read = useActivity({
    interval: "day",
    group_by: "workspace",
    from: new Date(from).toISOString(),
    workspace_id: workspace
  })
  return useMemo(() => {
    const { data, error } = read
    if (data === undefined) return { error, data: undefined }
    const days = (Date.now() - from) / day
    const groups = Array.from(byGroup(data, "workspace"), ([id, items]) => [id, sumOf(items).spend / days] as const)
    return { error, data: { all: sumOf(data).spend / days, of: new Map(groups) } }
  }, [read.data, read.error, from])
}
